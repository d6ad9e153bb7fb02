// The verifier's groups of rules, in the order in which they run: each relies on those before it.
// Messages name the buffer, variable, block or loop and say what was found and what was wanted.
#ifndef COMPILER_IR_VERIFY_RULES_H_
#define COMPILER_IR_VERIFY_RULES_H_

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "compiler/ir/program.h"

namespace burnish {

// Where a block stands in the tree.
struct BlockPlace {
  NodeId node = -1;
  bool in_pack = false;
  std::vector<NodeId> path;  // From the root to the block's node.
  std::vector<VarId> loops;  // Variables of the loops on the path, outermost first.
};

// Found by VerifyTree.
struct TreeFacts {
  std::vector<BlockPlace> places;  // By BlockId; empty for lowered programs.
  std::vector<int> position;       // By NodeId: in execution order; -1: not reachable.
};

// Conditions that hold where an expression is evaluated: (c, true) for c, (c, false) for !c.
using Guards = std::vector<std::pair<Expr, bool>>;
// Adds what a condition says, taken apart at `&&`, `||` and `!`.
void AddGuard(const Expr& condition, bool holds, Guards& guards);
// Calls visit(access, guards) for each kLoad and kTable in `e`, operands first. The branches of a
// kSelect are guarded by its condition, and by `outer`.
void VisitAccesses(const Expr& e, const Guards& outer,
                   const std::function<void(const ExprNode&, const Guards&)>& visit);

// Names, shapes, storage, variables, ids in expressions, cycles between variables, types.
absl::Status VerifyDeclarations(const Program& program);
// One expression: ids, operand counts, ranks, types. `self_type`: of kSelf, where it may stand.
absl::Status VerifyExpr(const Program& program, const Expr& e, std::optional<DType> self_type);
// Blocks by themselves: axes, types, combiner, who writes what.
absl::Status VerifyBlocks(const Program& program);
// Node kinds, parents and children, variables and the loops that they need.
absl::Status VerifyTree(const Program& program, TreeFacts* facts);
// Blocks in the tree: maps of axes, reductions and loop kinds, repeats, stages, pack.
absl::Status VerifyPlacement(const Program& program, const TreeFacts& facts);
// Every access inside its buffer and border; maps inside the extents of their variables.
absl::Status VerifyBounds(const Program& program);
// The values of every extent can be found (FindExtentValues).
absl::Status VerifyExtents(const Program& program);
// Of a lowered program: every temporary has a memory that all who touch it have in common.
absl::Status VerifyScopes(const Program& program);
// Of a lowered program: barriers stand where the threads of a block need what others stored.
absl::Status VerifyBarriers(const Program& program);
// What a block reads has been written.
absl::Status VerifyOrder(const Program& program, const TreeFacts& facts);

}  // namespace burnish

#endif  // COMPILER_IR_VERIFY_RULES_H_
