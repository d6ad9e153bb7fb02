#include "compiler/frontend/model_graph_import.h"

#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "compiler/frontend/element_count.h"
#include "compiler/frontend/named_outputs.h"
#include "compiler/graph/eliminate_dead_pass.h"
#include "compiler/te/operator.h"
#include "google/protobuf/util/json_util.h"
#include "proto/model_graph.pb.h"

namespace burnish {
namespace {

constexpr absl::string_view kMagic = "BURNGRPH";
constexpr size_t kHeadBytes = 16;  // The magic and the size of the JSON.
// A node with its names takes some 300 bytes of JSON: a hundred thousand of them, and more.
constexpr uint64_t kJsonBytesMax = 64 << 20;
// Of an integer of an attribute: extents, pads, axes. Operators add and multiply them with extents
// of tensors, which have 2^34 elements at most.
constexpr int64_t kIntegerMax = int64_t{1} << 28;

absl::StatusOr<ModelGraph> ParseHeader(absl::string_view bytes, size_t& data_begin) {
  uint64_t json_bytes = 0;
  if (bytes.size() >= kHeadBytes) {
    std::memcpy(&json_bytes, bytes.data() + kMagic.size(), sizeof(json_bytes));
  }
  if (bytes.size() < kHeadBytes || json_bytes > bytes.size() - kHeadBytes) {
    return absl::InvalidArgumentError("the model graph is truncated");
  }
  if (json_bytes > kJsonBytesMax) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the model graph has ", json_bytes, " bytes of JSON, the limit is ", kJsonBytesMax));
  }
  ModelGraph model;
  const std::string json(bytes.substr(kHeadBytes, json_bytes));
  // Unknown fields are errors: a misspelt one would else be silently the default.
  const auto parsed = google::protobuf::util::JsonStringToMessage(json, &model);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model graph's JSON: ", std::string(parsed.message())));
  }
  if (model.format() < 1 || model.format() > kNewestModelGraphFormat) {
    return absl::UnimplementedError(absl::StrCat("got model graph format ", model.format(),
                                                 ", want 1 to ", kNewestModelGraphFormat,
                                                 "; a newer program reads it"));
  }
  data_begin = kHeadBytes + json_bytes;
  return model;
}

// ONNX's translators have made axes, ends and pads of any size proper ones; here they come as they
// are.
absl::Status CheckIntegers(const Attributes& attributes) {
  for (const auto& [name, value] : attributes.values()) {
    std::vector<int64_t> integers;
    if (const auto* one = std::get_if<int64_t>(&value)) integers = {*one};
    if (const auto* many = std::get_if<std::vector<int64_t>>(&value)) integers = *many;
    for (const int64_t integer : integers) {
      if (integer >= -kIntegerMax && integer <= kIntegerMax) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("attribute '", name, "': got ", integer, ", want -2^28 to 2^28"));
    }
  }
  return absl::OkStatus();
}

Attributes ReadAttributes(const ModelGraph::Node& node) {
  Attributes attributes;
  for (const auto& [name, attribute] : node.attributes()) {
    switch (attribute.value_case()) {
      case ModelGraph::Attribute::kI:
        attributes.Set(name, attribute.i());
        break;
      case ModelGraph::Attribute::kF:
        attributes.Set(name, attribute.f());
        break;
      case ModelGraph::Attribute::kS:
        attributes.Set(name, attribute.s());
        break;
      case ModelGraph::Attribute::kInts:
        attributes.Set(name, std::vector<int64_t>(attribute.ints().values().begin(),
                                                  attribute.ints().values().end()));
        break;
      case ModelGraph::Attribute::kFloats:
        attributes.Set(name, std::vector<double>(attribute.floats().values().begin(),
                                                 attribute.floats().values().end()));
        break;
      case ModelGraph::Attribute::VALUE_NOT_SET:
        break;  // As if it were not there.
    }
  }
  return attributes;
}

// Runs the operator's own functions and asks what they read: they are the list of its attributes.
// Results of over `max_elements` are refused before: a definition may hold tables as long as an
// axis.
absl::Status CheckAttributes(const OperatorDef& op, Attributes attributes,
                             absl::Span<const TensorType> types, int64_t max_elements) {
  RETURN_IF_ERROR(CheckIntegers(attributes));
  AttributeReads reads;
  attributes.LogReads(&reads);
  const auto mistyped = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute '", reads.mistyped, "' has another type than the operator wants"));
  };
  const absl::StatusOr<std::vector<TensorType>> results = op.infer(attributes, types);
  // First: the operator's complaint is about the default that it got instead.
  if (!reads.mistyped.empty()) return mistyped();
  RETURN_IF_ERROR(results.status());
  for (const TensorType& result : *results) {
    RETURN_IF_ERROR(CheckedElementCount(result.shape, max_elements, "a result").status());
  }
  if (op.fusion != FusionKind::kHost) {
    TeBuilder te("attributes");
    std::vector<Tensor> inputs;
    for (const TensorType& type : types) {
      inputs.push_back(te.Parameter("x", type, BufferRole::kInput));
    }
    op.define(te, attributes, inputs);
  }
  // Read by the layout pass, and by the definition only where it makes a difference.
  if (op.layout == LayoutRule::kByChannel || op.layout == LayoutRule::kChannelsLast) {
    attributes.Int("channels_last", 0);
  }
  if (!reads.mistyped.empty()) return mistyped();
  for (const auto& [name, value] : attributes.values()) {
    if (reads.names.count(name) > 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "got attribute '", name, "', want one of: ", absl::StrJoin(reads.names, ", ")));
  }
  return absl::OkStatus();
}

