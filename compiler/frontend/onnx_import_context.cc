#include "compiler/frontend/onnx_import_context.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "compiler/graph/control.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/graph_interpreter.h"
#include "third_party/onnx.pb.h"

namespace burnish {
namespace {

using onnx::AttributeProto;

// Up to this size a node over constants is computed at import; larger ones are left to the
// fold_constants pass. Shape arithmetic is far smaller.
// Folding here is for the shapes and axes that exporters compute by nodes: a translator must know
// them to go on. A guess, not tuned.
constexpr int64_t kMaxFoldedElements = 1 << 16;
// What has no fast path is interpreted: shape arithmetic is of a few numbers. Microseconds each.
constexpr int64_t kMaxInterpretedElements = 1 << 10;
constexpr int64_t kMaxInterpretedFlops = 1 << 16;

// By the operator's definition; nullopt for what is large, or not defined (a division by 0).
std::optional<std::vector<ConstantPtr>> Interpreted(const Graph& graph, const GraphNode& node,
                                                    const std::vector<TypedConstant>& inputs,
                                                    const std::vector<TensorType>& types) {
  std::vector<TensorValue> values;
  std::vector<TensorType> given;
  int64_t count = 0;
  for (const TensorType& type : types) count += ElementCount(type.shape);
  for (const TypedConstant& input : inputs) {
    if (ElementCount(input.type->shape) > kMaxInterpretedElements) return std::nullopt;
    values.push_back(ToTensorValue(*input.type, *input.data));
    given.push_back(*input.type);
  }
  if (inputs.empty() || count > kMaxInterpretedElements ||
      OperatorOf(node.op).flop_count(node.attributes, given) > kMaxInterpretedFlops) {
    return std::nullopt;
  }
  GraphNode with_outputs = node;  // That the graph has not yet.
  with_outputs.outputs.assign(types.size(), -1);
  const absl::StatusOr<std::vector<TensorValue>> results =
      InterpretNode(graph, with_outputs, values);
  if (!results.ok()) return std::nullopt;
  std::vector<ConstantPtr> constants;
  for (const TensorValue& result : *results) constants.push_back(FromTensorValue(result));
  return constants;
}

}  // namespace

absl::StatusOr<ValueId> ImportContext::AddConstantValue(absl::string_view name, TensorType type,
                                                        ConstantPtr data) {
  constant_bytes += static_cast<int64_t>(data->bytes().size());
  // The sum over the whole model: many constants of a legal size each fill the memory as well.
  if (constant_bytes > options->max_constant_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "constants take over ", options->max_constant_bytes, " bytes (the limit) at '", name, "'"));
  }
  return AddConstant(graph, name, std::move(type), std::move(data));
}

OnnxNode::OnnxNode(ImportContext* context, const onnx::NodeProto& proto,
                   std::vector<ValueId> inputs, std::vector<bool> used)
    : context_(context),
      proto_(&proto),
      type_(proto.op_type()),
      inputs_(std::move(inputs)),
      used_(std::move(used)),
      outputs_(proto.output_size(), -1) {}

namespace {

const std::set<std::string>& MoversOfFewBits() {
  static const auto& names = *new std::set<std::string>{"Flatten", "Identity",  "Reshape",
                                                        "Squeeze", "Transpose", "Unsqueeze"};
  return names;
}

}  // namespace

int OnnxNode::FewBitsOf(ValueId id) const {
  const auto found = context_->few_bits.find(id);
  return found == context_->few_bits.end() ? 0 : found->second;
}

std::string OnnxNode::TypeTextOf(ValueId id) const {
  const TensorType& type = TypeOf(id);
  return absl::StrCat(FewBitsName(type.dtype, FewBitsOf(id)), "[", absl::StrJoin(type.shape, ","),
                      "]");
}

absl::Status OnnxNode::CheckFewBits() const {
  const bool takes = type_ == "DequantizeLinear" || type_ == "QuantizeLinear" || type_ == "Cast" ||
                     type_ == "Shape" || type_ == "Size" || MoversOfFewBits().contains(type_);
  for (size_t i = 0; i < inputs_.size() && !takes; ++i) {
    if (inputs_[i] < 0 || FewBitsOf(inputs_[i]) == 0) continue;
    return Unsupported(absl::StrCat("input ", i, ": got ", TypeTextOf(inputs_[i]),
                                    ", want DequantizeLinear in front, or 8 bits"));
  }
  return absl::OkStatus();
}

