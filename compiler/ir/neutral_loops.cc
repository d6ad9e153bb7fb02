#include "compiler/ir/neutral_loops.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "compiler/ir/contract.h"

namespace burnish {
namespace {

// A position that may lie behind an extent.
struct Behind {
  Expr position;
  int extent = -1;
};

class Rests {
 public:
  Rests(const Program& program, const std::vector<KnownRest>& rests) : program_(program) {
    const std::vector<BufferId> parameters = ParametersOf(program);
    for (const KnownRest& rest : rests) of_[parameters[rest.parameter]].push_back(rest);
    // Temporaries are written before they are read, so that one pass in order finds what follows
    // from what; a buffer that is stored at several places waits for the last.
    std::map<BufferId, std::vector<NodeId>> stores;
    for (const NodeId id : Subtree(program, program.root)) {
      const Node& node = program.nodes[id];
      if (node.kind == NodeKind::kStore) stores[node.buffer].push_back(id);
    }
    std::map<BufferId, size_t> seen;
    for (const NodeId id : Subtree(program, program.root)) {
      const Node& node = program.nodes[id];
      if (node.kind != NodeKind::kStore || program.buffers[node.buffer].role != BufferRole::kTemp) {
        continue;
      }
      if (++seen[node.buffer] == stores[node.buffer].size()) AddTemporary(stores[node.buffer]);
    }
  }

  // What a leaf may be known by.
  std::vector<Behind> PositionsOf(const Expr& e) const {
    std::vector<Behind> found;
    VisitExpr(e, [&](const ExprNode& node) {
      if (node.kind != ExprKind::kLoad) return;
      const auto rests = of_.find(node.id);
      if (rests == of_.end()) return;
      for (const KnownRest& rest : rests->second) {
        if (rest.axis >= 0) found.push_back({node.operands[rest.axis], rest.extent});
      }
    });
    return found;
  }

  std::optional<double> ValueWhere(const Behind& behind, const Expr& e) const {
    return KnownValue(e, [&](const ExprNode& load) -> std::optional<double> {
      const auto rests = of_.find(load.id);
      if (rests == of_.end()) return std::nullopt;
      for (const KnownRest& rest : rests->second) {
        const bool is_known =
            rest.axis < 0 || (rest.extent == behind.extent &&
                              StructurallyEqual(load.operands[rest.axis], behind.position));
        if (is_known) return rest.value;
      }
      return std::nullopt;
    });
  }

 private:
  // Along a dimension by which all of its stores have one value behind one extent.
  void AddTemporary(const std::vector<NodeId>& stores) {
    const Node& first = program_.nodes[stores[0]];
    if (first.combiner != Combiner::kAssign) return;
    for (const Behind& behind : PositionsOf(first.value)) {
      for (size_t d = 0; d < first.indices.size(); ++d) {
        if (!StructurallyEqual(first.indices[d], behind.position)) continue;
        const std::optional<double> value = ValueWhere(behind, first.value);
        if (!value.has_value()) continue;
        const bool is_all = std::all_of(stores.begin(), stores.end(), [&](NodeId id) {
          const Node& other = program_.nodes[id];
          return other.combiner == Combiner::kAssign &&
                 ValueWhere({other.indices[d], behind.extent}, other.value) == value;
        });
        if (!is_all) continue;
        of_[first.buffer].push_back({.parameter = -1,
                                     .axis = static_cast<int>(d),
                                     .value = *value,
                                     .extent = behind.extent});
      }
    }
  }

  const Program& program_;
  std::map<BufferId, std::vector<KnownRest>> of_;
};

class Finder {
 public:
  Finder(const Program& program, const std::vector<KnownRest>& rests,
         const std::function<bool(NodeId, BufferId)>& is_private)
      : program_(program), rests_(program, rests), is_private_(is_private) {}

