// A kernel's parallel loop and the loops that are all of its body, as one parallel loop.
#ifndef COMPILER_IR_JOIN_PARALLEL_H_
#define COMPILER_IR_JOIN_PARALLEL_H_

#include "compiler/ir/program.h"

namespace burnish {

// Schedules cut a parallel loop by its bound, into as many parts as there are threads. A run that
// wants part of the rows then wants one thread's part. Joined with the loop inside, single rows or
// tiles can be dealt out (docs/adr/0013-bounded-axes.md). The order of iterations stays.
//
// `scheduled`: verified, not lowered. Joins while the loop inside is serial and alone, has a
// constant extent and carries nothing from one iteration to the next. Idempotent, deterministic:
// who compiles and who reads what was compiled call it each.
void JoinParallel(Program& scheduled);

}  // namespace burnish

#endif  // COMPILER_IR_JOIN_PARALLEL_H_
