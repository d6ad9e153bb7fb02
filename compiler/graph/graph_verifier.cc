#include <set>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/graph/control.h"
#include "compiler/graph/graph.h"

namespace burnish {
namespace {

absl::Status Broken(const GraphNode& node, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("node '", node.name, "' (", OpName(node.op), "): ", what));
}

absl::Status VerifyValues(const Graph& graph) {
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const GraphValue& value = graph.values[v];
    if (value.data == nullptr) continue;
    const int64_t want = ElementCount(value.type.shape) * SizeBytes(value.type.dtype);
    const auto got = static_cast<int64_t>(value.data->bytes().size());
    if (got != want) {
      return absl::InvalidArgumentError(absl::StrCat("constant '", value.name, "': got ", got,
                                                     " bytes, want ", want, " for ",
                                                     PrintType(value.type)));
    }
    if (value.producer >= 0) {
      return absl::InvalidArgumentError(absl::StrCat("constant '", value.name, "' has a producer"));
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyNode(const Graph& graph, GraphNodeId n, std::vector<bool>& defined) {
  const GraphNode& node = graph.nodes[n];
  const auto value_count = static_cast<ValueId>(graph.values.size());
  for (ValueId input : node.inputs) {
    if (input < 0 || input >= value_count) return Broken(node, absl::StrCat("input id ", input));
    if (!defined[input]) {
      return Broken(node, absl::StrCat("reads '", graph.values[input].name,
                                       "' before anything has written it"));
    }
  }
  for (const auto& body : node.bodies) {
    // The recursion is as deep as the bodies, which importers bound.
    if (const absl::Status verified = VerifyGraph(*body); !verified.ok()) {
      return Broken(node, absl::StrCat("body: ", verified.message()));
    }
  }
  absl::StatusOr<std::vector<TensorType>> types =
      IsControl(node) ? InferControl(node, InputTypes(graph, node))
                      : OperatorOf(node.op).infer(node.attributes, InputTypes(graph, node));
  if (!types.ok()) return Broken(node, types.status().message());
  for (const std::vector<TensorType>& all : {InputTypes(graph, node), *types}) {
    for (const TensorType& type : all) {
      if (ElementCount(type.shape) > 0) continue;
      return Broken(node,
                    absl::StrCat("has ", PrintType(type), ", and no kernel runs over nothing"));
    }
  }
  if (types->size() != node.outputs.size()) {
    return Broken(node,
                  absl::StrCat("has ", node.outputs.size(), " outputs, want ", types->size()));
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId output = node.outputs[i];
    if (output < 0 || output >= value_count) {
      return Broken(node, absl::StrCat("output id ", output));
    }
    const GraphValue& value = graph.values[output];
    if (defined[output]) return Broken(node, absl::StrCat("writes '", value.name, "' again"));
    if (value.producer != n) return Broken(node, "is not the producer of its output");
    if (!(value.type == (*types)[i])) {
      return Broken(node, absl::StrCat("output '", value.name, "' is ", PrintType(value.type),
                                       ", the operator gives ", PrintType((*types)[i])));
    }
    defined[output] = true;
  }
  return absl::OkStatus();
}

absl::Status VerifyBoundedAxes(const Graph& graph) {
  const auto count = static_cast<int>(graph.outputs.size());
  if (graph.hidden_outputs < 0 || graph.hidden_outputs > count) {
    return absl::InvalidArgumentError("got more hidden outputs than outputs");
  }
  const auto shown = static_cast<int>(graph.shown_outputs());
  for (const GraphBoundedAxis& axis : graph.bounded_axes) {
    if (axis.output < 0 || axis.output >= shown || axis.extent < shown || axis.extent >= count) {
      return absl::InvalidArgumentError("a bounded axis has no output or no extent");
    }
    const TensorType& type = graph.value(graph.outputs[axis.output]).type;
    if (axis.axis < 0 || axis.axis >= static_cast<int>(type.shape.size()) ||
        !(graph.value(graph.outputs[axis.extent]).type == TensorType{DType::kI64, {}})) {
      return absl::InvalidArgumentError(absl::StrCat(
          "output ", axis.output, " has no axis ", axis.axis, ", or its extent is no i64 scalar"));
    }
  }
  return absl::OkStatus();
}

absl::Status VerifySizes(const Graph& graph) {
  if (graph.sizes.size() > graph.inputs.size()) {
    return absl::InvalidArgumentError("got more sizes than inputs");
  }
  for (size_t s = 0; s < graph.sizes.size(); ++s) {
    const GraphSize& size = graph.sizes[s];
    const TensorType& type = graph.value(graph.inputs[graph.shown_inputs() + s]).type;
    if (size.least < 0 || size.least > size.greatest || !(type == TensorType{DType::kI64, {}})) {
      return absl::InvalidArgumentError(
          absl::StrCat("size '", size.name, "' has no range, or no i64 scalar"));
    }
  }
  for (const GraphInputAxis& axis : graph.input_axes) {
    const auto misfit = [&] {
      return absl::InvalidArgumentError(
          absl::StrCat("axis ", axis.axis, " of input ", axis.input, " does not fit its sizes"));
    };
    if (axis.input < 0 || axis.input >= static_cast<int>(graph.shown_inputs())) return misfit();
    const std::vector<int64_t>& shape = graph.value(graph.inputs[axis.input]).type.shape;
    if (axis.axis < 0 || axis.axis >= static_cast<int>(shape.size())) return misfit();
    int64_t greatest = axis.constant;
    for (const GraphInputAxis::Part& part : axis.parts) {
      int64_t product = 0;
      if (part.size < 0 || part.size >= static_cast<int>(graph.sizes.size()) || part.factor < 1 ||
          __builtin_mul_overflow(graph.sizes[part.size].greatest, part.factor, &product) ||
          __builtin_add_overflow(greatest, product, &greatest)) {
        return misfit();
      }
    }
    if (axis.parts.empty() || greatest > shape[axis.axis]) return misfit();
  }
  for (const GraphInputDefault& value : graph.input_defaults) {
    bool fits = value.input >= 0 && value.input < static_cast<int>(graph.shown_inputs());
    if (fits) {
      const TensorType& type = graph.value(graph.inputs[value.input]).type;
      fits = value.data != nullptr &&
             std::ssize(value.data->bytes()) == ElementCount(type.shape) * SizeBytes(type.dtype);
    }
    if (!fits) return absl::InvalidArgumentError("a default does not fit its input");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyGraph(const Graph& graph) {
  RETURN_IF_ERROR(VerifyValues(graph));
  const auto value_count = static_cast<ValueId>(graph.values.size());
  std::vector<bool> defined(graph.values.size(), false);
  for (size_t v = 0; v < graph.values.size(); ++v) defined[v] = graph.values[v].data != nullptr;
  std::set<std::string> names;
  for (ValueId input : graph.inputs) {
    if (input < 0 || input >= value_count || defined[input]) {
      return absl::InvalidArgumentError(
          absl::StrCat("graph input ", input, " is out of range, repeated, or a constant"));
    }
    if (!names.insert(graph.values[input].name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("two graph inputs are named '", graph.values[input].name, "'"));
    }
    defined[input] = true;
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    RETURN_IF_ERROR(VerifyNode(graph, static_cast<GraphNodeId>(n), defined));
  }
  for (ValueId output : graph.outputs) {
    if (output < 0 || output >= value_count || !defined[output]) {
      return absl::InvalidArgumentError(
          absl::StrCat("graph output ", output, " is not written by anything"));
    }
  }
  RETURN_IF_ERROR(VerifySizes(graph));
  return VerifyBoundedAxes(graph);
}

}  // namespace burnish
