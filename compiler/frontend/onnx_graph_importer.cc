#include "compiler/frontend/onnx_graph_importer.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "compiler/graph/constant_origin.h"
#include "third_party/onnx.pb.h"

namespace burnish {
namespace {

std::string DimensionText(const onnx::TensorShapeProto::Dimension& dimension) {
  if (dimension.has_dim_value() && dimension.dim_value() > 0) {
    return absl::StrCat(dimension.dim_value());
  }
  return dimension.dim_param().empty() ? "?" : dimension.dim_param();
}

std::string ShapeText(const onnx::TensorShapeProto& shape) {
  return absl::StrJoin(shape.dim(), "x", [](std::string* out, const auto& dimension) {
    absl::StrAppend(out, DimensionText(dimension));
  });
}

// Translators of operators that spread positions over an extent, or cut it into heads and frames.
bool DividesByExtents(const std::string& op) {
  static const auto& ops = *new std::set<std::string>{"AffineGrid",
                                                      "Attention",
                                                      "CausalConvWithState",
                                                      "Col2Im",
                                                      "DFT",
                                                      "DeformConv",
                                                      "FlexAttention",
                                                      "GridSample",
                                                      "MaxUnpool",
                                                      "LinearAttention",
                                                      "RoiAlign",
                                                      "RotaryEmbedding",
                                                      "STFT"};
  return ops.contains(op);
}

}  // namespace

void MissingOperators::Add(const onnx::NodeProto& node) {
  const std::string name = OnnxOperatorName(node);
  const auto [place, is_new] = places.emplace(name, kinds.size());
  if (is_new) {
    const bool named = !node.name().empty() || node.output_size() == 0;
    kinds.push_back(
        {.name = name, .node = named ? node.name() : node.output(0), .place = kinds.size()});
  }
  ++kinds[place->second].count;
}

absl::Status MissingOperators::ToStatus() const {
  std::vector<Kind> missing = kinds;
  std::sort(missing.begin(), missing.end(), [](const auto& a, const auto& b) {
    return a.count != b.count ? a.count > b.count : a.place < b.place;
  });
  constexpr size_t kNamed = 6, kNameBytesMax = 48;  // About three lines of a terminal.
  std::vector<std::string> named;
  std::string all, reason;
  for (const Kind& op : missing) {
    const auto refused = RefusedOnnxOperators().find(op.name);
    // Of the first that has one: whoever mends it will meet the next.
    if (refused != RefusedOnnxOperators().end() && reason.empty()) {
      reason = absl::StrCat("; ", op.name, " ", refused->second);
    }
    absl::StrAppend(&all, op.count, " ", op.name, "\n");
    if (named.size() == kNamed) continue;
    named.push_back(absl::StrCat(op.name.substr(0, kNameBytesMax), " (",
                                 op.count == 1 ? "" : absl::StrCat(op.count, " nodes, first "), "'",
                                 op.node.substr(0, kNameBytesMax), "')"));
  }
  absl::Status status = absl::UnimplementedError(absl::StrCat(
      missing.size() == 1 ? "operator not supported: " : "operators not supported: ",
      absl::StrJoin(named, ", "),
      missing.size() > kNamed ? absl::StrCat(", and ", missing.size() - kNamed, " more") : "",
      reason));
  status.SetPayload(kMissingOperatorsUrl, absl::Cord(all));
  return status;
}

const onnx::FunctionProto* OnnxGraphImporter::FunctionOf(const onnx::NodeProto& node) const {
  const std::string name = OnnxOperatorName(node);
  const auto found = functions_.find(name);
  if (found == functions_.end()) return nullptr;
  const bool standard = name == node.op_type();
  return standard && AllOnnxTranslators().contains(name) ? nullptr : found->second;
}

bool OnnxGraphImporter::IsKnown(const onnx::NodeProto& node) const {
  const std::string name = OnnxOperatorName(node);
  return name == "If" || name == "Loop" || name == "Scan" || AllOnnxTranslators().contains(name) ||
         FunctionOf(node) != nullptr;
}

void OnnxGraphImporter::AddMissing(const onnx::GraphProto& graph, MissingOperators& missing) const {
  for (const onnx::NodeProto& node : graph.node()) {
    if (!IsKnown(node)) missing.Add(node);
    // What a loop does is always needed. The recursion ends: protobuf bounds the nesting of the
    // messages that it parses.
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      const bool is_loop = node.op_type() == "Loop" || node.op_type() == "Scan";
      if (is_loop && attribute.has_g()) AddMissing(attribute.g(), missing);
    }
    const onnx::FunctionProto* function = FunctionOf(node);
    // Each function once, so that one that calls itself ends.
    if (function != nullptr && missing.functions.insert(OnnxOperatorName(node)).second) {
      onnx::GraphProto body;
      *body.mutable_node() = function->node();
      AddMissing(body, missing);
    }
  }
}

