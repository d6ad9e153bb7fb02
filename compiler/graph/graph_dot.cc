#include "compiler/graph/graph_dot.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace burnish {
namespace {

// As a string of DOT's: names are the model's.
std::string Quoted(absl::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

// Nodes and edges of a graph and its bodies, each under names of its own.
void AppendDot(const Graph& graph, const std::string& prefix, std::string& text) {
  const auto node_id = [&](GraphNodeId n) { return Quoted(absl::StrCat(prefix, "n", n)); };
  const auto value_id = [&](ValueId value) {
    const GraphNodeId producer = graph.value(value).producer;
    return producer >= 0 ? node_id(producer) : Quoted(absl::StrCat(prefix, "v", value));
  };
  const auto add_value = [&](const std::string& id, ValueId value) {
    absl::StrAppend(
        &text, id, " [shape=ellipse, label=",
        Quoted(absl::StrCat(graph.value(value).name, " ", PrintType(graph.value(value).type))),
        "];\n");
  };
  for (const ValueId input : graph.inputs) add_value(value_id(input), input);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    const std::string id = node_id(static_cast<GraphNodeId>(n));
    absl::StrAppend(&text, id, " [label=", Quoted(absl::StrCat(OpName(node.op), " ", node.name)),
                    ", tooltip=", Quoted(PrintAttributes(node.attributes)), "];\n");
    for (const ValueId input : node.inputs) {
      // Constants are too many for a picture.
      if (graph.IsConstant(input)) continue;
      absl::StrAppend(&text, value_id(input), " -> ", id,
                      " [label=", Quoted(PrintType(graph.value(input).type)), "];\n");
    }
    for (size_t b = 0; b < node.bodies.size(); ++b) {
      const std::string inner = absl::StrCat(prefix, n, ".", b, ".");
      absl::StrAppend(&text, "subgraph ", Quoted(absl::StrCat("cluster", inner)),
                      " {\nlabel=", Quoted(absl::StrCat(node.name, ", body ", b)), ";\n");
      AppendDot(*node.bodies[b], inner, text);
      absl::StrAppend(&text, "}\n");
    }
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const std::string id = Quoted(absl::StrCat(prefix, "o", i));
    add_value(id, graph.outputs[i]);
    if (graph.IsConstant(graph.outputs[i])) continue;
    absl::StrAppend(&text, value_id(graph.outputs[i]), " -> ", id, ";\n");
  }
}

}  // namespace

std::string PrintDot(const Graph& graph) {
  std::string text = absl::StrCat("digraph ", Quoted(graph.name), " {\nnode [shape=box];\n");
  AppendDot(graph, "", text);
  return text + "}\n";
}

}  // namespace burnish
