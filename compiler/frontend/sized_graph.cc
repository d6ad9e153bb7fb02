#include "compiler/frontend/sized_graph.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_import_context.h"
#include "third_party/onnx.pb.h"

namespace burnish {
namespace {

// What emits operators is a node of ONNX; its name is all that shows.
onnx::NodeProto Named(absl::string_view op, absl::string_view name) {
  onnx::NodeProto proto;
  proto.set_op_type(std::string(op));
  proto.set_name(std::string(name));
  proto.add_output(std::string(name));
  return proto;
}

// What holds of an output are the first elements of its axes.
absl::Status PackOutputs(ImportContext& context, std::vector<NamedOutput>& outputs) {
  for (NamedOutput& output : outputs) {
    const onnx::NodeProto proto = Named("", output.name);
    ASSIGN_OR_RETURN(output.value, OnnxNode(&context, proto, {}, {}).Packed(output.value));
  }
  return absl::OkStatus();
}

void AddExtents(ImportContext& context, const std::vector<NamedOutput>& outputs) {
  Graph& graph = context.graph;
  std::map<ValueId, int> places;  // Of extents among the graph's outputs.
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto found = context.bounded.extents.find(outputs[i].value);
    if (found == context.bounded.extents.end()) continue;
    for (size_t d = 0; d < found->second.size(); ++d) {
      const ValueId extent = found->second[d];
      if (extent == kFullAxis) continue;
      const auto [place, is_new] =
          places.try_emplace(extent, static_cast<int>(graph.outputs.size()));
      if (is_new) graph.outputs.push_back(extent);
      graph.bounded_axes.push_back(
          {.output = static_cast<int>(i), .axis = static_cast<int>(d), .extent = place->second});
    }
  }
  graph.hidden_outputs = static_cast<int>(places.size());
}

// Of sums, in a list of integers: each element as a term.
absl::StatusOr<std::vector<SizeTerm>> TermsIn(const OnnxNode& node,
                                              const std::vector<int64_t>& numbers,
                                              const std::map<int64_t, SizeTerm>& terms) {
  std::vector<SizeTerm> all;
  for (const int64_t number : numbers) all.emplace_back(number);
  for (const auto& [place, term] : terms) {
    if (place < 0 || place >= static_cast<int64_t>(all.size())) {
      return node.Invalid(absl::StrCat("got a size in place ", place, " of ", all.size()));
    }
    all[place] = term;
  }
  return all;
}

std::optional<SizeTerm> TermOf(const SizeSum& sum, const std::vector<ValueId>& sizes) {
  std::optional<SizeTerm> term = SizeTerm();
  for (const SizeProduct& product : sum) {
    std::optional<SizeTerm> factor = SizeTerm(product.factor);
    for (const int size : product.sizes) {
      if (size < 0 || size >= static_cast<int>(sizes.size())) return std::nullopt;
      if (factor.has_value()) factor = factor->Times(SizeTerm::OfExtent(sizes[size]));
    }
    if (term.has_value() && factor.has_value()) term = term->Plus(*factor);
    if (!factor.has_value()) return std::nullopt;
  }
  return term;
}

using Terms = std::map<int64_t, SizeTerm>;

absl::StatusOr<Terms> TermsOf(const OnnxNode& node, const std::map<int64_t, SizeSum>& sums,
                              const std::vector<ValueId>& sizes) {
  Terms terms;
  for (const auto& [place, sum] : sums) {
    const std::optional<SizeTerm> term = TermOf(sum, sizes);
    if (!term.has_value()) {
      return node.Unsupported("a sum of too many sizes, or of one that is not there");
    }
    terms[place] = *term;
  }
  return terms;
}

absl::Status Slice(OnnxNode& node, ValueId x, const Attributes& attributes, const Terms& at_starts,
                   const Terms& at_ends) {
  const std::vector<int64_t> axes = attributes.Ints("axes", {});
  const std::vector<int64_t> steps = attributes.Ints("steps", std::vector<int64_t>(axes.size(), 1));
  ASSIGN_OR_RETURN(const std::vector<SizeTerm> starts,
                   TermsIn(node, attributes.Ints("starts", {}), at_starts));
  ASSIGN_OR_RETURN(const std::vector<SizeTerm> ends,
                   TermsIn(node, attributes.Ints("ends", {}), at_ends));
  if (starts.size() != axes.size() || ends.size() != axes.size() || steps.size() != axes.size()) {
    return node.Invalid("has not as many starts, ends and steps as axes");
  }
  const auto rank = static_cast<int64_t>(node.TypeOf(x).shape.size());
  ASSIGN_OR_RETURN(const std::vector<int64_t> normal, NormalizeAxes(node, axes, rank));
  return SliceAxes(node, x, normal, starts, ends, steps);
}

// Whether a slice is along an axis that a run sizes. Others are the library's, which counts the
// ends of steps backwards in another way than ONNX.
bool SlicesSized(const OnnxNode& node, ValueId x, const Attributes& attributes) {
  const AxisExtents extents = node.ExtentsOf(x);
  for (int64_t axis : attributes.Ints("axes", {})) {
    if (axis < 0) axis += static_cast<int64_t>(extents.size());
    if (axis < 0 || axis >= static_cast<int64_t>(extents.size())) return true;  // Refused there.
    if (extents[axis] != kFullAxis) return true;
  }
  return false;
}

bool HasShape(const OnnxNode& node, ValueId x, const std::vector<SizeTerm>& shape) {
  bool is_same = node.TypeOf(x).shape.size() == shape.size();
  for (size_t d = 0; is_same && d < shape.size(); ++d) {
    is_same = node.SizeOf(x, static_cast<int64_t>(d)) == shape[d];
  }
  return is_same;
}

}  // namespace