// All at once: whoever exports the model anew, or looks for another way, wants to know them all.
// Those of branches, of which one is never read, count only where the graph is refused anyway; a
// branch that is read is checked by itself.
absl::Status OnnxGraphImporter::CheckOperators(const onnx::GraphProto& graph) const {
  MissingOperators missing;
  AddMissing(graph, missing);
  if (missing.kinds.empty()) return absl::OkStatus();
  // Recursion over foreign input: protobuf bounds the nesting of the messages that it parses.
  const std::function<void(const onnx::GraphProto&)> add_inner = [&](const onnx::GraphProto& g) {
    for (const onnx::NodeProto& node : g.node()) {
      for (const onnx::AttributeProto& attribute : node.attribute()) {
        if (!attribute.has_g()) continue;
        if (node.op_type() == "If") AddMissing(attribute.g(), missing);
        add_inner(attribute.g());
      }
    }
  };
  add_inner(graph);
  return missing.ToStatus();
}

ValueId OnnxGraphImporter::Find(Scope& scope, const std::string& name) {
  // From the inside out: a branch reads the values of the graphs around it.
  for (Scope* s = &scope; s != nullptr; s = s->outer) {
    const auto found = s->values.find(name);
    if (found != s->values.end()) return found->second;
    if (s->body != nullptr) return Capture(*s, name);
  }
  return -1;
}

absl::Status OnnxGraphImporter::Define(Scope& scope, const std::string& name, ValueId id) {
  // ONNX is in SSA form. With a second writer it would depend on order what a reader gets.
  if (scope.values.emplace(name, id).second) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("two values are named '", name, "'"));
}

absl::StatusOr<OnnxTensor> OnnxGraphImporter::ReadInitializer(const onnx::TensorProto& tensor) {
  return ReadOnnxTensor(tensor, *context_->bytes, context_->options->max_tensor_elements,
                        absl::StrCat("initializer '", tensor.name(), "'"));
}

absl::Status OnnxGraphImporter::AddInitializers(Scope& scope, const onnx::GraphProto& graph,
                                                const std::set<std::string>& given) {
  // Refused, rather than read as if it were not there: the model would run with other weights.
  if (graph.sparse_initializer_size() > 0) {
    return absl::UnimplementedError("sparse initializers are not supported");
  }
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    if (given.contains(tensor.name())) continue;
    ASSIGN_OR_RETURN(OnnxTensor constant, ReadInitializer(tensor));
    if (context_->options->track_parameters && MayBeParameter(constant.type)) {
      constant.data = TrackedParameter(tensor.name(), constant.type, constant.data);
    }
    ASSIGN_OR_RETURN(const ValueId id,
                     context_->AddConstantValue(tensor.name(), std::move(constant.type),
                                                std::move(constant.data)));
    if (constant.bits > 0) context_->few_bits[id] = constant.bits;
    RETURN_IF_ERROR(Define(scope, tensor.name(), id));
  }
  return absl::OkStatus();
}

