// Second half of lowering: one body per distinct size of a ragged tile, simplified expressions.
#ifndef COMPILER_IR_SPECIALIZE_H_
#define COMPILER_IR_SPECIALIZE_H_

#include "absl/status/statusor.h"
#include "compiler/ir/program.h"

namespace burnish {

// `program`: explicit loops, ifs and stores, whose unrolled and vectorized loops may have extents
// that depend on outer loops. Returns it with each of those in one copy per distinct extent, chosen
// by a kIf where the extent is known; loops of one iteration are gone. Unused variables are not.
// INVALID_ARGUMENT over `max_bodies` copies, or where a vector's lanes would take different ways.
absl::StatusOr<Program> Specialize(const Program& program, int max_bodies);

}  // namespace burnish

#endif  // COMPILER_IR_SPECIALIZE_H_