absl::Status AddSizeInputs(ImportContext& context) {
  Graph& graph = context.graph;
  std::vector<ValueId> values;
  for (const GraphSize& size : graph.sizes) {
    values.push_back(AddInput(graph, absl::StrCat("size of ", size.name), {DType::kI64, {}}));
    context.bounded.ranges[values.back()] = {size.least, size.greatest};
  }
  const onnx::NodeProto proto = Named("", "sizes of inputs");
  OnnxNode node(&context, proto, {}, {});
  for (const GraphInputAxis& axis : graph.input_axes) {
    std::optional<SizeTerm> holds = SizeTerm(axis.constant);
    for (const GraphInputAxis::Part& part : axis.parts) {
      const auto product = SizeTerm::OfExtent(values[part.size]).Times(SizeTerm(part.factor));
      if (holds.has_value() && product.has_value()) holds = holds->Plus(*product);
    }
    if (!holds.has_value()) return node.Unsupported("a sum of too many sizes");
    ASSIGN_OR_RETURN(const ValueId extent, node.EmitTerm(*holds));
    RETURN_IF_ERROR(node.SetExtent(graph.inputs[axis.input], axis.axis, extent).status());
  }
  return absl::OkStatus();
}

absl::Status SetSizedOutputs(ImportContext& context, std::vector<NamedOutput> outputs) {
  RETURN_IF_ERROR(PackOutputs(context, outputs));
  RETURN_IF_ERROR(SetNamedOutputs(context.graph, outputs));
  AddExtents(context, outputs);
  return absl::OkStatus();
}

SizedGraph::SizedGraph(const ImportOptions& options)
    : context_(std::make_unique<ImportContext>(ImportContext{.options = &options})) {}

SizedGraph::~SizedGraph() = default;

Graph& SizedGraph::graph() { return context_->graph; }

absl::Status SizedGraph::AddSizes() {
  const size_t shown = graph().inputs.size();
  RETURN_IF_ERROR(AddSizeInputs(*context_));
  sizes_.assign(graph().inputs.begin() + static_cast<std::ptrdiff_t>(shown), graph().inputs.end());
  return absl::OkStatus();
}