class ModelGraphImporter {
 public:
  ModelGraphImporter(std::shared_ptr<const void> owner, absl::Span<const uint8_t> data,
                     const ImportOptions& options)
      : owner_(std::move(owner)), data_(data), options_(options) {}

  absl::StatusOr<Graph> Import(const ModelGraph& model) {
    if (model.nodes_size() > options_.max_nodes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the model has over ", options_.max_nodes, " nodes (the limit)"));
    }
    graph_.name = model.name();
    for (const ModelGraph::Input& input : model.inputs()) RETURN_IF_ERROR(AddInputOf(input));
    RETURN_IF_ERROR(CheckShapes());
    for (const ModelGraph::Constant& constant : model.constants()) {
      RETURN_IF_ERROR(AddConstantOf(constant));
    }
    for (const ModelGraph::Node& node : model.nodes()) RETURN_IF_ERROR(AddNodeOf(node));
    std::vector<NamedOutput> outputs;
    for (const ModelGraph::Output& output : model.outputs()) {
      ASSIGN_OR_RETURN(const ValueId id, Find(output.value(), "an output"));
      outputs.push_back({output.name().empty() ? output.value() : output.name(), id});
    }
    RETURN_IF_ERROR(SetNamedOutputs(graph_, outputs));
    EliminateDead(graph_);
    RETURN_IF_ERROR(VerifyGraph(graph_));
    return std::move(graph_);
  }

 private:
  absl::StatusOr<ValueId> Find(const std::string& name, absl::string_view reader) const {
    const auto found = values_.find(name);
    if (found != values_.end()) return found->second;
    return absl::InvalidArgumentError(
        absl::StrCat(reader, " reads '", name, "', which nothing before it writes"));
  }

