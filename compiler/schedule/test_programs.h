// Programs that schedules are tried on: the layers of a residual network, at any shape.
#ifndef COMPILER_SCHEDULE_TEST_PROGRAMS_H_
#define COMPILER_SCHEDULE_TEST_PROGRAMS_H_

#include <cstdint>
#include <vector>

#include "compiler/ir/interpreter.h"
#include "compiler/ir/program.h"

namespace burnish {

struct TestConvShape {
  int64_t n = 1, h = 1, w = 1, ci = 1, co = 1, k = 3, stride = 1, pad = 1;
  bool residual = false;
};

// X[n,h,w,ci], W[co,ci,k,k], B[co] (and R, with residual) -> Out[n,y,x,co]. Blocks: P (only where
// there is a border) and Y, axes n,y,x,o and ky,kx,c; ReLU, and the residual, in Y's finish.
Program ConvProgram(const TestConvShape& shape);

// X[n,k], W[o,k], B[o] -> Out[n,o].
Program DenseProgram(int64_t n, int64_t k, int64_t o);

// Winograd F(4x4,3x3), stride 1, pad 1: blocks P, U, V, M, T, Y, the tiles flat in axis t.
Program WinogradProgram(const TestConvShape& shape);

// One random value for each parameter, normally distributed or an integer from -100 to 100; the
// same for the same seed.
std::vector<TensorValue> RandomArguments(const Program& program, uint64_t seed);

}  // namespace burnish

#endif  // COMPILER_SCHEDULE_TEST_PROGRAMS_H_
