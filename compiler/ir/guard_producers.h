// What iterations that leave temporaries to guarded loops are needed for (guard_loops.h).
#ifndef COMPILER_IR_GUARD_PRODUCERS_H_
#define COMPILER_IR_GUARD_PRODUCERS_H_

#include <vector>

#include "compiler/ir/guard_loops.h"
#include "compiler/ir/program.h"

namespace burnish {

// A store or a load of a temporary.
struct TemporaryAccess {
  BufferId buffer = -1;
  std::vector<Expr> indices;
};
// A load in the bodies of guarded loops.
struct GuardedLoad {
  struct Flags {
    const LoopGuard* guard = nullptr;
    const std::vector<VarId>* vars = nullptr;  // Of its flags.
  };

  TemporaryAccess load;
  std::vector<Flags> flags;  // From the innermost loop.
};

// By combination of `vars`, the innermost fastest: the ranges of all flags whose loads may be of
// what the iteration stores, of axes that some loop around each load asks for. `fresh`: those of
// `vars` whose every value writes all anew, so that a load is of its own value's. Empty: not known,
// or too much to compare.
std::vector<LoopGuard::Written> NeededFor(const Program& program, const std::vector<VarId>& vars,
                                          const std::vector<VarId>& fresh,
                                          const std::vector<TemporaryAccess>& stores,
                                          const std::vector<GuardedLoad>& loads);

}  // namespace burnish

#endif  // COMPILER_IR_GUARD_PRODUCERS_H_