absl::StatusOr<TensorType> OnnxGraphImporter::InputType(const onnx::ValueInfoProto& input) {
  const std::string what = absl::StrCat("input '", input.name(), "'");
  if (!input.type().has_tensor_type()) {
    return absl::UnimplementedError(absl::StrCat(what, ": only tensors are supported"));
  }
  const onnx::TypeProto::Tensor& tensor = input.type().tensor_type();
  TensorType type;
  ASSIGN_OR_RETURN(type.dtype, DTypeOfOnnx(tensor.elem_type(), what));
  const auto given = context_->options->input_shapes.find(input.name());
  const bool overridden = given != context_->options->input_shapes.end();
  if (overridden) type.shape = given->second;
  if (!tensor.has_shape() && !overridden) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, " has no shape; give one: --shape ", input.name(), "=1x3x224x224"));
  }
  const auto misfit = [&](absl::string_view why) {
    return absl::OutOfRangeError(absl::StrCat(what, ": the model has ", ShapeText(tensor.shape()),
                                              ", --shape gives ", absl::StrJoin(type.shape, "x"),
                                              why));
  };
  if (tensor.has_shape() && overridden &&
      static_cast<int>(type.shape.size()) != tensor.shape().dim_size()) {
    return misfit(absl::StrCat(": ", type.shape.size(), " dimensions"));
  }
  for (int d = 0; d < tensor.shape().dim_size(); ++d) {
    const auto& dimension = tensor.shape().dim(d);
    const bool fixed = dimension.has_dim_value() && dimension.dim_value() > 0;
    if (fixed && !overridden) type.shape.push_back(dimension.dim_value());
    // A dimension that the model fixes is in the shapes of its constants, too: another value would
    // fail deep inside with a message about some reshape.
    if (fixed && overridden && type.shape[d] != dimension.dim_value()) {
      return misfit(absl::StrCat(": dimension ", d, " is fixed"));
    }
    if (fixed || overridden) continue;
    ASSIGN_OR_RETURN(const std::optional<GivenDim> dim, DimOf(input, d));
    if (dim.has_value()) {
      const bool in_run = !dim->parts.empty();
      // An axis that may be empty is none that broadcasts.
      type.shape.push_back(in_run ? std::max<int64_t>(dim->greatest, 2) : dim->constant);
      if (in_run) given_axes_.push_back({input.name(), d, *dim});
      continue;
    }
    if (dimension.has_dim_value() && dimension.dim_value() == 0) {
      type.shape.push_back(0);
      continue;
    }
    // The message is an example that only wants the right number.
    const std::string name = DimensionText(dimension);
    return absl::FailedPreconditionError(absl::StrCat(
        what, " has the symbolic dimension ", d, " ('", name, "' in ", ShapeText(tensor.shape()),
        "); give its shape: --shape ", input.name(), "=",
        absl::StrJoin(tensor.shape().dim(), "x",
                      [](std::string* out, const auto& dim) {
                        absl::StrAppend(
                            out, dim.has_dim_value() && dim.dim_value() > 0 ? dim.dim_value() : 1);
                      }),
        "; or a range: --dim ", name == "?" ? absl::StrCat(input.name(), ".", d) : name,
        "=1..128"));
  }
  if (type.shape.size() > kImportRankMax) {
    return absl::UnimplementedError(absl::StrCat(what, ": ", type.shape.size(),
                                                 " dimensions, want ", kImportRankMax, " at most"));
  }
  RETURN_IF_ERROR(
      CheckedElementCount(type.shape, context_->options->max_tensor_elements, what).status());
  return type;
}

