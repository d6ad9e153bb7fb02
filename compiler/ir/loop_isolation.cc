#include "compiler/ir/loop_isolation.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>

#include "compiler/ir/lowered.h"
#include "compiler/ir/simplify.h"

namespace burnish {
namespace {

// Of a loop, whose reads and writes are compared. Enough for a rest at either end.
constexpr int64_t kIterationsSeen = 8;

}  // namespace

bool LoopIsolation::IsIsolated(NodeId loop, BufferId output) const {
  std::set<BufferId> stored;
  for (const NodeId id : Subtree(program_, loop)) {
    const Node& node = program_.nodes[id];
    if (node.kind == NodeKind::kBarrier) return false;
    if (node.kind == NodeKind::kStore && node.buffer != output) stored.insert(node.buffer);
  }
  return std::all_of(stored.begin(), stored.end(),
                     [&](BufferId buffer) { return IsOfOneIteration(loop, buffer); });
}

// Nobody outside reads what an iteration leaves in the buffer. Tiles of registers, which one loop
// after another uses, are overwritten whole; of others it is not looked at how much is.
bool LoopIsolation::OthersOverwrite(NodeId loop, BufferId buffer) const {
  const bool is_register = InRegisters(buffer);
  for (NodeId inside = loop; inside != program_.root; inside = program_.nodes[inside].parent) {
    for (const NodeId beside : program_.nodes[program_.nodes[inside].parent].children) {
      if (beside == inside) continue;
      const First first = FirstOf(beside, buffer);
      if (first == First::kLoad || (first == First::kStore && !is_register)) return false;
    }
  }
  return true;
}

bool LoopIsolation::IsOfOneIteration(NodeId loop, BufferId buffer) const {
  if (program_.buffers[buffer].role != BufferRole::kTemp) return false;
  if (!OthersOverwrite(loop, buffer)) return false;
  bool all_overwrite = true;
  for (const NodeId child : program_.nodes[loop].children) {
    const First first = FirstOf(child, buffer);
    if (first == First::kNothing) continue;
    all_overwrite = first == First::kStore;
    break;
  }
  if (!all_overwrite) return false;
  // The tiles of registers are written whole before they are read.
  return InRegisters(buffer) || WritesWhatItReads(loop, buffer);
}

bool LoopIsolation::InRegisters(BufferId buffer) const {
  const Scope scope = program_.buffers[buffer].scope;
  return scope == Scope::kRegister || scope == Scope::kTile;
}

// The verifier has seen that a loop around all that touches a temporary writes in an iteration
// what it reads there, unless what an earlier one has written will do (verify_order.cc). By
// hulls: an iteration that reads further than it writes reads from another.
// Where all iterations write the same places, none can stand in for another.
bool LoopIsolation::WritesWhatItReads(NodeId loop, BufferId buffer) const {
  const VarId var = program_.nodes[loop].var;
  const std::vector<NodeId> inside = Subtree(program_, loop);
  const bool moves = std::any_of(inside.begin(), inside.end(), [&](NodeId id) {
    const Node& node = program_.nodes[id];
    return node.kind == NodeKind::kStore && node.buffer == buffer &&
           std::any_of(node.indices.begin(), node.indices.end(),
                       [&](const Expr& index) { return MentionsVar(index, var); });
  });
  if (!moves) return true;
  const int64_t extent = MaxExtent(program_, var);
  for (int64_t value = 0; value < std::min(extent, kIterationsSeen); ++value) {
    // The first ones and the last ones: between them maps are regular.
    const int64_t at =
        value < kIterationsSeen / 2 ? value : extent - 1 - (value % (kIterationsSeen / 2));
    const VarRanges ranges = [&](VarId other) -> std::optional<Range> {
      if (other == var) return Range{at, at};
      return Range{0, MaxExtent(program_, other) - 1};
    };
    for (size_t d = 0; d < program_.buffers[buffer].shape.size(); ++d) {
      std::optional<Range> stored, loaded;
      bool known = true;
      const auto add = [&](const Expr& index, std::optional<Range>& hull) {
        const std::optional<Range> range = RangeOf(index, ranges);
        known = known && range.has_value();
        if (!range.has_value()) return;
        hull = !hull.has_value()
                   ? *range
                   : Range{std::min(hull->min, range->min), std::max(hull->max, range->max)};
      };
      for (const NodeId id : inside) {
        const Node& node = program_.nodes[id];
        if (node.kind == NodeKind::kStore && node.buffer == buffer) add(node.indices[d], stored);
        VisitLoads(node, [&](const ExprNode& load) {
          if (load.id == buffer) add(load.operands[d], loaded);
        });
      }
      if (!known || !stored.has_value()) return false;
      if (loaded.has_value() && (loaded->min < stored->min || loaded->max > stored->max)) {
        return false;
      }
    }
  }
  return true;
}

LoopIsolation::First LoopIsolation::FirstOf(NodeId id, BufferId buffer) const {
  const Node& node = program_.nodes[id];
  bool loads =
      node.kind == NodeKind::kStore && node.buffer == buffer && node.combiner != Combiner::kAssign;
  VisitLoads(node, [&](const ExprNode& load) { loads = loads || load.id == buffer; });
  if (loads) return First::kLoad;
  if (node.kind == NodeKind::kStore && node.buffer == buffer) return First::kStore;
  if (node.kind == NodeKind::kIf) return FirstOfBranches(node, buffer);
  for (const NodeId child : node.children) {
    if (const First first = FirstOf(child, buffer); first != First::kNothing) return first;
  }
  return First::kNothing;
}

// Where only one branch overwrites, what comes behind may read what was there.
LoopIsolation::First LoopIsolation::FirstOfBranches(const Node& node, BufferId buffer) const {
  std::set<First> firsts;
  for (const NodeId child : node.children) firsts.insert(FirstOf(child, buffer));
  if (node.children.size() < 2) firsts.insert(First::kNothing);
  return firsts.size() == 1 ? *firsts.begin() : First::kLoad;
}

}  // namespace burnish