void OnnxNode::CarryFewBits() {
  if (!MoversOfFewBits().contains(type_) || !HasInput(0) || outputs_.empty()) return;
  if (outputs_[0] >= 0) SetFewBits(outputs_[0], FewBitsOf(inputs_[0]));
}

bool OnnxNode::is_microsoft() const { return proto_->domain() == "com.microsoft"; }

const AttributeProto* OnnxNode::Find(absl::string_view name) const {
  for (const AttributeProto& attribute : proto_->attribute()) {
    if (absl::string_view(attribute.name()) == name) return &attribute;
  }
  return nullptr;
}

int64_t OnnxNode::Int(absl::string_view name, int64_t fallback) {
  const AttributeProto* attribute = Find(name);
  if (attribute == nullptr) return fallback;
  if (attribute->type() != AttributeProto::INT) {
    // Asked for when the node is done: translators read attributes as plain values.
    status_.Update(Invalid(absl::StrCat("attribute ", name, " is no integer")));
    return fallback;
  }
  return attribute->i();
}

double OnnxNode::Float(absl::string_view name, double fallback) {
  const AttributeProto* attribute = Find(name);
  if (attribute == nullptr) return fallback;
  if (attribute->type() != AttributeProto::FLOAT) {
    status_.Update(Invalid(absl::StrCat("attribute ", name, " is no float")));
    return fallback;
  }
  return attribute->f();
}

std::string OnnxNode::String(absl::string_view name, std::string fallback) {
  const AttributeProto* attribute = Find(name);
  if (attribute == nullptr) return fallback;
  if (attribute->type() != AttributeProto::STRING) {
    status_.Update(Invalid(absl::StrCat("attribute ", name, " is no string")));
    return fallback;
  }
  return attribute->s();
}

std::vector<int64_t> OnnxNode::Ints(absl::string_view name, std::vector<int64_t> fallback) {
  const AttributeProto* attribute = Find(name);
  if (attribute == nullptr) return fallback;
  if (attribute->type() != AttributeProto::INTS) {
    status_.Update(Invalid(absl::StrCat("attribute ", name, " is no list of integers")));
    return fallback;
  }
  return {attribute->ints().begin(), attribute->ints().end()};
}

std::vector<double> OnnxNode::Floats(absl::string_view name, std::vector<double> fallback) {
  const AttributeProto* attribute = Find(name);
  if (attribute == nullptr) return fallback;
  if (attribute->type() != AttributeProto::FLOATS) {
    status_.Update(Invalid(absl::StrCat("attribute ", name, " is no list of floats")));
    return fallback;
  }
  return {attribute->floats().begin(), attribute->floats().end()};
}

absl::StatusOr<std::vector<std::string>> OnnxNode::Strings(absl::string_view name) const {
  const AttributeProto* attribute = Find(name);
  if (attribute == nullptr) return std::vector<std::string>();
  if (attribute->type() != AttributeProto::STRINGS) {
    return Invalid(absl::StrCat("attribute ", name, " is no list of strings"));
  }
  return std::vector<std::string>(attribute->strings().begin(), attribute->strings().end());
}

absl::StatusOr<ValueId> OnnxNode::Input(int i) const {
  if (HasInput(i)) return inputs_[i];
  return Invalid(absl::StrCat("input ", i, " is missing"));
}

absl::StatusOr<std::vector<int64_t>> OnnxNode::ConstantInts(int i, absl::string_view what) const {
  ASSIGN_OR_RETURN(const ValueId id, Input(i));
  const GraphValue& value = context_->graph.value(id);
  if (value.data == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        Label(), ": ", what, " (input ", i,
        ") must be known when the model is read, but depends on the model's input values"));
  }
  if (IsFloat(value.type.dtype)) return Invalid(absl::StrCat(what, " must be integers"));
  return ToInts(value.type, *value.data);
}

absl::StatusOr<std::vector<double>> OnnxNode::ConstantFloats(int i, absl::string_view what) const {
  ASSIGN_OR_RETURN(const ValueId id, Input(i));
  const GraphValue& value = context_->graph.value(id);
  if (value.data == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        Label(), ": ", what, " (input ", i,
        ") must be known when the model is read, but depends on the model's input values"));
  }
  return ToDoubles(value.type, *value.data);
}