absl::StatusOr<ValueId> OnnxGraphImporter::InputValue(const onnx::ValueInfoProto& input,
                                                      const std::string& text) {
  const std::string what = absl::StrCat("input '", input.name(), "'");
  const auto misfit = [&](absl::string_view why) {
    return absl::OutOfRangeError(absl::StrCat(what, ": --value gives '", text.substr(0, 40), "', ",
                                              why, "; write --value ", input.name(), "=16000 or ",
                                              input.name(), "=1,2,3"));
  };
  if (!input.type().has_tensor_type()) {
    return absl::UnimplementedError(absl::StrCat(what, ": only tensors are supported"));
  }
  const onnx::TypeProto::Tensor& tensor = input.type().tensor_type();
  TensorType type;
  ASSIGN_OR_RETURN(type.dtype, DTypeOfOnnx(tensor.elem_type(), what));
  std::vector<absl::string_view> words;
  if (!text.empty()) words = absl::StrSplit(text, ',');
  if (words.size() > kInputValuesMax) {
    return misfit(absl::StrCat("want at most ", kInputValuesMax, " numbers"));
  }
  const auto count = static_cast<int64_t>(words.size());
  // A model that says nothing of the rank: a list of one may be either, and a scalar is usual.
  if (!tensor.has_shape() && count != 1) type.shape = {count};
  int64_t open = 0, known = 1;  // Dimensions without extent; elements of the others.
  bool fits = true;
  for (const auto& dimension : tensor.shape().dim()) {
    const bool fixed = dimension.has_dim_value();
    type.shape.push_back(fixed ? dimension.dim_value() : count);
    if (!fixed) {
      ++open;
      continue;
    }
    // Extents beyond 2^20 beside a 0 are no shape of a list either; so the product is bounded.
    fits =
        fits && dimension.dim_value() >= 0 && dimension.dim_value() <= 1 << 20 && known <= 1 << 20;
    if (fits) known *= dimension.dim_value();
  }
  fits = fits && (open == 0 ? known == count : open == 1 && known == 1);
  if (tensor.has_shape() && !fits) {
    return misfit(
        absl::StrCat(count, " numbers; the model has the shape ",
                     tensor.shape().dim_size() == 0 ? "of a scalar" : ShapeText(tensor.shape())));
  }
  std::vector<int64_t> integers;
  std::vector<double> floats;
  for (absl::string_view word : words) {
    bool is_true = false;
    int64_t integer = 0;
    double number = 0;
    if (IsFloat(type.dtype) ? absl::SimpleAtod(word, &number) : absl::SimpleAtoi(word, &integer)) {
      floats.push_back(number);
      integers.push_back(integer);
    } else if (type.dtype == DType::kBool && absl::SimpleAtob(word, &is_true)) {
      integers.push_back(is_true ? 1 : 0);
    } else {
      return misfit(absl::StrCat("want numbers of type ", DTypeName(type.dtype)));
    }
  }
  ConstantPtr data =
      IsFloat(type.dtype) ? FromDoubles(type.dtype, floats) : FromInts(type.dtype, integers);
  if (!IsFloat(type.dtype) && type.dtype != DType::kBool && ToInts(type, *data) != integers) {
    return misfit(absl::StrCat("a number does not fit into ", DTypeName(type.dtype)));
  }
  return context_->AddConstantValue(input.name(), std::move(type), std::move(data));
}

absl::StatusOr<TensorType> OnnxGraphImporter::AddDefault(const onnx::GraphProto& graph,
                                                         const onnx::ValueInfoProto& input) {
  const auto tensor =
      std::find_if(graph.initializer().begin(), graph.initializer().end(),
                   [&](const onnx::TensorProto& each) { return each.name() == input.name(); });
  ASSIGN_OR_RETURN(OnnxTensor value, ReadInitializer(*tensor));
  const auto shape = context_->options->input_shapes.find(input.name());
  if (shape != context_->options->input_shapes.end() && shape->second != value.type.shape) {
    return InputType(input);  // A run has to give what is of another shape.
  }
  const onnx::TypeProto::Tensor& type = input.type().tensor_type();
  const auto what = absl::StrCat("input '", input.name(), "'");
  ASSIGN_OR_RETURN(const DType dtype, DTypeOfOnnx(type.elem_type(), what));
  if (dtype != value.type.dtype || value.bits > 0) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": its initializer is of another type"));
  }
  if (value.type.shape.size() > kImportRankMax) {
    return absl::UnimplementedError(
        absl::StrCat(what, ": more than ", kImportRankMax, " dimensions"));
  }
  context_->graph.input_defaults.push_back(
      {.input = static_cast<int>(context_->graph.inputs.size()), .data = value.data});
  return value.type;
}

