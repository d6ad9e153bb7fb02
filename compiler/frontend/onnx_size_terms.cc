// Arithmetic of shapes that only a run knows: what exporters write between Shape and Reshape. Each
// element is known to be a number, or an extent times a number; what is neither is not known.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_import_context.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/graph_interpreter.h"

namespace burnish {
namespace {

// Shapes have a few dimensions; interpreting is for no more.
constexpr int64_t kTermsMax = 64;

// Operators that only move elements of their inputs.
bool IsMovement(absl::string_view op) {
  for (const char* name : {"reshape", "slice", "gather", "concat", "identity", "expand"}) {
    if (op == name) return true;
  }
  return false;
}

std::optional<SizeTerm> Combined(absl::string_view op, const SizeTerm& a, const SizeTerm& b) {
  const bool is_known = a.extent == kFullAxis && b.extent == kFullAxis;
  int64_t number = 0;
  if (op == "mul") {
    if (a.extent != kFullAxis && b.extent != kFullAxis) return std::nullopt;
    if (__builtin_mul_overflow(a.number, b.number, &number)) return std::nullopt;
    return SizeTerm{number == 0 ? kFullAxis : std::max(a.extent, b.extent), number};
  }
  if (op == "div" && b.extent == kFullAxis && b.number > 0 && a.number % b.number == 0) {
    return SizeTerm{a.extent, a.number / b.number};
  }
  if ((op == "add" || op == "sub") && (is_known || a.extent == b.extent)) {
    const bool failed = op == "add" ? __builtin_add_overflow(a.number, b.number, &number)
                                    : __builtin_sub_overflow(a.number, b.number, &number);
    // None of an extent is the number 0.
    if (!failed) return SizeTerm{number == 0 ? kFullAxis : a.extent, number};
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<SizeTerm>> OnnxNode::TermsOf(ValueId id) const {
  const auto known = context_->bounded.terms.find(id);
  if (known != context_->bounded.terms.end()) return known->second;
  const GraphValue& value = context_->graph.value(id);
  if (value.data == nullptr || IsFloat(value.type.dtype) ||
      ElementCount(value.type.shape) > kTermsMax) {
    return std::nullopt;
  }
  std::vector<SizeTerm> terms;
  for (const int64_t number : ToInts(value.type, *value.data)) terms.push_back({kFullAxis, number});
  return terms;
}

SizeTerm OnnxNode::TermOf(ValueId extent, int64_t factor) const {
  const auto scaled = context_->bounded.scaled.find(extent);
  if (scaled == context_->bounded.scaled.end()) return {extent, factor};
  return {scaled->second.extent, scaled->second.number * factor};
}

void OnnxNode::CarryTerms(const GraphNode& node, ValueId result) {
  const TensorType type = TypeOf(result);
  const bool any = std::any_of(node.inputs.begin(), node.inputs.end(), [this](ValueId input) {
    return context_->bounded.terms.contains(input);
  });
  const int64_t count = ElementCount(type.shape);
  if (!any || IsFloat(type.dtype) || count > kTermsMax) return;
  std::vector<std::vector<SizeTerm>> inputs;
  for (const ValueId input : node.inputs) {
    auto terms = TermsOf(input);
    if (!terms.has_value()) return;
    inputs.push_back(*std::move(terms));
  }
  if (node.op == "cast") {
    context_->bounded.terms[result] = inputs[0];
    return;
  }
  std::vector<SizeTerm> results;
  if (IsMovement(node.op)) {
    // Of numbers that stand for terms, so that each operator moves them as it is defined.
    std::vector<SizeTerm> all;
    std::vector<TensorValue> values;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const TensorType& given = TypeOf(node.inputs[i]);
      TensorValue& value = values.emplace_back();
      value.dtype = given.dtype;
      value.shape = given.shape;
      const bool is_index = node.op == "gather" && i == 1;
      if (is_index && context_->bounded.terms.contains(node.inputs[i])) return;
      for (const SizeTerm& term : inputs[i]) {
        value.integers.push_back(is_index ? term.number : static_cast<int64_t>(all.size()));
        all.push_back(term);
      }
    }
    GraphNode with_output = node;
    with_output.outputs = {-1};
    const auto moved = InterpretNode(context_->graph, with_output, values);
    if (!moved.ok()) return;
    for (const int64_t which : (*moved)[0].integers) results.push_back(all[which]);
  } else {
    if (inputs.size() != 2) return;
    for (int64_t i = 0; i < count; ++i) {
      const auto at = [i](const std::vector<SizeTerm>& terms) {
        return terms[terms.size() == 1 ? 0 : static_cast<size_t>(i)];
      };
      for (const auto& terms : inputs) {
        if (terms.size() != 1 && static_cast<int64_t>(terms.size()) != count) return;
      }
      const std::optional<SizeTerm> term = Combined(node.op, at(inputs[0]), at(inputs[1]));
      if (!term.has_value()) return;
      results.push_back(*term);
    }
  }
  context_->bounded.terms[result] = std::move(results);
}

absl::StatusOr<BoundedShape> OnnxNode::ShapeInput(int i, absl::string_view what) const {
  ASSIGN_OR_RETURN(const ValueId id, Input(i));
  const auto terms = context_->bounded.terms.find(id);
  BoundedShape shape;
  if (terms == context_->bounded.terms.end()) {
    ASSIGN_OR_RETURN(shape.bound, ConstantInts(i, what));
    for (const int64_t number : shape.bound) shape.terms.push_back({kFullAxis, number});
    return shape;
  }
  shape.terms = terms->second;
  for (const SizeTerm& term : shape.terms) {
    int64_t bound = term.number;
    if (term.extent != kFullAxis) {
      const auto greatest = context_->bounded.greatest.find(term.extent);
      if (greatest == context_->bounded.greatest.end() || term.number < 1 ||
          __builtin_mul_overflow(greatest->second, term.number, &bound)) {
        return Unsupported(absl::StrCat(what, " (input ", i, ") has no bound"));
      }
    }
    shape.bound.push_back(bound);
  }
  return shape;
}

absl::StatusOr<ValueId> OnnxNode::ReshapeInRun(ValueId x, std::vector<int64_t> bound,
                                               const std::vector<SizeTerm>& terms) {
  const AxisExtents before = ExtentsOf(x);
  ASSIGN_OR_RETURN(const ValueId result, EmitReshape(x, bound));
  const AxisExtents extents = ExtentsOf(result);
  for (size_t d = 0; d < terms.size(); ++d) {
    // A number that the model has computed of nothing that a run knows says what it is; -1 takes
    // what is left.
    if (terms[d].extent == kFullAxis && terms[d].number == -1) continue;
    SizeTerm want = terms[d];
    // ONNX: 0 keeps the dimension.
    const bool keeps = want.extent == kFullAxis && want.number == 0 && d < before.size();
    if (keeps && before[d] != kFullAxis) want = TermOf(before[d], 1);
    const SizeTerm got = extents[d] == kFullAxis ? SizeTerm{} : TermOf(extents[d], 1);
    if (got.extent == want.extent && (got.extent == kFullAxis || got.number == want.number)) {
      continue;
    }
    return Unsupported(
        absl::StrCat("dimension ", d, " of the shape is not what a run fills of that dimension"));
  }
  return result;
}

absl::StatusOr<ValueId> OnnxNode::EmitTerm(const SizeTerm& term) {
  if (term.extent == kFullAxis) {
    return EmitConstant({DType::kI64, {}}, FromInts(DType::kI64, {term.number}));
  }
  if (term.number == 1) return term.extent;
  ASSIGN_OR_RETURN(const ValueId extent, EmitExtent("mul", term.extent, term.number));
  context_->bounded.scaled[extent] = term;
  return extent;
}

absl::StatusOr<ValueId> OnnxNode::HoldTerms(ValueId id, const std::vector<SizeTerm>& terms) {
  for (size_t d = 0; d < terms.size(); ++d) {
    if (terms[d].extent == kFullAxis) continue;
    if (TypeOf(id).shape[d] < 2) return Unsupported("a dimension of at most one element");
    ASSIGN_OR_RETURN(const ValueId extent, EmitTerm(terms[d]));
    RETURN_IF_ERROR(SetExtent(id, static_cast<int64_t>(d), extent).status());
  }
  return id;
}

absl::StatusOr<ValueId> OnnxNode::EmitUnknown(ValueId constant, ValueId extent) {
  ASSIGN_OR_RETURN(const ValueId zero, EmitScalar(DType::kI64, 0));
  ASSIGN_OR_RETURN(const std::vector<ValueId> condition, EmitPlain("less", {extent, zero}, {}));
  ASSIGN_OR_RETURN(const std::vector<ValueId> same,
                   EmitPlain("where", {condition[0], constant, constant}, {}));
  return same[0];
}

}  // namespace burnish
