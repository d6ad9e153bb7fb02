#include "compiler/frontend/onnx_export.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_export_context.h"
#include "compiler/frontend/onnx_tensor.h"
#include "third_party/onnx.pb.h"

namespace burnish {
namespace {

// Of the release that brought opset 21.
constexpr int kIrVersion = 10;
// Of constants that go to a file of their own, and of their place in it: a page, so that they can
// be mapped (onnx/docs/ExternalData.md).
constexpr size_t kLargeBytes = 1024, kDataAlignment = 4096;

void SetType(const TensorType& type, onnx::ValueInfoProto* info) {
  onnx::TypeProto::Tensor* tensor = info->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(OnnxTypeOf(type.dtype));
  tensor->mutable_shape();  // A scalar has a shape too: one without dimensions.
  for (int64_t extent : type.shape) {
    tensor->mutable_shape()->add_dim()->set_dim_value(extent);
  }
}

// Names that nodes read, those of their bodies included.
void AddReads(const onnx::GraphProto& graph, std::set<std::string>& read) {
  for (const onnx::NodeProto& node : graph.node()) {
    read.insert(node.input().begin(), node.input().end());
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (!attribute.has_g()) continue;
      AddReads(attribute.g(), read);
      for (const onnx::ValueInfoProto& output : attribute.g().output()) read.insert(output.name());
    }
  }
}

int64_t ConstantBytes(const Graph& graph) {
  int64_t sum = 0;
  for (const GraphValue& value : graph.values) {
    if (value.data != nullptr) sum += std::ssize(value.data->bytes());
  }
  return sum;
}

}  // namespace

OnnxGraphWriter::OnnxGraphWriter(const Graph& graph, onnx::GraphProto* to, OnnxGraphWriter* around)
    : graph_(graph), to_(to), around_(around), names_(graph.values.size()) {
  // A body's interface is by position: no name of it may be one of the graphs around it.
  if (around != nullptr) {
    for (size_t v = 0; v < names_.size(); ++v) names_[v] = FreshName(graph.values[v].name);
    return;
  }
  // The interface keeps its names; everything else gets a free one.
  for (ValueId input : graph.inputs) {
    names_[input] = graph.value(input).name;
    taken_.insert(names_[input]);
  }
  for (ValueId output : graph.outputs) {
    const std::string& name = graph.value(output).name;
    if (names_[output].empty() && graph.value(output).producer >= 0 && taken_.insert(name).second) {
      names_[output] = name;
    }
  }
  for (size_t v = 0; v < names_.size(); ++v) {
    if (names_[v].empty()) names_[v] = FreshName(graph.values[v].name);
  }
}

std::string OnnxGraphWriter::FreshName(absl::string_view base) {
  if (around_ != nullptr) return around_->FreshName(base);
  std::string name(base.empty() ? "value" : base);
  for (size_t i = taken_.size(); !taken_.insert(name).second; ++i)
    name = absl::StrCat(base, "_", i);
  return name;
}

onnx::NodeProto* OnnxGraphWriter::Add(const std::string& type,
                                      const std::vector<std::string>& inputs,
                                      const std::vector<std::string>& outputs) {
  onnx::NodeProto* node = to_->add_node();
  node->set_op_type(type);
  node->set_name(absl::StrCat(type, "_", to_->node_size()));
  for (const std::string& input : inputs) node->add_input(input);
  for (const std::string& output : outputs) node->add_output(output);
  return node;
}

std::string OnnxGraphWriter::AddFresh(const std::string& type,
                                      const std::vector<std::string>& inputs) {
  const std::string name = FreshName(absl::StrCat(type, "_out"));
  Add(type, inputs, {name});
  return name;
}

std::string OnnxGraphWriter::Transpose(const std::string& x, const std::vector<int64_t>& perm) {
  const std::string name = FreshName(absl::StrCat(x, "_transposed"));
  SetInts(Add("Transpose", {x}, {name}), "perm", perm);
  return name;
}

std::string OnnxGraphWriter::Constant(const TensorType& type, const ConstantData& data) {
  const std::string name = FreshName("constant");
  onnx::TensorProto* tensor = to_->add_initializer();
  tensor->set_name(name);
  SetConstant(type, data, tensor);
  return name;
}

