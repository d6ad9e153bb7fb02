#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "compiler/graph/graph.h"

namespace burnish {
namespace {

struct AttributePrinter {
  std::string operator()(int64_t v) const { return absl::StrCat(v); }
  std::string operator()(double v) const { return absl::StrFormat("%.9g", v); }
  std::string operator()(const std::string& v) const { return v; }
  std::string operator()(const std::vector<int64_t>& v) const {
    return absl::StrCat("[", absl::StrJoin(v, ","), "]");
  }
  std::string operator()(const std::vector<double>& v) const {
    return absl::StrCat(
        "[",
        absl::StrJoin(v, ",",
                      [](std::string* out, double x) { absl::StrAppendFormat(out, "%.9g", x); }),
        "]");
  }
};

std::string ValueRef(const Graph& graph, ValueId id) {
  return absl::StrCat("%", id, graph.IsConstant(id) ? "c" : "");
}

}  // namespace

std::string PrintType(const TensorType& type) {
  return absl::StrCat(DTypeName(type.dtype), "[", absl::StrJoin(type.shape, ","), "]");
}

std::string PrintAttributes(const Attributes& attributes) {
  std::string text;
  for (const auto& [name, value] : attributes.values()) {
    absl::StrAppend(&text, text.empty() ? "" : " ", name, "=",
                    std::visit(AttributePrinter{}, value));
  }
  return text;
}

std::string PrintGraph(const Graph& graph) {
  std::string text = absl::StrCat("graph ", graph.name, "\n");
  for (ValueId input : graph.inputs) {
    absl::StrAppend(&text, "input ", ValueRef(graph, input), " ",
                    PrintType(graph.value(input).type), " '", graph.value(input).name, "'\n");
  }
  for (size_t s = 0; s < graph.sizes.size(); ++s) {
    const GraphSize& size = graph.sizes[s];
    absl::StrAppend(&text, "size ", ValueRef(graph, graph.inputs[graph.shown_inputs() + s]), " '",
                    size.name, "' ", size.least, "..", size.greatest, "\n");
  }
  for (const GraphInputAxis& axis : graph.input_axes) {
    absl::StrAppend(&text, "axis ", axis.axis, " of ", ValueRef(graph, graph.inputs[axis.input]),
                    " holds ", axis.constant);
    for (const GraphInputAxis::Part& part : axis.parts) {
      absl::StrAppend(&text, " + ", part.factor, " ", graph.sizes[part.size].name);
    }
    absl::StrAppend(&text, "\n");
  }
  for (const GraphInputDefault& value : graph.input_defaults) {
    absl::StrAppend(&text, "default of ", ValueRef(graph, graph.inputs[value.input]), "\n");
  }
  for (const GraphNode& node : graph.nodes) {
    std::vector<std::string> results, arguments;
    for (ValueId output : node.outputs) {
      results.push_back(
          absl::StrCat(ValueRef(graph, output), " ", PrintType(graph.value(output).type)));
    }
    for (ValueId input : node.inputs) {
      arguments.push_back(graph.IsConstant(input) ? absl::StrCat(ValueRef(graph, input), " ",
                                                                 PrintType(graph.value(input).type))
                                                  : ValueRef(graph, input));
    }
    absl::StrAppend(&text, absl::StrJoin(results, ", "), " = ", OpName(node.op), "(",
                    absl::StrJoin(arguments, ", "), ")");
    if (!node.attributes.values().empty()) {
      absl::StrAppend(&text, " {", PrintAttributes(node.attributes), "}");
    }
    absl::StrAppend(&text, "  # ", node.name, "\n");
    for (const auto& body : node.bodies) {
      absl::StrAppend(&text, "{\n", PrintGraph(*body), "}\n");
    }
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const ValueId output = graph.outputs[i];
    absl::StrAppend(&text, i < graph.shown_outputs() ? "output " : "hidden ",
                    ValueRef(graph, output), " ", PrintType(graph.value(output).type), " '",
                    graph.value(output).name, "'\n");
  }
  for (const GraphBoundedAxis& axis : graph.bounded_axes) {
    absl::StrAppend(&text, "axis ", axis.axis, " of ", ValueRef(graph, graph.outputs[axis.output]),
                    " holds ", ValueRef(graph, graph.outputs[axis.extent]), "\n");
  }
  return text;
}

}  // namespace burnish