absl::Status OnnxGraphImporter::AddInputs(Scope& scope, const onnx::GraphProto& graph) {
  std::map<ValueId, ValueId> empty;  // What a caller gives, by the constant that stands for it.
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (scope.values.count(input.name()) > 0 &&
        context_->graph.IsConstant(Find(scope, input.name()))) {
      continue;
    }
    const auto value = context_->options->input_values.find(input.name());
    if (value != context_->options->input_values.end()) {
      ASSIGN_OR_RETURN(const ValueId id, InputValue(input, value->second));
      RETURN_IF_ERROR(Define(scope, input.name(), id));
      continue;
    }
    const bool has_default = defaults_.contains(input.name());
    ASSIGN_OR_RETURN(const TensorType type,
                     has_default ? AddDefault(graph, input) : InputType(input));
    ValueId id = AddInput(context_->graph, input.name(), type);
    if (ElementCount(type.shape) == 0) {
      // A caller gives it, and nobody reads it: all but a run's sizes is known of it.
      const ValueId given = id;
      ASSIGN_OR_RETURN(id,
                       context_->AddConstantValue(input.name(), type, MakeConstant<uint8_t>({})));
      empty[id] = given;
    }
    RETURN_IF_ERROR(Define(scope, input.name(), id));
  }
  RETURN_IF_ERROR(AddSizes());
  std::map<ValueId, AxisExtents>& extents = context_->bounded.extents;
  for (const auto& [constant, given] : empty) {
    const auto sized = extents.find(given);
    if (sized != extents.end()) extents[constant] = sized->second;
  }
  return absl::OkStatus();
}

absl::Status OnnxGraphImporter::CheckOverrides(const onnx::GraphProto& graph, const Scope& scope) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (scope.values.count(input.name()) == 0) names.push_back(input.name());
  }
  const auto check = [&](absl::string_view flag, const std::string& name) -> absl::Status {
    if (std::find(names.begin(), names.end(), name) != names.end()) return absl::OkStatus();
    return absl::OutOfRangeError(absl::StrCat(
        flag, " ", name,
        ": the model has no such input; its inputs are: ", absl::StrJoin(names, ", ")));
  };
  for (const auto& [name, shape] : context_->options->input_shapes) {
    RETURN_IF_ERROR(check("--shape", name));
  }
  for (const auto& [name, value] : context_->options->input_values) {
    RETURN_IF_ERROR(check("--value", name));
  }
  return CheckDims(graph);
}