  std::vector<NeutralLoop> Find() {
    // Iterations of unrolled loops are parts of those around them, unless nothing else is known.
    for (const LoopKind kind : {LoopKind::kSerial, LoopKind::kUnrolled}) {
      const std::vector<NodeId> order = Subtree(program_, program_.root);
      // From the last: inner ones before those around them.
      for (size_t i = order.size(); i-- > 0;) {
        const Node& node = program_.nodes[order[i]];
        if (node.kind != NodeKind::kLoop || node.loop_kind != kind) continue;
        const bool is_known = std::any_of(found_.begin(), found_.end(), [&](const auto& other) {
          return IsInside(program_, other.loop, order[i]) ||
                 IsInside(program_, order[i], other.loop);
        });
        if (!is_known) Consider(order[i]);
      }
    }
    return std::move(found_);
  }

 private:
  void Consider(NodeId loop) {
    std::vector<NodeId> sums;
    for (const NodeId id : Subtree(program_, loop)) {
      const Node& node = program_.nodes[id];
      if (node.kind == NodeKind::kBarrier || !node.intrinsic.empty()) return;
      if (node.kind != NodeKind::kStore) continue;
      if (node.combiner != Combiner::kAssign) {
        sums.push_back(id);
      } else if (!is_private_(loop, node.buffer)) {
        return;
      }
    }
    if (sums.empty()) return;
    for (const Behind& first : rests_.PositionsOf(program_.nodes[sums[0]].value)) {
      NeutralLoop neutral{.loop = loop, .extent = first.extent, .positions = {}};
      const bool is_neutral = std::all_of(sums.begin(), sums.end(), [&](NodeId id) {
        const std::optional<Expr> position = NeutralFrom(first.extent, program_.nodes[id]);
        if (position.has_value()) neutral.positions.push_back(*position);
        return position.has_value();
      });
      if (!is_neutral) continue;
      found_.push_back(std::move(neutral));
      return;
    }
  }

  // The position behind which the leaf changes nothing.
  std::optional<Expr> NeutralFrom(int extent, const Node& leaf) const {
    for (const Behind& behind : rests_.PositionsOf(leaf.value)) {
      if (behind.extent != extent) continue;
      const std::optional<double> value = rests_.ValueWhere(behind, leaf.value);
      if (value.has_value() && IsNeutral(leaf.combiner, *value)) return behind.position;
    }
    return std::nullopt;
  }

