// What several primitives need: names to positions with a reason when there is none, checks on the
// loop tree, and edits of every expression of a program.
#ifndef COMPILER_SCHEDULE_REWRITE_H_
#define COMPILER_SCHEDULE_REWRITE_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/ir/program.h"
#include "compiler/ir/simplify.h"
#include "compiler/schedule/trace.h"

namespace burnish {

// INVALID_ARGUMENT from pieces of text.
template <typename... Args>
absl::Status Refuse(const Args&... pieces);

// Checks the number of names before and after the arrow; -1: any number from one on.
absl::Status WantNames(const Step& step, int inputs, int outputs);

absl::StatusOr<BlockId> FindBlockArg(const Program& program, const std::string& name);
absl::StatusOr<BufferId> FindBufferArg(const Program& program, const std::string& name);
absl::StatusOr<VarId> FindVarArg(const Program& program, const std::string& name);
// A variable that is a loop now.
absl::StatusOr<NodeId> FindLoopArg(const Program& program, const std::string& name);
// The name must be free for a new variable or buffer.
absl::Status WantNewVar(const Program& program, const std::string& name);
absl::Status WantNewBuffer(const Program& program, const std::string& name);

// Blocks under a node, in order.
std::vector<BlockId> BlocksUnder(const Program& program, NodeId node);
// The top-level nest (child of a root) that holds `node`.
NodeId NestOf(const Program& program, NodeId node);
// Ranges of all variables, derived ones included, from their extents.
VarRanges RangesOf(const Program& program);

// Loads of `buffer` in `block`, in order.
std::vector<Expr> LoadsOf(const Block& block, BufferId buffer);
// Blocks that load from `buffer`.
std::vector<BlockId> ReadersOf(const Program& program, BufferId buffer);

// Whether a variable has another value in each iteration while of the loops that it is made of only
// those inside node `within` run: the map is linear in them, and they are its digits. True of the
// tiles of split tail=shift, one by one, however they are split again.
bool IsDistinctWithin(const Program& program, VarId var, NodeId within);

// ExtentValues of a variable that a primitive has just made. INVALID_ARGUMENT: its extent depends
// on more iterations than can be looked at.
absl::StatusOr<std::vector<int64_t>> NewExtentValues(const Program& program, VarId var);
// The same of all other extents that depend on `made`, loops that a primitive has just made: what
// was found by digits of a loop may be hidden by its quotients once it is fused or split.
absl::Status CheckExtentsBy(const Program& program, absl::Span<const VarId> made);

// A function of a few outer variables as a table: f(value of e) for all their values, or a
// constant. INVALID_ARGUMENT over 65,536 entries.
absl::StatusOr<Expr> Tabulate(const Program& program, const Expr& e,
                              const std::function<int64_t(int64_t)>& f);

// Takes a block that nothing reads any more out of the program, with its nest, axes and buffer.
// Every id that the caller holds is void afterwards.
void RemoveBlock(Program& program, BlockId block);

template <typename... Args>
absl::Status Refuse(const Args&... pieces) {
  std::string text;
  (text.append(pieces), ...);
  return absl::InvalidArgumentError(text);
}

}  // namespace burnish

#endif  // COMPILER_SCHEDULE_REWRITE_H_
