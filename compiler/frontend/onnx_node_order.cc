#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_graph_importer.h"
#include "third_party/onnx.pb.h"

namespace burnish {
namespace {

std::string NodeLabel(const onnx::NodeProto& node) {
  const std::string name =
      node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
  return absl::StrCat("node '", name, "' (", node.op_type(), ")");
}

absl::StatusOr<std::unordered_map<std::string, int>> Writers(const onnx::GraphProto& graph) {
  std::unordered_map<std::string, int> writers;
  for (int n = 0; n < graph.node_size(); ++n) {
    for (const std::string& output : graph.node(n).output()) {
      if (output.empty()) continue;
      // ONNX is in SSA form.
      if (!writers.emplace(output, n).second) {
        return absl::InvalidArgumentError(absl::StrCat(NodeLabel(graph.node(n)), ": '", output,
                                                       "' is written by another node already"));
      }
    }
  }
  return writers;
}

// The nodes that each node depends on inside this graph.
std::vector<std::vector<int>> Dependencies(const onnx::GraphProto& graph,
                                           const std::unordered_map<std::string, int>& writers) {
  std::vector<std::vector<int>> dependencies(graph.node_size());
  for (int n = 0; n < graph.node_size(); ++n) {
    std::unordered_set<int> seen;
    for (const std::string& name : NamesReadBy(graph.node(n))) {
      const auto found = writers.find(name);
      if (found != writers.end() && seen.insert(found->second).second) {
        dependencies[n].push_back(found->second);
      }
    }
  }
  return dependencies;
}

void AddNamesReadBy(const onnx::NodeProto& node, std::unordered_set<std::string>& seen,
                    std::vector<std::string>& names);

// What a graph inside a node reads from the graphs around it: names that it does not define.
void AddNamesReadBy(const onnx::GraphProto& graph, std::unordered_set<std::string>& seen,
                    std::vector<std::string>& names) {
  std::unordered_set<std::string> defined;
  for (const onnx::ValueInfoProto& input : graph.input()) defined.insert(input.name());
  for (const onnx::TensorProto& tensor : graph.initializer()) defined.insert(tensor.name());
  for (const onnx::NodeProto& node : graph.node()) {
    defined.insert(node.output().begin(), node.output().end());
  }
  std::unordered_set<std::string> inner_seen;
  std::vector<std::string> inner;
  for (const onnx::NodeProto& node : graph.node()) AddNamesReadBy(node, inner_seen, inner);
  for (const onnx::ValueInfoProto& output : graph.output()) inner.push_back(output.name());
  for (std::string& name : inner) {
    if (defined.count(name) == 0 && seen.insert(name).second) names.push_back(std::move(name));
  }
}

// The recursion ends: protobuf bounds the nesting of the messages that it parses.
void AddNamesReadBy(const onnx::NodeProto& node, std::unordered_set<std::string>& seen,
                    std::vector<std::string>& names) {
  for (const std::string& input : node.input()) {
    if (!input.empty() && seen.insert(input).second) names.push_back(input);
  }
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) AddNamesReadBy(attribute.g(), seen, names);
  }
}

}  // namespace

std::vector<std::string> NamesReadBy(const onnx::NodeProto& node) {
  std::unordered_set<std::string> seen;
  std::vector<std::string> names;
  AddNamesReadBy(node, seen, names);
  return names;
}

absl::StatusOr<std::vector<int>> OrderOnnxNodes(const onnx::GraphProto& graph) {
  ASSIGN_OR_RETURN(const auto writers, Writers(graph));
  const std::vector<std::vector<int>> dependencies = Dependencies(graph, writers);
  // What no output needs is left out: it may be of a kind that is not supported.
  std::vector<bool> needed(graph.node_size(), false);
  std::vector<int> open;
  const auto need = [&](int n) {
    if (!needed[n]) open.push_back(n);
    needed[n] = true;
  };
  for (const onnx::ValueInfoProto& output : graph.output()) {
    if (const auto found = writers.find(output.name()); found != writers.end()) need(found->second);
  }
  while (!open.empty()) {
    const int n = open.back();
    open.pop_back();
    for (int d : dependencies[n]) need(d);
  }
  // Kahn's algorithm. The least number of those that are ready comes first, so that a file that is
  // in order, as ONNX asks for, stays as it is.
  std::vector<int> waiting(graph.node_size(), 0);
  std::vector<std::vector<int>> readers(graph.node_size());
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int n = 0; n < graph.node_size(); ++n) {
    if (!needed[n]) continue;
    waiting[n] = static_cast<int>(dependencies[n].size());
    for (int d : dependencies[n]) readers[d].push_back(n);
    if (waiting[n] == 0) ready.push(n);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (int reader : readers[order.back()]) {
      if (--waiting[reader] == 0) ready.push(reader);
    }
  }
  for (int n = 0; n < graph.node_size(); ++n) {
    if (needed[n] && waiting[n] > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(NodeLabel(graph.node(n)), ": the graph has a cycle through this node"));
    }
  }
  return order;
}

}  // namespace burnish