  const Program& program_;
  const Rests rests_;
  const std::function<bool(NodeId, BufferId)>& is_private_;
  std::vector<NeutralLoop> found_;
};

// Whether all branches store, or none does, and nothing that is computed decides which is taken.
bool StoresAlike(const Program& program, const Node& choice, BufferId output) {
  bool loads = false;
  VisitExpr(choice.cond, [&](const ExprNode& e) { loads = loads || e.kind == ExprKind::kLoad; });
  const auto stores = [&](NodeId branch) {
    const std::vector<NodeId> inside = Subtree(program, branch);
    return std::any_of(inside.begin(), inside.end(), [&](NodeId id) {
      return program.nodes[id].kind == NodeKind::kStore && program.nodes[id].buffer == output;
    });
  };
  const auto count = std::count_if(choice.children.begin(), choice.children.end(), stores);
  return count == 0 || (!loads && count == static_cast<std::ptrdiff_t>(choice.children.size()));
}

// Whether the loop's stores are what ConstantLoops says.
std::optional<ConstantLoop> ConstantOf(const Program& program, const Rests& rests, NodeId loop,
                                       BufferId output,
                                       const std::function<bool(NodeId, BufferId)>& is_private) {
  std::vector<NodeId> stores;
  for (const NodeId id : Subtree(program, loop)) {
    const Node& node = program.nodes[id];
    if (node.kind == NodeKind::kBarrier || !node.intrinsic.empty() ||
        (node.kind == NodeKind::kIf && !StoresAlike(program, node, output))) {
      return std::nullopt;
    }
    if (node.kind != NodeKind::kStore) continue;
    if (node.buffer != output) {
      if (!is_private(loop, node.buffer)) return std::nullopt;
      continue;
    }
    if (node.combiner != Combiner::kAssign) return std::nullopt;
    stores.push_back(id);
  }
  if (stores.empty()) return std::nullopt;
  for (const Behind& first : rests.PositionsOf(program.nodes[stores[0]].value)) {
    const std::optional<double> value = rests.ValueWhere(first, program.nodes[stores[0]].value);
    if (!value.has_value()) continue;
    ConstantLoop found{.loop = loop, .extent = first.extent, .positions = {}, .value = *value};
    const bool is_constant = std::all_of(stores.begin(), stores.end(), [&](NodeId id) {
      for (const Behind& behind : rests.PositionsOf(program.nodes[id].value)) {
        if (behind.extent != first.extent ||
            rests.ValueWhere(behind, program.nodes[id].value) != value) {
          continue;
        }
        found.positions.push_back(behind.position);
        return true;
      }
      return false;
    });
    if (is_constant) return found;
  }
  return std::nullopt;
}

// A copy with nothing but stores of the output; -1: there is none.
NodeId CopyOfStores(NodeId id, BufferId output, double value, Program& program) {
  Node copy = program.nodes[id];
  const std::vector<NodeId> children = std::exchange(copy.children, {});
  copy.parent = -1;
  if (copy.kind == NodeKind::kStore) {
    if (copy.buffer != output) return -1;
    copy.value = Float(value, program.buffers[output].dtype);
    return AddNode(program, std::move(copy));
  }
  std::vector<NodeId> kept;
  for (const NodeId child : children) {
    const NodeId made = CopyOfStores(child, output, value, program);
    if (made >= 0) kept.push_back(made);
  }
  if (kept.empty()) return -1;
  const NodeId made = AddNode(program, std::move(copy));
  for (const NodeId child : kept) AppendChild(program, made, child);
  return made;
}

}  // namespace

std::vector<NeutralLoop> NeutralLoops(const Program& lowered, const std::vector<KnownRest>& rests,
                                      const std::function<bool(NodeId, BufferId)>& is_private) {
  if (std::none_of(rests.begin(), rests.end(), [](const auto& rest) { return rest.axis >= 0; })) {
    return {};
  }
  return Finder(lowered, rests, is_private).Find();
}

std::vector<ConstantLoop> ConstantLoops(const Program& lowered, BufferId output,
                                        const std::vector<KnownRest>& rests,
                                        const std::function<bool(NodeId, BufferId)>& is_private) {
  std::vector<ConstantLoop> found;
  // The types that a number of the rests is one of.
  const DType type = lowered.buffers[output].dtype;
  if (rests.empty() || (type != DType::kF32 && type != DType::kF64)) return found;
  const Rests known(lowered, rests);
  const std::vector<NodeId> order = Subtree(lowered, lowered.root);
  for (size_t i = order.size(); i-- > 0;) {
    const Node& node = lowered.nodes[order[i]];
    const bool is_around = std::any_of(found.begin(), found.end(), [&](const auto& inner) {
      return IsInside(lowered, inner.loop, order[i]);
    });
    if (node.kind != NodeKind::kLoop || is_around ||
        (node.loop_kind != LoopKind::kSerial && node.loop_kind != LoopKind::kParallel)) {
      continue;
    }
    auto constant = ConstantOf(lowered, known, order[i], output, is_private);
    if (!constant.has_value()) continue;
    const bool moves = std::any_of(
        constant->positions.begin(), constant->positions.end(),
        [&](const Expr& position) { return MentionsVar(position, lowered.nodes[order[i]].var); });
    if (moves) found.push_back(*std::move(constant));
  }
  return found;
}

NodeId StoreOf(double value, NodeId loop, BufferId output, Program& lowered) {
  const NodeId seq = AddNode(lowered, {.kind = NodeKind::kSeq});
  const std::vector<NodeId> children = lowered.nodes[loop].children;
  for (const NodeId child : children) {
    const NodeId made = CopyOfStores(child, output, value, lowered);
    if (made >= 0) AppendChild(lowered, seq, made);
  }
  return seq;
}

}  // namespace burnish
