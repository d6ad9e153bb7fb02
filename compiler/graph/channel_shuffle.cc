#include "compiler/graph/channel_shuffle.h"

#include <utility>

#include "base/status_macros.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;

// Identity but for dimensions `axis` and `axis + 1`, which change places.
Shape SwapAt(int64_t rank, int64_t axis) {
  Shape perm;
  for (int64_t d = 0; d < rank; ++d) perm.push_back(d);
  std::swap(perm[axis], perm[axis + 1]);
  return perm;
}

}  // namespace

std::optional<ChannelShuffle> MatchChannelShuffle(
    const Graph& graph, GraphNodeId last, const std::vector<std::vector<GraphNodeId>>& consumers,
    const std::vector<bool>& is_output) {
  // The node that makes the only input of `node`, for `node` alone.
  const auto before = [&](GraphNodeId node, OpId op) -> GraphNodeId {
    const ValueId x = graph.nodes[node].inputs[0];
    const GraphNodeId producer = graph.value(x).producer;
    const bool alone = producer >= 0 && consumers[x].size() == 1 && !is_output[x];
    return alone && graph.nodes[producer].op == op ? producer : -1;
  };
  if (graph.nodes[last].op != OpId::kReshape) return std::nullopt;
  ChannelShuffle shuffle;
  shuffle.turn = before(last, OpId::kTranspose);
  if (shuffle.turn < 0) return std::nullopt;
  shuffle.cut = before(shuffle.turn, OpId::kReshape);
  if (shuffle.cut < 0) return std::nullopt;
  shuffle.source = graph.nodes[shuffle.cut].inputs[0];
  const Shape& whole = graph.value(shuffle.source).type.shape;
  const Shape& parts = graph.value(graph.nodes[shuffle.cut].outputs[0]).type.shape;
  const auto rank = static_cast<int64_t>(whole.size());
  if (graph.value(graph.nodes[last].outputs[0]).type.shape != whole ||
      static_cast<int64_t>(parts.size()) != rank + 1) {
    return std::nullopt;
  }
  const Shape perm = graph.nodes[shuffle.turn].attributes.Ints("perm", {});
  for (int64_t axis = 0; axis < rank; ++axis) {
    Shape joined = parts;
    joined[axis] *= joined[axis + 1];
    joined.erase(joined.begin() + axis + 1);
    if (joined != whole || perm != SwapAt(rank + 1, axis)) continue;
    shuffle.axis = axis;
    shuffle.groups = parts[axis];
    shuffle.size = parts[axis + 1];
    return shuffle;
  }
  return std::nullopt;
}

absl::StatusOr<ValueId> AddChannelShuffle(Graph& graph, ValueId x, int64_t axis, int64_t groups,
                                          const std::string& name) {
  const Shape whole = graph.value(x).type.shape;
  Shape parts = whole;
  parts[axis] = groups;
  parts.insert(parts.begin() + axis + 1, whole[axis] / groups);
  Attributes cut, turn, join;
  cut.Set("shape", parts);
  turn.Set("perm", SwapAt(static_cast<int64_t>(parts.size()), axis));
  join.Set("shape", whole);
  ASSIGN_OR_RETURN(const ValueId in_parts,
                   AddOp(graph, OpId::kReshape, {x}, std::move(cut), name + ".parts"));
  ASSIGN_OR_RETURN(const ValueId turned,
                   AddOp(graph, OpId::kTranspose, {in_parts}, std::move(turn), name + ".shuffled"));
  return AddOp(graph, OpId::kReshape, {turned}, std::move(join), name);
}

}  // namespace burnish