std::optional<std::vector<ConstantPtr>> OnnxNode::TryFold(const GraphNode& node,
                                                          const std::vector<TensorType>& types) {
  // Quantized weights stay as they are for compiler/graph/fold_quantization_pass.
  if (node.op == "dequantize") return std::nullopt;
  std::vector<TypedConstant> inputs;
  for (ValueId input : node.inputs) {
    const GraphValue& value = context_->graph.value(input);
    if (value.data == nullptr) return std::nullopt;
    inputs.push_back({.type = &value.type, .data = value.data});
  }
  int64_t bytes = 0;
  const bool shares = EvaluatesWithoutCopy(node);
  for (const TensorType& type : types) {
    const int64_t count = ElementCount(type.shape);
    if (!shares && count > kMaxFoldedElements) return std::nullopt;
    if (!shares) bytes += count * SizeBytes(type.dtype);
  }
  // A reduction or a slice of a large constant costs its input's size.
  for (const TypedConstant& input : inputs) {
    const auto size = static_cast<int64_t>(input.data->bytes().size());
    // Bytes: 8 is the greatest size of an element.
    if (!shares && size > 8 * kMaxFoldedElements) return std::nullopt;
  }
  context_->folded_bytes += bytes;
  // A hostile model can grow constants by tiling and expanding them again and again. Beyond the
  // limit nodes stay nodes.
  if (context_->folded_bytes > context_->options->max_folded_bytes) return std::nullopt;
  if (auto folded = Evaluate(node, inputs, types)) return folded;
  return Interpreted(context_->graph, node, inputs, types);
}

absl::StatusOr<std::vector<ValueId>> OnnxNode::EmitAll(absl::string_view op,
                                                       std::vector<ValueId> inputs,
                                                       Attributes attributes) {
  if (std::any_of(inputs.begin(), inputs.end(), [this](ValueId input) { return IsEmpty(input); })) {
    return EmitOfNothing(op, std::move(inputs), std::move(attributes));
  }
  const bool is_bounded =
      std::any_of(inputs.begin(), inputs.end(), [this](ValueId input) { return IsBounded(input); });
  if (is_bounded) return EmitBounded(op, std::move(inputs), std::move(attributes));
  if (context_->bounded.terms.empty()) {
    return EmitPlain(op, std::move(inputs), std::move(attributes));
  }
  const GraphNode node{.name = Name(),
                       .op = FindOpId(op).value(),
                       .attributes = attributes,
                       .inputs = inputs,
                       .outputs = {}};
  ASSIGN_OR_RETURN(std::vector<ValueId> results,
                   EmitPlain(op, std::move(inputs), std::move(attributes)));
  if (results.size() == 1) RETURN_IF_ERROR(CarryTerms(node, results[0]));
  return KnownTerms(std::move(results));
}

// Host operators have no kernels of 16-bit floats, all of which are f32 as well.
absl::StatusOr<std::vector<ValueId>> OnnxNode::EmitInF32(absl::string_view op,
                                                         std::vector<ValueId> inputs,
                                                         Attributes attributes) {
  const auto cast = [this](ValueId id, DType dtype) -> absl::StatusOr<ValueId> {
    Attributes to;
    to.Set("to", std::string(DTypeName(dtype)));
    ASSIGN_OR_RETURN(const std::vector<ValueId> results, EmitPlain("cast", {id}, std::move(to)));
    return results[0];
  };
  DType stored = DType::kF32;
  for (ValueId& input : inputs) {
    const DType dtype = TypeOf(input).dtype;
    if (!IsStorageFloat(dtype)) continue;
    stored = dtype;
    ASSIGN_OR_RETURN(input, cast(input, DType::kF32));
  }
  ASSIGN_OR_RETURN(std::vector<ValueId> results,
                   EmitPlain(op, std::move(inputs), std::move(attributes)));
  for (ValueId& result : results) {
    if (TypeOf(result).dtype != DType::kF32) continue;
    ASSIGN_OR_RETURN(result, cast(result, stored));
  }
  return results;
}

