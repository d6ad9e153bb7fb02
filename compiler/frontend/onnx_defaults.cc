// Initializers that are inputs of the model, too: what a run need not give.
#include <algorithm>
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "compiler/frontend/onnx_graph_importer.h"
#include "third_party/onnx.pb.h"

namespace burnish {
namespace {

// Before, all initializers had to be among the inputs, and none could be given.
constexpr int64_t kIrVersionMin = 4;
// Of all such initializers together. Exporters went on to list weights, which nobody gives: as
// constants they are folded and packed. A detector for telephones has 300,000, the largest matrix
// that is a setting rather than a weight was taken to be 256 x 256.
constexpr int64_t kElementsMax = 1 << 16;

int64_t ElementsOf(const onnx::TensorProto& tensor) {
  int64_t count = 1;
  for (const int64_t extent : tensor.dims()) {
    if (extent < 1) return 0;
    count = std::min(extent, kElementsMax + 1) * count;
    if (count > kElementsMax) return kElementsMax + 1;
  }
  return count;
}

}  // namespace

std::set<std::string> InputsWithDefault(const onnx::ModelProto& model,
                                        const ImportOptions& options) {
  std::set<std::string> names;
  if (model.ir_version() < kIrVersionMin) return names;
  std::unordered_map<std::string, int64_t> elements;
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    elements[tensor.name()] = ElementsOf(tensor);
  }
  int64_t total = 0;
  for (const onnx::ValueInfoProto& input : model.graph().input()) {
    const auto found = elements.find(input.name());
    if (found == elements.end() || options.input_values.contains(input.name())) continue;
    // One without elements is a constant anyway.
    if (found->second == 0) continue;
    if (options.input_shapes.contains(input.name())) {
      names.insert(input.name());
      continue;
    }
    total += found->second;
    if (total <= kElementsMax) names.insert(input.name());
  }
  if (total > kElementsMax) {
    std::erase_if(names,
                  [&](const std::string& name) { return !options.input_shapes.contains(name); });
  }
  return names;
}

std::string NearestDefault(const onnx::GraphProto& graph, const std::string& value,
                           const std::set<std::string>& defaults) {
  std::unordered_map<std::string, const onnx::NodeProto*> writers;
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& output : node.output()) writers[output] = &node;
  }
  std::deque<std::string> open = {value};
  std::unordered_set<std::string> seen;
  while (!open.empty()) {
    const std::string name = std::move(open.front());
    open.pop_front();
    if (defaults.contains(name)) return name;
    const auto writer = writers.find(name);
    if (writer == writers.end()) continue;
    for (std::string& read : NamesReadBy(*writer->second)) {
      if (seen.insert(read).second) open.push_back(std::move(read));
    }
  }
  return "";
}

}  // namespace burnish
