// Writes ONNX messages for one graph. Internal to compiler/frontend.
#ifndef COMPILER_FRONTEND_ONNX_EXPORT_CONTEXT_H_
#define COMPILER_FRONTEND_ONNX_EXPORT_CONTEXT_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "compiler/graph/graph.h"

namespace onnx {
class GraphProto;
class NodeProto;
class TensorProto;
}  // namespace onnx

namespace burnish {

class OnnxGraphWriter {
 public:
  // `around`: the writer of the graph that this one is a body in; its names are taken.
  OnnxGraphWriter(const Graph& graph, onnx::GraphProto* to, OnnxGraphWriter* around = nullptr);

  const Graph& graph() const { return graph_; }
  // The ONNX name of a value.
  const std::string& Name(ValueId id) const { return names_[id]; }
  void SetName(ValueId id, std::string name) { names_[id] = std::move(name); }
  std::string FreshName(absl::string_view base);

  // A node with the given inputs and outputs (names).
  onnx::NodeProto* Add(const std::string& type, const std::vector<std::string>& inputs,
                       const std::vector<std::string>& outputs);
  // The same with one fresh output, whose name it returns.
  std::string AddFresh(const std::string& type, const std::vector<std::string>& inputs);
  std::string Transpose(const std::string& x, const std::vector<int64_t>& perm);
  // Initializers; return the name.
  std::string Ints(const std::vector<int64_t>& values);
  std::string Constant(const TensorType& type, const ConstantData& data);
  std::string Scalar(DType dtype, double value);
  std::string Int(int64_t value);  // A scalar.

  // The value under another name, for inputs and constants that are outputs.
  absl::Status WriteInterface();

  // From now on large constants go to the end of `data`, a file of this name beside the model.
  void PutLargeConstants(std::string name, std::string* data) {
    data_name_ = std::move(name);
    data_ = data;
  }

  static void SetInt(onnx::NodeProto* node, const std::string& name, int64_t value);
  static void SetInts(onnx::NodeProto* node, const std::string& name,
                      const std::vector<int64_t>& values);
  static void SetFloat(onnx::NodeProto* node, const std::string& name, double value);
  static void SetString(onnx::NodeProto* node, const std::string& name, const std::string& value);

 private:
  void SetConstant(const TensorType& type, const ConstantData& data, onnx::TensorProto* tensor);

  const Graph& graph_;
  onnx::GraphProto* to_;
  OnnxGraphWriter* const around_;
  std::vector<std::string> names_;  // By value.
  std::set<std::string> taken_;
  std::string data_name_;
  std::string* data_ = nullptr;
};

// Writes one node; UNIMPLEMENTED where it has no ONNX form.
absl::Status ExportControl(OnnxGraphWriter& writer, const GraphNode& node);
absl::Status ExportNode(OnnxGraphWriter& writer, const GraphNode& node);
// False: not one of the quantized operators.
bool ExportQuantized(OnnxGraphWriter& writer, const GraphNode& node);

}  // namespace burnish

#endif  // COMPILER_FRONTEND_ONNX_EXPORT_CONTEXT_H_