// What is the same in every run is a constant.
absl::StatusOr<std::vector<ValueId>> OnnxNode::KnownTerms(std::vector<ValueId> results) {
  const auto found = context_->bounded.terms.find(results[0]);
  if (results.size() != 1 || found == context_->bounded.terms.end()) return results;
  std::vector<int64_t> numbers;
  for (const SizeTerm& term : found->second) {
    if (!term.IsNumber()) return results;
    numbers.push_back(term.number());
  }
  const TensorType type = TypeOf(results[0]);
  context_->bounded.terms.erase(found);
  ASSIGN_OR_RETURN(results[0], EmitConstant(type, FromInts(type.dtype, numbers)));
  return results;
}

absl::StatusOr<std::vector<ValueId>> OnnxNode::EmitPlain(absl::string_view op,
                                                         std::vector<ValueId> inputs,
                                                         Attributes attributes) {
  Graph& graph = context_->graph;
  const OperatorDef* def = FindOperator(op);
  if (def == nullptr) return Unsupported(absl::StrCat("operator '", op, "' is not in the library"));
  GraphNode node;
  node.op = def->id;
  node.attributes = std::move(attributes);
  node.inputs = std::move(inputs);
  for (const ValueId input : node.inputs) {
    // The id of merged axes: no rule for them here.
    if (input < 0) return Unsupported("takes no product of dimensions that only a run knows");
    if (IsEmpty(input))
      return EmitOfNothing(op, std::move(node.inputs), std::move(node.attributes));
    if (def->fusion == FusionKind::kHost && IsStorageFloat(TypeOf(input).dtype)) {
      return EmitInF32(op, std::move(node.inputs), std::move(node.attributes));
    }
  }
  absl::StatusOr<std::vector<TensorType>> types =
      def->infer(node.attributes, InputTypes(graph, node));
  if (!types.ok()) return Annotate(types.status());
  std::vector<ValueId> nothing;
  for (const TensorType& type : *types) {
    ASSIGN_OR_RETURN(
        const int64_t count,
        CheckedElementCount(type.shape, context_->options->max_tensor_elements, Label()));
    if (type.shape.size() > kImportRankMax) {
      return Unsupported(absl::StrCat("a tensor of ", type.shape.size(), " dimensions, want ",
                                      kImportRankMax, " at most"));
    }
    if (count > 0) continue;
    ASSIGN_OR_RETURN(nothing.emplace_back(), EmitEmpty(type));
  }
  if (nothing.size() == types->size()) return nothing;
  if (!nothing.empty()) return Unsupported("a result is an empty tensor beside one that is none");
  if (std::optional<std::vector<ConstantPtr>> folded = TryFold(node, *types)) {
    std::vector<ValueId> ids;
    for (size_t i = 0; i < folded->size(); ++i) {
      ASSIGN_OR_RETURN(const ValueId id, EmitConstant((*types)[i], (*folded)[i]));
      ids.push_back(id);
    }
    return ids;
  }
  const auto id = static_cast<GraphNodeId>(graph.nodes.size());
  node.name = proto_->name().empty() ? proto_->output(0) : proto_->name();
  for (TensorType& type : *types) {
    const ValueId output = AddValue(graph, node.name, std::move(type));
    graph.values[output].producer = id;
    node.outputs.push_back(output);
  }
  graph.nodes.push_back(std::move(node));
  return graph.nodes.back().outputs;
}

absl::StatusOr<std::vector<ValueId>> OnnxNode::EmitControl(GraphNode node) {
  for (const ValueId input : node.inputs) {
    if (input < 0) return Unsupported("takes no product of dimensions that only a run knows");
  }
  const absl::StatusOr<std::vector<TensorType>> types =
      InferControl(node, InputTypes(context_->graph, node));
  // ONNX lets branches give other types than one another.
  if (!types.ok() && node.op == "if") return Unsupported(types.status().message());
  if (!types.ok()) return Annotate(types.status());
  for (const TensorType& type : *types) {
    ASSIGN_OR_RETURN(
        const int64_t count,
        CheckedElementCount(type.shape, context_->options->max_tensor_elements, Label()));
    if (count == 0) return Unsupported("the result is an empty tensor (a dimension is 0)");
  }
  ASSIGN_OR_RETURN(const GraphNodeId id, AddControlNode(context_->graph, std::move(node)));
  return context_->graph.nodes[id].outputs;
}