  absl::Status Define(const std::string& name, ValueId id) {
    if (name.empty()) return absl::InvalidArgumentError("a value has no name");
    if (values_.emplace(name, id).second) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("two values are named '", name, "'"));
  }

  // Of an input or a constant.
  template <typename Message>
  absl::StatusOr<TensorType> TypeOf(const Message& message, const std::string& what) const {
    TensorType type;
    if (!ParseDType(message.dtype(), &type.dtype)) {
      return absl::UnimplementedError(absl::StrCat(
          what, ": got element type '", message.dtype(),
          "', want one of f32, f64, bf16, f16, i64, i32, i16, i8, u64, u32, u16, u8, bool"));
    }
    type.shape.assign(message.shape().begin(), message.shape().end());
    for (const int64_t extent : type.shape) {
      if (extent < 1) {
        return absl::InvalidArgumentError(absl::StrCat(what, ": a dimension is ", extent));
      }
    }
    RETURN_IF_ERROR(CheckedElementCount(type.shape, options_.max_tensor_elements, what).status());
    return type;
  }

  absl::Status AddInputOf(const ModelGraph::Input& input) {
    ASSIGN_OR_RETURN(TensorType type, TypeOf(input, absl::StrCat("input '", input.name(), "'")));
    return Define(input.name(), AddInput(graph_, input.name(), std::move(type)));
  }

  // Every shape is known, so one that is given can only say the same.
  absl::Status CheckShapes() const {
    if (!options_.dims.empty()) {
      return absl::OutOfRangeError(absl::StrCat("--dim ", options_.dims.begin()->first,
                                                ": a model graph's dimensions are all fixed"));
    }
    if (!options_.input_values.empty()) {
      return absl::OutOfRangeError(absl::StrCat("--value ", options_.input_values.begin()->first,
                                                ": a model graph has its values as constants"));
    }
    for (const auto& [name, shape] : options_.input_shapes) {
      bool fits = false;
      for (const ValueId id : graph_.inputs) {
        const GraphValue& input = graph_.value(id);
        fits = fits || (input.name == name && input.type.shape == shape);
      }
      if (fits) continue;
      return absl::OutOfRangeError(absl::StrCat(
          "--shape ", name, "=", absl::StrJoin(shape, "x"),
          ": the model has no such input; its inputs are: ",
          absl::StrJoin(graph_.inputs, ", ", [&](std::string* out, ValueId id) {
            const GraphValue& input = graph_.value(id);
            absl::StrAppend(out, input.name, "=", absl::StrJoin(input.type.shape, "x"));
          })));
    }
    return absl::OkStatus();
  }

  absl::Status AddConstantOf(const ModelGraph::Constant& constant) {
    const std::string what = absl::StrCat("constant '", constant.name(), "'");
    ASSIGN_OR_RETURN(TensorType type, TypeOf(constant, what));
    const auto size = static_cast<uint64_t>(ElementCount(type.shape) * SizeBytes(type.dtype));
    const uint64_t offset = constant.offset_bytes();
    if (offset > data_.size() || size > data_.size() - offset) {
      return absl::InvalidArgumentError(absl::StrCat(what, ": got offset ", offset, " and ", size,
                                                     " bytes, the data has ", data_.size()));
    }
    ASSIGN_OR_RETURN(const ConstantPtr data, DataAt(offset, size, type.dtype));
    return Define(constant.name(),
                  AddConstant(graph_, constant.name(), std::move(type), std::move(data)));
  }

  // One object for all constants with the same bytes: passes know tied weights by that.
  absl::StatusOr<ConstantPtr> DataAt(uint64_t offset, uint64_t size, DType dtype) {
    ConstantPtr& data = constants_[{offset, size, dtype == DType::kBool}];
    if (data != nullptr) return data;
    constant_bytes_ += static_cast<int64_t>(size);
    if (constant_bytes_ > options_.max_constant_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("constants take over ", options_.max_constant_bytes, " bytes (the limit)"));
    }
    const absl::Span<const uint8_t> bytes = data_.subspan(offset, size);
    if (dtype != DType::kBool) {
      data = std::make_shared<ConstantData>(owner_, bytes);
      return data;
    }
    std::vector<uint8_t> bits(bytes.begin(),
                              bytes.end());  // Any byte but 0 is true; keep 1 for it.
    for (uint8_t& bit : bits) bit = bit != 0;
    data = MakeConstant(std::move(bits));
    return data;
  }

  absl::Status AddNodeOf(const ModelGraph::Node& node) {
    const std::string& name =
        !node.name().empty() || node.outputs().empty() ? node.name() : node.outputs(0);
    const std::string label = absl::StrCat("node '", name, "' (", node.op(), ")");
    const auto labelled = [&](const absl::Status& status) {
      return absl::Status(status.code(), absl::StrCat(label, ": ", status.message()));
    };
    const OperatorDef* op = FindOperator(node.op());
    if (op == nullptr) return absl::UnimplementedError(absl::StrCat(label, ": no such operator"));
    std::vector<ValueId> inputs;
    std::vector<TensorType> types;
    for (const std::string& input : node.inputs()) {
      ASSIGN_OR_RETURN(inputs.emplace_back(), Find(input, label));
      types.push_back(graph_.value(inputs.back()).type);
    }
    Attributes attributes = ReadAttributes(node);
    if (const absl::Status status =
            CheckAttributes(*op, attributes, types, options_.max_tensor_elements);
        !status.ok()) {
      return labelled(status);
    }
    ASSIGN_OR_RETURN(const GraphNodeId id,
                     AddNode(graph_, node.op(), std::move(inputs), std::move(attributes), name));
    const std::vector<ValueId>& results = graph_.nodes[id].outputs;
    if (node.outputs_size() != static_cast<int>(results.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat(label, ": got ", node.outputs_size(), " outputs, want ", results.size()));
    }
    for (size_t i = 0; i < results.size(); ++i) {
      GraphValue& value = graph_.values[results[i]];
      value.name = node.outputs(static_cast<int>(i));
      RETURN_IF_ERROR(Define(value.name, results[i]));
    }
    return absl::OkStatus();
  }

  const std::shared_ptr<const void> owner_;
  const absl::Span<const uint8_t> data_;
  const ImportOptions& options_;
  Graph graph_;
  std::unordered_map<std::string, ValueId> values_;
  std::map<std::tuple<uint64_t, uint64_t, bool>, ConstantPtr> constants_;
  int64_t constant_bytes_ = 0;
};

}  // namespace

bool IsModelGraph(absl::string_view bytes) { return bytes.substr(0, kMagic.size()) == kMagic; }

absl::StatusOr<Graph> ImportModelGraph(std::shared_ptr<const void> owner,
                                       absl::Span<const uint8_t> bytes,
                                       const ImportOptions& options) {
  const absl::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!IsModelGraph(text)) return absl::InvalidArgumentError("not a model graph");
  size_t data_begin = 0;
  ASSIGN_OR_RETURN(const ModelGraph model, ParseHeader(text, data_begin));
  return ModelGraphImporter(std::move(owner), bytes.subspan(data_begin), options).Import(model);
}

}  // namespace burnish
