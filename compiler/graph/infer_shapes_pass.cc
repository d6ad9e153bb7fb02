#include "compiler/graph/infer_shapes_pass.h"

#include "absl/strings/str_cat.h"

namespace burnish {

absl::Status InferShapes(Graph& graph) {
  for (const GraphNode& node : graph.nodes) {
    const OperatorDef* def = FindOperator(node.op);
    if (def == nullptr) {
      return absl::UnimplementedError(
          absl::StrCat("node '", node.name, "': unknown operator '", node.op, "'"));
    }
    const absl::StatusOr<std::vector<TensorType>> types =
        def->infer(node.attributes, InputTypes(graph, node));
    if (!types.ok()) {
      return absl::Status(types.status().code(), absl::StrCat("node '", node.name, "' (", node.op,
                                                              "): ", types.status().message()));
    }
    if (types->size() != node.outputs.size()) {
      return absl::InvalidArgumentError(absl::StrCat("node '", node.name, "' (", node.op, "): has ",
                                                     node.outputs.size(), " outputs, want ",
                                                     types->size()));
    }
    for (size_t i = 0; i < types->size(); ++i) graph.values[node.outputs[i]].type = (*types)[i];
  }
  return absl::OkStatus();
}

}  // namespace burnish
