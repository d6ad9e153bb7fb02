#include "compiler/graph/graph_interpreter.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace burnish {
namespace {

// Position of a parameter named "in<i>".
int ParameterIndex(const Buffer& buffer) { return std::stoi(buffer.name.substr(2)); }

}  // namespace

Program DefineNode(const Graph& graph, const GraphNode& node) {
  const OperatorDef* def = FindOperator(node.op);
  CHECK(def != nullptr) << node.op;
  TeBuilder builder(node.op);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const GraphValue& value = graph.value(node.inputs[i]);
    inputs.push_back(
        builder.Parameter(absl::StrCat("in", i), value.type,
                          value.data != nullptr ? BufferRole::kConstant : BufferRole::kInput));
  }
  const std::vector<Tensor> outputs = def->define(builder, node.attributes, inputs);
  CHECK_EQ(outputs.size(), node.outputs.size()) << node.op;
  for (size_t i = 0; i < outputs.size(); ++i) builder.Output(absl::StrCat("out", i), outputs[i]);
  return builder.Build();
}

absl::StatusOr<std::vector<TensorValue>> InterpretNode(const Graph& graph, const GraphNode& node,
                                                       const std::vector<TensorValue>& inputs) {
  const Program program = DefineNode(graph, node);
  std::vector<TensorValue> arguments;
  for (const Buffer& buffer : program.buffers) {
    // Build drops parameters that no output needs, so arguments are matched by name.
    if (buffer.role == BufferRole::kInput || buffer.role == BufferRole::kConstant) {
      arguments.push_back(inputs[ParameterIndex(buffer)]);
    }
  }
  absl::StatusOr<std::vector<TensorValue>> outputs = Interpret(program, arguments);
  if (!outputs.ok()) {
    return absl::Status(outputs.status().code(), absl::StrCat("node '", node.name, "' (", node.op,
                                                              "): ", outputs.status().message()));
  }
  return outputs;
}

absl::StatusOr<std::vector<TensorValue>> InterpretGraph(const Graph& graph,
                                                        const std::vector<TensorValue>& inputs) {
  if (inputs.size() != graph.inputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("got ", inputs.size(), " inputs, want ", graph.inputs.size()));
  }
  std::map<ValueId, TensorValue> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const GraphValue& want = graph.value(graph.inputs[i]);
    const TensorType got{inputs[i].dtype, inputs[i].shape};
    if (!(got == want.type)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input '", want.name, "': got ", PrintType(got), ", want ", PrintType(want.type)));
    }
    values[graph.inputs[i]] = inputs[i];
  }
  const auto find = [&](ValueId id) {
    if (graph.IsConstant(id)) return ToTensorValue(graph.value(id).type, *graph.value(id).data);
    return values.at(id);
  };
  for (const GraphNode& node : graph.nodes) {
    std::vector<TensorValue> arguments;
    for (ValueId input : node.inputs) arguments.push_back(find(input));
    ASSIGN_OR_RETURN(std::vector<TensorValue> results, InterpretNode(graph, node, arguments));
    for (size_t i = 0; i < results.size(); ++i) {
      values[node.outputs[i]] = std::move(results[i]);
    }
  }
  std::vector<TensorValue> outputs;
  for (ValueId output : graph.outputs) outputs.push_back(find(output));
  return outputs;
}

}  // namespace burnish
