// Private to lowering: where the threads of a GPU's block have to wait for each other.
#ifndef COMPILER_IR_LOWER_BARRIERS_H_
#define COMPILER_IR_LOWER_BARRIERS_H_

#include "absl/status/status.h"
#include "compiler/ir/program.h"

namespace burnish {

// Puts kBarrier nodes between loops over a block's threads where two threads touch one element of
// shared memory and one of them stores, also where the second does so in the next iteration of a
// loop around both. Elements are looked at one by one, up to 2^22 in a program; beyond, touches of
// one buffer are taken to meet. `lowered`: specialized, with scopes. INVALID_ARGUMENT where threads
// meet within one loop over them, so that no barrier can stand between.
absl::Status InsertBarriers(Program& lowered);

}  // namespace burnish

#endif  // COMPILER_IR_LOWER_BARRIERS_H_
