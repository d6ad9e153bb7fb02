// Where a loop around vectors is cut, so that lanes that would decide for themselves need not.
#ifndef COMPILER_CODEGEN_LLVM_LOOP_CUTS_H_
#define COMPILER_CODEGEN_LLVM_LOOP_CUTS_H_

#include <cstdint>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/ir/simplify.h"

namespace burnish {

// First iterations of all pieces but the first, ascending, of a loop of `extent` iterations.
//
// A condition that compares a multiple of the loop's variable, and that lanes of a vector inside
// see differently, is true for all of them up to some iteration and false from another one on; so
// it is with the lesser or greater of two integers. Between the two lanes go different ways and
// load under a mask; elsewhere the condition is a constant, and code without it is emitted. Padding
// of a row by its ends is the usual case: Halide (Ragan-Kelley et al. 2013, "Halide", section 4.6)
// and TVM call this loop partitioning.
//
// `lanes`: 1, or, where the loop itself is vectorized, the variable's steps from one iteration to
// the next. `bound`: of the variables of the loops around. Empty where cutting would not help, or
// where code would grow too much.
std::vector<int64_t> LoopCuts(const Program& program, const Node& loop, int64_t extent,
                              int64_t lanes, const VarRanges& bound);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_LLVM_LOOP_CUTS_H_
