#include "compiler/graph/eliminate_common_pass.h"

#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/string_view.h"
#include "compiler/graph/constant_origin.h"
#include "compiler/graph/eliminate_dead_pass.h"

namespace burnish {
namespace {

// Constants by type and bytes. Comparing bytes is cheap enough: most differ early or share memory.
// Of what comes from tracked parameters, by origin: two parameters that are equal today may be
// replaced by others that are not.
struct ConstantKey {
  DType dtype;
  std::vector<int64_t> shape;
  absl::string_view bytes;
  std::string origin;
  friend bool operator<(const ConstantKey& a, const ConstantKey& b) {
    return std::tie(a.dtype, a.shape, a.origin, a.bytes) <
           std::tie(b.dtype, b.shape, b.origin, b.bytes);
  }
};

struct NodeKey {
  OpId op;
  std::map<std::string, AttributeValue> attributes;
  std::vector<ValueId> inputs;
  std::vector<std::shared_ptr<const Graph>> bodies;  // Equal where they are the same.
  friend bool operator<(const NodeKey& a, const NodeKey& b) {
    return std::tie(a.op, a.inputs, a.attributes, a.bodies) <
           std::tie(b.op, b.inputs, b.attributes, b.bodies);
  }
};

}  // namespace

void EliminateCommon(Graph& graph) {
  const std::vector<bool> is_output = OutputFlags(graph);
  std::vector<ValueId> same(graph.values.size());
  std::map<ConstantKey, ValueId> constants;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const auto id = static_cast<ValueId>(v);
    same[v] = id;
    const GraphValue& value = graph.values[v];
    if (value.data == nullptr || is_output[v]) continue;
    const absl::Span<const uint8_t> bytes = value.data->bytes();
    const ConstantKey key{
        value.type.dtype, value.type.shape,
        absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
        OriginKey(value.data->origin())};
    same[v] = constants.emplace(key, id).first->second;
  }
  std::map<NodeKey, GraphNodeId> nodes;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    GraphNode& node = graph.nodes[n];
    bool writes_output = false;
    for (ValueId& input : node.inputs) input = same[input];
    for (ValueId output : node.outputs) writes_output = writes_output || is_output[output];
    const auto [found, is_new] =
        nodes.emplace(NodeKey{node.op, node.attributes.values(), node.inputs, node.bodies},
                      static_cast<GraphNodeId>(n));
    if (is_new || writes_output) continue;
    const GraphNode& first = graph.nodes[found->second];
    for (size_t i = 0; i < node.outputs.size(); ++i) same[node.outputs[i]] = first.outputs[i];
  }
  EliminateDead(graph);
}

}  // namespace burnish
