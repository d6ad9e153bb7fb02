#include "compiler/graph/split_pools_pass.h"

#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "compiler/graph/rewrite.h"

namespace burnish {
namespace {

// Taps from which on a window is split.
constexpr int64_t kTapsMin = 25;

bool IsLargeMax(const GraphNode& node) {
  if (node.op != OpId::kMaxPool || node.outputs.size() != 1) return false;
  int64_t taps = 1, wide = 0;
  for (const int64_t extent : node.attributes.Ints("kernel_shape", {})) {
    taps *= extent;
    wide += extent > 1 ? 1 : 0;
  }
  return wide > 1 && taps >= kTapsMin;
}

}  // namespace

absl::Status SplitPools(Graph& graph) {
  Replacements replacements;
  const auto node_count = static_cast<GraphNodeId>(graph.nodes.size());
  for (GraphNodeId n = 0; n < node_count; ++n) {
    const GraphNode node = graph.nodes[n];  // By value: nodes are appended.
    if (!IsLargeMax(node)) continue;
    const std::vector<int64_t> kernel = node.attributes.Ints("kernel_shape", {});
    const size_t dims = kernel.size();
    const std::vector<int64_t> ones(dims, 1), none(2 * dims, 0);
    const std::vector<int64_t> strides = node.attributes.Ints("strides", ones);
    const std::vector<int64_t> dilations = node.attributes.Ints("dilations", ones);
    const std::vector<int64_t> pads = node.attributes.Ints("pads", none);
    ValueId value = node.inputs[0];
    // The last dimension first: where steps are wide, the others then have less to do, and along
    // it neighbours lie beside each other in both layouts.
    for (size_t d = dims; d-- > 0;) {
      if (kernel[d] == 1 && strides[d] == 1 && pads[d] == 0 && pads[dims + d] == 0) continue;
      const auto only = [d, dims](const std::vector<int64_t>& all, std::vector<int64_t> others) {
        others[d] = all[d];
        if (all.size() == 2 * dims) others[dims + d] = all[dims + d];
        return others;
      };
      Attributes attributes = node.attributes;
      attributes.Set("kernel_shape", only(kernel, ones));
      attributes.Set("strides", only(strides, ones));
      attributes.Set("dilations", only(dilations, ones));
      attributes.Set("pads", only(pads, none));
      ASSIGN_OR_RETURN(value,
                       AddOp(graph, OpId::kMaxPool, {value}, std::move(attributes), node.name));
    }
    replacements.Set(node.outputs[0], value);
  }
  if (replacements.empty()) return absl::OkStatus();
  replacements.Apply(graph);
  return Finish(graph);
}

}  // namespace burnish