void OnnxGraphWriter::SetConstant(const TensorType& type, const ConstantData& data,
                                  onnx::TensorProto* tensor) {
  tensor->set_data_type(OnnxTypeOf(type.dtype));
  for (int64_t extent : type.shape) tensor->add_dims(extent);
  const absl::Span<const uint8_t> bytes = data.bytes();
  if (data_ == nullptr || bytes.size() < kLargeBytes) {
    tensor->set_raw_data(bytes.data(), bytes.size());
    return;
  }
  data_->resize((data_->size() + kDataAlignment - 1) / kDataAlignment * kDataAlignment);
  const auto set = [&](const char* key, std::string value) {
    onnx::StringStringEntryProto* entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(std::move(value));
  };
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  set("location", data_name_);
  set("offset", absl::StrCat(data_->size()));
  set("length", absl::StrCat(bytes.size()));
  data_->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::string OnnxGraphWriter::Ints(const std::vector<int64_t>& values) {
  return Constant({DType::kI64, {static_cast<int64_t>(values.size())}},
                  *FromInts(DType::kI64, values));
}

std::string OnnxGraphWriter::Int(int64_t value) {
  return Constant({DType::kI64, {}}, *FromInts(DType::kI64, {value}));
}

std::string OnnxGraphWriter::Scalar(DType dtype, double value) {
  return Constant({dtype, {}}, *FromDoubles(dtype, {value}));
}

absl::Status OnnxGraphWriter::WriteInterface() {
  for (ValueId input : graph_.inputs) {
    onnx::ValueInfoProto* info = to_->add_input();
    info->set_name(names_[input]);
    SetType(graph_.value(input).type, info);
  }
  for (const GraphInputDefault& value : graph_.input_defaults) {
    const ValueId input = graph_.inputs[value.input];
    onnx::TensorProto* tensor = to_->add_initializer();
    tensor->set_name(names_[input]);
    SetConstant(graph_.value(input).type, *value.data, tensor);
  }
  // What nodes have written in another shape, nobody reads.
  std::set<std::string> read;
  AddReads(*to_, read);
  for (ValueId output : graph_.outputs) read.insert(names_[output]);
  for (size_t v = 0; v < graph_.values.size(); ++v) {
    const GraphValue& value = graph_.values[v];
    if (value.data == nullptr || read.count(names_[v]) == 0) continue;
    onnx::TensorProto* tensor = to_->add_initializer();
    tensor->set_name(names_[v]);
    SetConstant(value.type, *value.data, tensor);
  }
  std::set<std::string> written;
  for (ValueId output : graph_.outputs) {
    std::string name = names_[output];
    if (graph_.value(output).producer < 0 || written.count(name) > 0) {
      name = FreshName(absl::StrCat(graph_.value(output).name, "_output"));
      Add("Identity", {names_[output]}, {name});
    }
    written.insert(name);
    onnx::ValueInfoProto* info = to_->add_output();
    info->set_name(name);
    SetType(graph_.value(output).type, info);
  }
  return absl::OkStatus();
}

void OnnxGraphWriter::SetInt(onnx::NodeProto* node, const std::string& name, int64_t value) {
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(value);
}

void OnnxGraphWriter::SetInts(onnx::NodeProto* node, const std::string& name,
                              const std::vector<int64_t>& values) {
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INTS);
  for (int64_t value : values) attribute->add_ints(value);
}

void OnnxGraphWriter::SetFloat(onnx::NodeProto* node, const std::string& name, double value) {
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::FLOAT);
  attribute->set_f(static_cast<float>(value));
}

void OnnxGraphWriter::SetString(onnx::NodeProto* node, const std::string& name,
                                const std::string& value) {
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::STRING);
  attribute->set_s(value);
}

namespace {

// `data`: for constants that shall lie beside the model; null: none do.
absl::StatusOr<std::string> Export(const Graph& graph, const std::string& data_name,
                                   std::string* data) {
  onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("burnish");
  onnx::OperatorSetIdProto* opset = model.add_opset_import();
  opset->set_domain("");
  opset->set_version(kExportedOnnxOpset);
  onnx::GraphProto* to = model.mutable_graph();
  to->set_name(graph.name.empty() ? "graph" : graph.name);
  OnnxGraphWriter writer(graph, to);
  if (data != nullptr) writer.PutLargeConstants(data_name, data);
  for (const GraphNode& node : graph.nodes) RETURN_IF_ERROR(ExportNode(writer, node));
  RETURN_IF_ERROR(writer.WriteInterface());
  if (model.ByteSizeLong() > INT32_MAX) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the model takes ", model.ByteSizeLong(), " bytes, a message at most 2 GiB"));
  }
  return model.SerializeAsString();
}

}  // namespace

absl::StatusOr<std::string> ExportOnnx(const Graph& graph) {
  return Export(graph, "", /*data=*/nullptr);
}

absl::StatusOr<OnnxFiles> ExportOnnxFiles(const Graph& graph, const std::string& data_name,
                                          int64_t inside_max) {
  OnnxFiles files;
  const bool fits = ConstantBytes(graph) <= inside_max;
  ASSIGN_OR_RETURN(files.model, Export(graph, data_name, fits ? nullptr : &files.data));
  return files;
}

Graph Subgraph(const Graph& graph, const FusedGroup& group) {
  Graph part;
  part.name = graph.nodes[group.nodes.front()].name;
  std::map<ValueId, ValueId> ids;
  for (ValueId input : group.inputs) {
    const GraphValue& value = graph.value(input);
    // Positions make the names unique: those of inner values need not be.
    const std::string name = absl::StrCat("in", ids.size(), ".", value.name);
    ids[input] = value.data != nullptr ? AddConstant(part, name, value.type, value.data)
                                       : AddInput(part, name, value.type);
  }
  for (GraphNodeId n : group.nodes) {
    GraphNode node = graph.nodes[n];
    for (ValueId& input : node.inputs) input = ids.at(input);
    for (ValueId& output : node.outputs) {
      const GraphValue& value = graph.value(output);
      const ValueId id = AddValue(part, value.name, value.type);
      part.values[id].producer = static_cast<GraphNodeId>(part.nodes.size());
      ids[output] = id;
      output = id;
    }
    part.nodes.push_back(std::move(node));
  }
  for (size_t i = 0; i < group.outputs.size(); ++i) {
    const ValueId id = ids.at(group.outputs[i]);
    part.values[id].name = absl::StrCat("out", i, ".", part.value(id).name);
    part.outputs.push_back(id);
  }
  return part;
}

}  // namespace burnish