absl::Status OnnxGraphImporter::ImportCall(Scope& scope, const onnx::FunctionProto& function,
                                           const onnx::NodeProto& call,
                                           const std::vector<ValueId>& inputs, OnnxNode& node) {
  if (call.input_size() > function.input_size() || call.output_size() > function.output_size()) {
    return node.Invalid("has more inputs or outputs than its function");
  }
  // A function sees nothing of the graph that calls it, but counts as nested.
  Scope nothing{.depth = scope.depth};
  std::vector<ValueId> given;
  for (const ValueId input : inputs) {
    if (input >= 0) given.push_back(input);
  }
  const int opset = context_->opset;
  context_->opset = OpsetOf(function, opset);
  const absl::StatusOr<std::vector<ValueId>> outputs =
      InlineGraph(nothing, BodyOf(function, call), given, node.Label());
  context_->opset = opset;
  RETURN_IF_ERROR(outputs.status());
  size_t next = 0;
  for (int i = 0; i < call.output_size(); ++i) {
    if (!call.output(i).empty()) node.SetOutput(i, (*outputs)[next++]);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ValueId>> OnnxGraphImporter::InlineGraph(
    Scope& outer, const onnx::GraphProto& graph, const std::vector<ValueId>& inputs,
    const std::string& label) {
  Scope inner{.outer = &outer, .depth = outer.depth + 1};
  // Recursion over foreign input, so bounded.
  if (inner.depth > context_->options->max_depth) {
    return absl::ResourceExhaustedError(absl::StrCat(
        label, ": graphs are nested over ", context_->options->max_depth, " deep (the limit)"));
  }
  if (static_cast<int>(inputs.size()) != graph.input_size()) {
    return absl::InvalidArgumentError(absl::StrCat(label, ": its graph has ", graph.input_size(),
                                                   " inputs, want ", inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    RETURN_IF_ERROR(Define(inner, graph.input(static_cast<int>(i)).name(), inputs[i]));
  }
  RETURN_IF_ERROR(AddInitializers(inner, graph));
  RETURN_IF_ERROR(CheckOperators(graph));
  RETURN_IF_ERROR(ImportNodes(inner, graph));
  std::vector<ValueId> outputs;
  for (const onnx::ValueInfoProto& output : graph.output()) {
    outputs.push_back(Find(inner, output.name()));
    if (outputs.back() < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(label, ": nothing writes its graph's output '", output.name(), "'"));
    }
  }
  return outputs;
}

absl::Status OnnxGraphImporter::ImportIf(Scope& scope, OnnxNode& node) {
  const absl::StatusOr<std::vector<int64_t>> condition = node.ConstantInts(0, "cond");
  // Exporters leave If nodes over shapes, which are constants here: one branch is all there is.
  if (!condition.ok() || condition->size() != 1) return ImportBranches(scope, node);
  const onnx::AttributeProto* branch =
      node.Find((*condition)[0] != 0 ? "then_branch" : "else_branch");
  if (branch == nullptr || !branch->has_g()) return node.Invalid("a branch is missing");
  ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                   InlineGraph(scope, branch->g(), {}, node.Label()));
  if (static_cast<int>(outputs.size()) != node.output_count()) {
    return node.Invalid("the branch has another number of outputs");
  }
  for (int i = 0; i < node.output_count(); ++i) node.SetOutput(i, outputs[i]);
  return absl::OkStatus();
}

absl::Status OnnxGraphImporter::ImportNode(Scope& scope, const onnx::NodeProto& proto) {
  std::vector<ValueId> inputs;
  std::vector<bool> used;
  for (const std::string& output : proto.output()) {
    // An optional output that nobody reads (BatchNormalization's statistics, say) need not be
    // supported.
    used.push_back(!output.empty() && scope.used.count(output) > 0);
  }
  OnnxNode unnamed(context_, proto, {}, {});
  for (const std::string& input : proto.input()) {
    inputs.push_back(input.empty() ? -1 : Find(scope, input));
    if (!input.empty() && inputs.back() < 0) {
      return unnamed.Invalid(absl::StrCat("reads '", input, "', which nothing writes"));
    }
  }
  OnnxNode node(context_, proto, inputs, std::move(used));
  node.SetGraphInliner(
      [this, &scope, &node](const onnx::GraphProto& graph, const std::vector<ValueId>& values) {
        return InlineGraph(scope, graph, values, node.Label());
      });
  if (!IsKnown(proto)) {
    // In a branch: CheckOperators has seen the others.
    return node.Unsupported("operator not supported");
  }
  if (FunctionOf(proto) == nullptr) RETURN_IF_ERROR(node.CheckFewBits());
  if (proto.op_type() == "If") {
    RETURN_IF_ERROR(ImportIf(scope, node));
  } else if (proto.op_type() == "Loop") {
    RETURN_IF_ERROR(ImportLoop(scope, node));
  } else if (proto.op_type() == "Scan") {
    RETURN_IF_ERROR(ImportScan(scope, node));
    RETURN_IF_ERROR(node.status());
  } else if (const onnx::FunctionProto* function = FunctionOf(proto)) {
    RETURN_IF_ERROR(ImportCall(scope, *function, proto, inputs, node));
  } else {
    const auto is_empty = [&node](ValueId input) { return node.IsEmpty(input); };
    const bool any_empty = std::any_of(inputs.begin(), inputs.end(), is_empty);
    if (any_empty && (node.is_microsoft() || DividesByExtents(proto.op_type()))) {
      return node.Unsupported("takes no tensor without elements (a dimension is 0)");
    }
    absl::Status status = AllOnnxTranslators().find(OnnxOperatorName(proto))->second(node);
    status.Update(node.status());
    // A check that is written for elements, or for shapes that are known: the model may be sound.
    const bool any_sized = std::any_of(inputs.begin(), inputs.end(),
                                       [&](ValueId input) { return node.IsBounded(input); });
    if (absl::IsInvalidArgument(status) && (any_empty || any_sized)) {
      return absl::UnimplementedError(
          absl::StrCat(status.message(), any_empty ? " (a dimension of an input is 0)"
                                                   : " (a run decides an input's shape)"));
    }
    RETURN_IF_ERROR(status);
    node.CarryFewBits();
  }
  for (int i = 0; i < proto.output_size(); ++i) {
    if (proto.output(i).empty()) continue;
    if (node.outputs()[i] >= 0) {
      RETURN_IF_ERROR(Define(scope, proto.output(i), node.outputs()[i]));
    } else if (node.OutputUsed(i)) {
      return node.Unsupported(absl::StrCat("output ", i, " ('", proto.output(i), "')"));
    }
  }
  return absl::OkStatus();
}

absl::Status OnnxGraphImporter::ImportNodes(Scope& scope, const onnx::GraphProto& graph) {
  // Over all graphs: branches within branches count as well.
  context_->nodes += graph.node_size();
  if (context_->nodes > context_->options->max_nodes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the model has over ", context_->options->max_nodes, " nodes (the limit)"));
  }
  ASSIGN_OR_RETURN(const std::vector<int> order, OrderOnnxNodes(graph));
  // All names first: a node must know who reads its outputs before it is translated.
  for (int n : order) {
    for (std::string& name : NamesReadBy(graph.node(n))) scope.used.insert(std::move(name));
  }
  for (const onnx::ValueInfoProto& output : graph.output()) scope.used.insert(output.name());
  for (int n : order) {
    const absl::Status status = ImportNode(scope, graph.node(n));
    if (!status.ok() && scope.depth == 0 && graph.node(n).output_size() > 0) {
      failed_ = graph.node(n).output(0);
    }
    RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

absl::Status OnnxGraphImporter::SetOutputs(Scope& scope, const onnx::GraphProto& graph) {
  std::vector<NamedOutput> outputs;
  for (const onnx::ValueInfoProto& output : graph.output()) {
    const ValueId id = Find(scope, output.name());
    if (id < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("output '", output.name(), "': nothing writes it"));
    }
    if (context_->few_bits.contains(id)) {
      return absl::UnimplementedError(
          absl::StrCat("output '", output.name(), "': integers of ", context_->few_bits[id],
                       " bits are for constants alone; dequantize it, or use INT8 or UINT8"));
    }
    outputs.push_back({output.name(), id});
  }
  return SetSizedOutputs(*context_, std::move(outputs));
}

absl::Status OnnxGraphImporter::ImportMain(const onnx::GraphProto& graph) {
  Scope scope;
  context_->graph.name = graph.name();
  std::set<std::string> given = defaults_;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    const ImportOptions& options = *context_->options;
    if (options.input_shapes.contains(input.name()) ||
        options.input_values.contains(input.name())) {
      given.insert(input.name());
    }
  }
  RETURN_IF_ERROR(AddInitializers(scope, graph, given));
  // After the initializers, since old models list these as inputs too.
  // A name that the model has not is told before the shape that is missing because of that.
  RETURN_IF_ERROR(CheckOverrides(graph, scope));
  RETURN_IF_ERROR(CheckOperators(graph));
  RETURN_IF_ERROR(AddInputs(scope, graph));
  RETURN_IF_ERROR(ImportNodes(scope, graph));
  return SetOutputs(scope, graph);
}

}  // namespace burnish