absl::StatusOr<ValueId> SizedGraph::Held(ValueId constant, const std::map<int64_t, SizeSum>& axes) {
  const onnx::NodeProto proto = Named("constant", graph().value(constant).name);
  OnnxNode node(context_.get(), proto, {}, {});
  ASSIGN_OR_RETURN(const Terms terms, TermsOf(node, axes, sizes_));
  const std::vector<int64_t> shape = node.TypeOf(constant).shape;
  ASSIGN_OR_RETURN(const std::vector<SizeTerm> all, TermsIn(node, shape, terms));
  for (const auto& [axis, term] : terms) {
    const std::optional<SizeRange> range = node.RangeOf(term);
    if (!range.has_value() || range->least < 0 || range->greatest > shape[axis]) {
      return node.Unsupported(absl::StrCat("axis ", axis, " does not hold what a run may read"));
    }
    ASSIGN_OR_RETURN(const ValueId extent, node.EmitTerm(term));
    if (!term.IsNumber() && graph().IsConstant(constant)) {
      // Nobody may take it for known.
      ASSIGN_OR_RETURN(constant, node.EmitUnknown(constant, extent));
    }
  }
  return node.HoldTerms(constant, all);
}

absl::StatusOr<std::vector<ValueId>> SizedGraph::Emit(
    absl::string_view op, absl::string_view name, std::vector<ValueId> inputs,
    Attributes attributes, const std::map<std::string, std::map<int64_t, SizeSum>>& sums) {
  const onnx::NodeProto proto = Named(op, name);
  OnnxNode node(context_.get(), proto, inputs, {});
  std::map<std::string, Terms> terms;
  for (const auto& [attribute, of] : sums) {
    const bool is_known = ((op == "reshape" || op == "expand") && attribute == "shape") ||
                          (op == "slice" && (attribute == "starts" || attribute == "ends"));
    if (!is_known) return node.Invalid(absl::StrCat("no run decides attribute '", attribute, "'"));
    ASSIGN_OR_RETURN(terms[attribute], TermsOf(node, of, sizes_));
  }
  if (op != "reshape" && op != "expand" && op != "slice") {
    return node.EmitAll(op, std::move(inputs), std::move(attributes));
  }
  if (op == "slice") {
    if (sums.empty() && !SlicesSized(node, inputs[0], attributes)) {
      return node.EmitAll(op, std::move(inputs), std::move(attributes));
    }
    RETURN_IF_ERROR(Slice(node, inputs[0], attributes, terms["starts"], terms["ends"]));
    return node.outputs();
  }
  const std::vector<int64_t> shape = attributes.Ints("shape", {});
  ASSIGN_OR_RETURN(const std::vector<SizeTerm> to, TermsIn(node, shape, terms["shape"]));
  if (HasShape(node, inputs[0], to)) return inputs;
  if (sums.empty() && !node.IsBounded(inputs[0])) {
    return node.EmitAll(op, std::move(inputs), std::move(attributes));
  }
  for (const int64_t bound : shape) {
    if (bound < 1) return node.Unsupported(absl::StrCat("got a dimension of ", bound));
  }
  if (op == "expand") {
    if (shape.size() < node.TypeOf(inputs[0]).shape.size()) {
      return node.Invalid("expands to fewer dimensions");
    }
    RETURN_IF_ERROR(ExpandInRun(node, inputs[0], shape, to));
    return node.outputs();
  }
  ASSIGN_OR_RETURN(const ValueId reshaped, node.ReshapeInRun(inputs[0], {to.begin(), to.end()}));
  return std::vector<ValueId>{reshaped};
}

absl::Status SizedGraph::SetOutputs(std::vector<NamedOutput> outputs) {
  return SetSizedOutputs(*context_, std::move(outputs));
}

}  // namespace burnish
