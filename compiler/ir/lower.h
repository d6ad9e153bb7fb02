// From a scheduled program to explicit loops and stores.
//
// A lowered program has kSeq, kLoop, kIf, kStore, kBarrier and kPrefetch nodes only; every variable
// is a loop variable, every index expression is simplified, every unrolled or vectorized loop has a
// constant extent (bodies are specialized: one per distinct size of a ragged tile), every register
// buffer is indexed by unrolled and vectorized variables only, and by those of loops over threads
// that own a dimension. Every temporary has the scope that
// was asked for or, where none was, one that all who touch it have in common; barriers stand where
// the threads of a block need what others stored in shared memory. Between top-level nests workers
// wait in any case. It is what backends compile, what the interpreter can run, and what features
// are taken from.
#ifndef COMPILER_IR_LOWER_H_
#define COMPILER_IR_LOWER_H_

#include "absl/status/statusor.h"
#include "compiler/ir/program.h"

namespace burnish {

struct LowerOptions {
  // More specialized bodies than this is an error: the schedule has too many ragged tiles.
  int max_bodies = 16;
  // For what only asks how fast the kernel is: nothing is packed, and variables and buffers that
  // nothing mentions any more stay, since renumbering the others takes a seventh of the time.
  bool for_estimate = false;
};

// INVALID_ARGUMENT with the reason when the program cannot be lowered (a register window that is
// not fully unrolled, a vectorized loop around a reduction, a scope that its users do not share,
// ..).
absl::StatusOr<Program> Lower(const Program& program, const LowerOptions& options = {});

}  // namespace burnish

#endif  // COMPILER_IR_LOWER_H_
