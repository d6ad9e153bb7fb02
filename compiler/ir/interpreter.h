// Runs a program of any form (defined, scheduled, lowered) one element at a time, in double.
//
// The oracle: it defines what a program means. Slow on purpose, independent of the compiler: it
// shares no lowering and no simplification with it.
#ifndef COMPILER_IR_INTERPRETER_H_
#define COMPILER_IR_INTERPRETER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/program.h"

namespace burnish {

// Values of one parameter, row-major over its shape, whatever its storage is. Floats are doubles;
// integers and bools are exact in `integers`.
struct TensorValue {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::vector<double> floats;     // Of float types; an argument of a storage type is rounded to it.
  std::vector<int64_t> integers;  // other types
  // After a run, one a value, where asked for: sum of the magnitudes that were added up into it
  // (sum |a*b| for a product), the scale of its rounding error.
  std::vector<double> magnitudes;
};

struct InterpretOptions {
  bool magnitudes = false;
  // Workers that a parallel loop is dealt out to; the result must not depend on it.
  int workers = 1;
};

// `arguments`: one for each kInput and kConstant buffer, in order. Returns one for each kOutput.
// Runs the pack function first if there is one. Errors: INVALID_ARGUMENT for wrong arguments,
// OUT_OF_RANGE for a failed kBoundsCheck, INTERNAL for a read of an element that nothing wrote or
// outside a buffer (the program is wrong).
absl::StatusOr<std::vector<TensorValue>> Interpret(const Program& program,
                                                   const std::vector<TensorValue>& arguments,
                                                   const InterpretOptions& options = {});

}  // namespace burnish

#endif  // COMPILER_IR_INTERPRETER_H_
