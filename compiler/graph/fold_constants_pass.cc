#include "compiler/graph/fold_constants_pass.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "compiler/graph/constant_memo.h"
#include "compiler/graph/constant_origin.h"
#include "compiler/graph/control.h"
#include "compiler/graph/eliminate_dead_pass.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/graph_interpreter.h"

namespace burnish {
namespace {

int64_t Bytes(const TensorType& type) { return ElementCount(type.shape) * SizeBytes(type.dtype); }

bool TooLarge(const Graph& graph, const GraphNode& node, const FoldConstantsOptions& options) {
  int64_t in = 0, out = 0;
  for (ValueId input : node.inputs) in += Bytes(graph.value(input).type);
  for (ValueId output : node.outputs) out += Bytes(graph.value(output).type);
  return out > in && out > options.max_result_bytes;
}

// nullopt: leave the node as it is.
absl::StatusOr<std::optional<std::vector<ConstantPtr>>> FoldNode(
    const Graph& graph, const GraphNode& node, const FoldConstantsOptions& options,
    int64_t& product_flops_left) {
  if (IsControl(node) || node.inputs.empty() || TooLarge(graph, node, options)) return std::nullopt;
  if (options.keep_quantized && node.op == OpId::kDequantize) return std::nullopt;
  std::vector<TypedConstant> inputs;
  for (ValueId input : node.inputs) {
    const GraphValue& value = graph.value(input);
    if (value.data == nullptr || IsTooDeep(value.data->origin())) return std::nullopt;
    inputs.push_back({.type = &value.type, .data = value.data});
  }
  std::vector<TensorType> types;
  for (ValueId output : node.outputs) types.push_back(graph.value(output).type);
  const OperatorDef& def = OperatorOf(node.op);
  if (node.op == OpId::kMatmul) {
    const int64_t flops = def.flop_count(node.attributes, InputTypes(graph, node));
    if (flops > product_flops_left) return std::nullopt;
    product_flops_left -= flops;
  }
  if (node.op == OpId::kTranspose && graph.memo != nullptr) {
    return std::vector<ConstantPtr>{
        graph.memo->Transposed(*inputs[0].type, inputs[0].data, node.attributes.Ints("perm", {}))};
  }
  if (auto folded = Evaluate(node, inputs, types)) return folded;
  int64_t steps = def.flop_count(node.attributes, InputTypes(graph, node));
  for (const TensorType& type : types) steps += ElementCount(type.shape);
  if (steps > options.max_interpreted_flops) return std::nullopt;
  std::vector<TensorValue> arguments;
  for (const TypedConstant& input : inputs) {
    arguments.push_back(ToTensorValue(*input.type, *input.data));
  }
  const absl::StatusOr<std::vector<TensorValue>> values = InterpretNode(graph, node, arguments);
  if (!values.ok()) {
    // A data error (an index out of range) belongs to the run, not to the compiler.
    if (values.status().code() == absl::StatusCode::kOutOfRange) return std::nullopt;
    return values.status();
  }
  std::vector<ConstantPtr> folded;
  for (const TensorValue& value : *values) folded.push_back(FromTensorValue(value));
  RememberNode(node, inputs, folded);
  return folded;
}

}  // namespace

absl::Status FoldConstants(Graph& graph, const FoldConstantsOptions& options) {
  bool changed = false;
  int64_t product_flops_left = options.max_product_flops;
  for (GraphNode& node : graph.nodes) {
    ASSIGN_OR_RETURN(auto folded, FoldNode(graph, node, options, product_flops_left));
    if (!folded.has_value()) continue;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      GraphValue& value = graph.values[node.outputs[i]];
      value.data = (*folded)[i];
      value.producer = -1;
    }
    node.outputs.clear();  // Marks the node for removal: it no longer writes anything.
    changed = true;
  }
  if (!changed) return absl::OkStatus();
  graph.nodes.erase(std::remove_if(graph.nodes.begin(), graph.nodes.end(),
                                   [](const GraphNode& node) { return node.outputs.empty(); }),
                    graph.nodes.end());
  RETURN_IF_ERROR(SortTopologically(graph));
  EliminateDead(graph);
  return absl::OkStatus();
}

}  // namespace burnish