absl::StatusOr<ValueId> OnnxNode::Emit(absl::string_view op, std::vector<ValueId> inputs,
                                       Attributes attributes) {
  ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                   EmitAll(op, std::move(inputs), std::move(attributes)));
  CHECK_EQ(outputs.size(), 1u) << op;
  return outputs[0];
}

absl::StatusOr<ValueId> OnnxNode::EmitReshape(ValueId x, std::vector<int64_t> shape) {
  if (TypeOf(x).shape == shape) return x;
  Attributes attributes;
  attributes.Set("shape", std::move(shape));
  return Emit("reshape", {x}, std::move(attributes));
}

absl::StatusOr<ValueId> OnnxNode::EmitConstant(TensorType type, ConstantPtr data) {
  return context_->AddConstantValue(proto_->output_size() > 0 ? proto_->output(0) : type_,
                                    std::move(type), std::move(data));
}

absl::StatusOr<ValueId> OnnxNode::EmitScalar(DType dtype, double value) {
  return EmitConstant({dtype, {}}, FromDoubles(dtype, {value}));
}

absl::Status OnnxNode::Finish(absl::string_view op, std::vector<ValueId> inputs,
                              Attributes attributes) {
  ASSIGN_OR_RETURN(const ValueId id, Emit(op, std::move(inputs), std::move(attributes)));
  SetOutput(0, id);
  return absl::OkStatus();
}

std::string OnnxNode::Name() const {
  const std::string& name = proto_->name();
  return name.empty() && proto_->output_size() > 0 ? proto_->output(0) : name;
}

std::string OnnxNode::Label() const { return absl::StrCat("node '", Name(), "' (", type_, ")"); }

absl::Status OnnxNode::Invalid(absl::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat(Label(), ": ", what));
}

absl::Status OnnxNode::Unsupported(absl::string_view what) const {
  return absl::UnimplementedError(absl::StrCat(Label(), ": ", what));
}

absl::Status OnnxNode::Annotate(const absl::Status& status) const {
  return absl::Status(status.code(), absl::StrCat(Label(), ": ", status.message()));
}

std::string OnnxOperatorName(const onnx::NodeProto& node) {
  const bool standard = node.domain().empty() || node.domain() == "ai.onnx";
  return standard ? node.op_type() : absl::StrCat(node.domain(), ".", node.op_type());
}

const OnnxTranslators& AllOnnxTranslators() {
  static const OnnxTranslators& translators = *[] {
    auto* all = new OnnxTranslators;
    AddArithmeticTranslators(*all);
    AddConvolutionTranslators(*all);
    AddMatmulTranslators(*all);
    AddNormalizationTranslators(*all);
    AddRecurrentTranslators(*all);
    AddReductionTranslators(*all);
    AddShapeTranslators(*all);
    AddSlicingTranslators(*all);
    AddConstantTranslators(*all);
    AddResizeTranslators(*all);
    AddTrigonometryTranslators(*all);
    AddLossTranslators(*all);
    AddGatherTranslators(*all);
    AddGatedTranslators(*all);
    AddAttentionTranslators(*all);
    AddMicrosoftTranslators(*all);
    AddSamplingTranslators(*all);
    AddSignalTranslators(*all);
    AddEinsumTranslators(*all);
    AddHostTranslators(*all);
    AddSelectionTranslators(*all);
    AddBitwiseTranslators(*all);
    AddQuantizedTranslators(*all);
    AddQuantizedMicrosoftTranslators(*all);
    return all;
  }();
  return translators;
}

absl::StatusOr<int64_t> NormalizeAxis(const OnnxNode& node, int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    return node.Invalid(absl::StrCat("axis ", axis, " is out of range for rank ", rank));
  }
  return axis < 0 ? axis + rank : axis;
}

absl::StatusOr<std::vector<int64_t>> NormalizeAxes(const OnnxNode& node, std::vector<int64_t> axes,
                                                   int64_t rank) {
  std::vector<bool> seen(rank, false);
  for (int64_t& axis : axes) {
    ASSIGN_OR_RETURN(axis, NormalizeAxis(node, axis, rank));
    if (seen[axis]) return node.Invalid(absl::StrCat("axis ", axis, " is there twice"));
    seen[axis] = true;
  }
  return axes;
}

}  // namespace burnish
