// Arithmetic of shapes that only a run knows: what exporters write between Shape and Reshape. Each
// element is known as a SizeTerm, or not at all.
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

// Whether a comparison holds in every run, or in none.
std::optional<bool> Compared(absl::string_view op, const SizeTerm& a, const SizeTerm& b,
                             const std::map<ValueId, SizeRange>& ranges) {
  const std::optional<SizeRange> range = RangeOfDifference(a, b, ranges);
  if (!range.has_value()) return std::nullopt;
  const auto decided = [](bool always, bool never) {
    return always ? std::optional(true) : never ? std::optional(false) : std::nullopt;
  };
  const int64_t least = range->least, greatest = range->greatest;
  if (op == "equal") return decided(least == 0 && greatest == 0, least > 0 || greatest < 0);
  if (op == "less") return decided(greatest < 0, least >= 0);
  if (op == "less_equal") return decided(greatest <= 0, least > 0);
  if (op == "greater") return decided(least > 0, greatest <= 0);
  if (op == "greater_equal") return decided(least >= 0, greatest < 0);
  if (op == "max") return decided(least >= 0, greatest <= 0);  // Whether it is `a`.
  if (op == "min") return decided(greatest <= 0, least >= 0);
  return std::nullopt;
}

std::optional<SizeTerm> Combined(absl::string_view op, const SizeTerm& a, const SizeTerm& b,
                                 const std::map<ValueId, SizeRange>& ranges) {
  if (op == "mul") return a.Times(b);
  if (op == "add") return a.Plus(b);
  if (op == "sub") return a.Minus(b);
  if (op == "div") return a.DividedBy(b);
  const std::optional<bool> holds = Compared(op, a, b, ranges);
  if (!holds.has_value()) return std::nullopt;
  if (op == "max" || op == "min") return *holds ? a : b;
  return SizeTerm(*holds ? 1 : 0);
}

const SizeTerm& At(const std::vector<SizeTerm>& terms, int64_t i) {
  return terms[terms.size() == 1 ? 0 : static_cast<size_t>(i)];
}

// Element by element; nullopt where one is not known.
std::optional<std::vector<SizeTerm>> Computed(absl::string_view op,
                                              const std::vector<std::vector<SizeTerm>>& inputs,
                                              int64_t count,
                                              const std::map<ValueId, SizeRange>& ranges) {
  const bool is_choice = op == "where";
  if (inputs.size() != (is_choice ? 3u : 2u)) return std::nullopt;
  for (const auto& terms : inputs) {
    if (terms.size() != 1 && static_cast<int64_t>(terms.size()) != count) return std::nullopt;
  }
  std::vector<SizeTerm> results;
  for (int64_t i = 0; i < count; ++i) {
    if (is_choice) {
      const SizeTerm& condition = At(inputs[0], i);
      if (!condition.IsNumber()) return std::nullopt;
      results.push_back(At(inputs[condition.number() != 0 ? 1 : 2], i));
      continue;
    }
    const std::optional<SizeTerm> term = Combined(op, At(inputs[0], i), At(inputs[1], i), ranges);
    if (!term.has_value()) return std::nullopt;
    results.push_back(*term);
  }
  return results;
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
  for (const int64_t number : ToInts(value.type, *value.data)) terms.emplace_back(number);
  return terms;
}

SizeTerm OnnxNode::TermOf(ValueId extent) const {
  const BoundedValues& bounded = context_->bounded;
  if (const auto merged = bounded.merged.find(extent); merged != bounded.merged.end()) {
    SizeTerm product(1);
    // Regrouped has made the product once.
    for (const AxisPart& part : merged->second) {
      product = product.Times(part.holds).value_or(SizeTerm());
    }
    return product;
  }
  const auto known = bounded.term_of.find(extent);
  return known == bounded.term_of.end() ? SizeTerm::OfExtent(extent) : known->second;
}

SizeTerm OnnxNode::SizeOf(ValueId id, int64_t axis) const {
  const ValueId extent = ExtentsOf(id)[axis];
  return extent == kFullAxis ? SizeTerm(TypeOf(id).shape[axis]) : TermOf(extent);
}

AxisParts OnnxNode::PartsOf(ValueId id, int64_t axis) const {
  const auto merged = context_->bounded.merged.find(ExtentsOf(id)[axis]);
  if (merged != context_->bounded.merged.end()) return merged->second;
  return {{.holds = SizeOf(id, axis), .bound = TypeOf(id).shape[axis]}};
}

absl::Status OnnxNode::CarryTerms(const GraphNode& node, ValueId result) {
  const TensorType type = TypeOf(result);
  const bool any = std::any_of(node.inputs.begin(), node.inputs.end(), [this](ValueId input) {
    return context_->bounded.terms.contains(input);
  });
  const int64_t count = ElementCount(type.shape);
  if (!any || IsFloat(type.dtype) || count > kTermsMax) return absl::OkStatus();
  std::vector<std::vector<SizeTerm>> inputs;
  for (const ValueId input : node.inputs) {
    auto terms = TermsOf(input);
    if (!terms.has_value()) return absl::OkStatus();
    inputs.push_back(*std::move(terms));
  }
  if (node.op == "cast") {
    context_->bounded.terms[result] = inputs[0];
    return absl::OkStatus();
  }
  std::vector<SizeTerm> results;
  const std::map<ValueId, SizeRange>& ranges = context_->bounded.ranges;
  if (node.op == "reduce_prod" && count == 1) {
    std::optional<SizeTerm> product = SizeTerm(1);
    for (const SizeTerm& term : inputs[0]) {
      if (product.has_value()) product = product->Times(term);
    }
    if (!product.has_value()) return absl::OkStatus();
    results.push_back(*product);
  } else if ((node.op == "reduce_min" || node.op == "reduce_max") && count == 1) {
    ASSIGN_OR_RETURN(const auto chosen,
                     EmitExtreme(node.op == "reduce_min" ? "min" : "max", inputs[0]));
    if (chosen.has_value()) results.push_back(*chosen);
  } else if (IsMovement(OpName(node.op))) {
    // Of numbers that stand for terms, so that each operator moves them as it is defined.
    std::vector<SizeTerm> all;
    std::vector<TensorValue> values;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const TensorType& given = TypeOf(node.inputs[i]);
      TensorValue& value = values.emplace_back();
      value.dtype = given.dtype;
      value.shape = given.shape;
      const bool is_index = node.op == "gather" && i == 1;
      if (is_index && context_->bounded.terms.contains(node.inputs[i])) {
        return absl::OkStatus();
      }
      for (const SizeTerm& term : inputs[i]) {
        value.integers.push_back(is_index ? term.number() : static_cast<int64_t>(all.size()));
        all.push_back(term);
      }
    }
    GraphNode with_output = node;
    with_output.outputs = {-1};
    const auto moved = InterpretNode(context_->graph, with_output, values);
    if (!moved.ok()) return absl::OkStatus();
    for (const int64_t which : (*moved)[0].integers) results.push_back(all[which]);
  } else {
    std::optional<std::vector<SizeTerm>> computed =
        Computed(OpName(node.op), inputs, count, ranges);
    if (computed.has_value()) {
      results = *std::move(computed);
    } else if ((node.op == "min" || node.op == "max") && count == 1) {
      ASSIGN_OR_RETURN(const auto chosen, EmitExtreme(node.op == "min" ? "min" : "max",
                                                      {At(inputs[0], 0), At(inputs[1], 0)}));
      if (chosen.has_value()) results.push_back(*chosen);
    }
  }
  if (!results.empty()) context_->bounded.terms[result] = std::move(results);
  return absl::OkStatus();
}

absl::StatusOr<BoundedShape> OnnxNode::ShapeInput(int i, absl::string_view what) const {
  ASSIGN_OR_RETURN(const ValueId id, Input(i));
  const auto terms = context_->bounded.terms.find(id);
  BoundedShape shape;
  if (terms == context_->bounded.terms.end()) {
    ASSIGN_OR_RETURN(shape.bound, ConstantInts(i, what));
    for (const int64_t number : shape.bound) shape.terms.emplace_back(number);
    return shape;
  }
  shape.terms = terms->second;
  for (const SizeTerm& term : shape.terms) {
    const std::optional<SizeRange> range = RangeOf(term);
    if (!term.IsNumber() && (!range.has_value() || range->least < 0)) {
      return Unsupported(absl::StrCat(what, " (input ", i, ") has no bound"));
    }
    // An axis that may be empty is none that broadcasts.
    shape.bound.push_back(term.IsNumber() ? term.number() : std::max<int64_t>(range->greatest, 2));
  }
  return shape;
}

absl::StatusOr<ValueId> OnnxNode::ReshapeInRun(ValueId x,
                                               const std::vector<std::optional<SizeTerm>>& to) {
  std::vector<AxisParts> from;
  for (size_t d = 0; d < TypeOf(x).shape.size(); ++d) {
    from.push_back(PartsOf(x, static_cast<int64_t>(d)));
  }
  const auto dimensions = Regrouped(from, to, /*by_bound=*/false);
  if (!dimensions.has_value()) {
    return Unsupported(
        "the shape cuts a dimension whose extent only a run knows, or is not known to have as many "
        "elements in every run");
  }
  return EmitParts(x, *dimensions);
}

absl::StatusOr<ValueId> OnnxNode::EmitTerm(const SizeTerm& term) {
  if (term.IsNumber()) {
    return EmitConstant({DType::kI64, {}}, FromInts(DType::kI64, {term.number()}));
  }
  const auto known = context_->bounded.by_term.find(term);
  if (known != context_->bounded.by_term.end()) return known->second;
  const auto& [extents, factor] = *term.products().rbegin();
  ValueId sum = kFullAxis;
  if (term.products().size() > 1) {
    // What is before the last product comes first: ends of a Concat's parts are each one sum more.
    SizeTerm last(factor);
    for (const ValueId extent : extents) last = last.Times(SizeTerm::OfExtent(extent)).value();
    const std::optional<SizeTerm> before = term.Minus(last);
    if (!before.has_value()) return Unsupported("a size beyond 64 bits");
    ASSIGN_OR_RETURN(const ValueId left, EmitTerm(*before));
    ASSIGN_OR_RETURN(const ValueId right, EmitTerm(last));
    ASSIGN_OR_RETURN(sum, EmitWhole("add", {left, right}));
  } else {
    for (const ValueId extent : extents) {
      if (sum == kFullAxis) {
        sum = extent;
        continue;
      }
      ASSIGN_OR_RETURN(sum, EmitWhole("mul", {sum, extent}));
    }
    if (factor != 1) {
      ASSIGN_OR_RETURN(const ValueId number, EmitTerm(SizeTerm(factor)));
      ASSIGN_OR_RETURN(sum, EmitWhole("mul", {sum, number}));
    }
  }
  context_->bounded.by_term[term] = sum;
  if (!(SizeTerm::OfExtent(sum) == term)) context_->bounded.term_of[sum] = term;
  return sum;
}

absl::StatusOr<SizeTerm> OnnxNode::EmitChosen(const char* op, const SizeTerm& a,
                                              const SizeTerm& b) {
  const std::optional<SizeTerm> known = Combined(op, a, b, context_->bounded.ranges);
  if (known.has_value()) return *known;
  ASSIGN_OR_RETURN(const ValueId left, EmitTerm(a));
  ASSIGN_OR_RETURN(const ValueId right, EmitTerm(b));
  ValueId& chosen =
      context_->bounded.computed.try_emplace(absl::StrCat(op, " ", left, " ", right), kFullAxis)
          .first->second;
  if (chosen == kFullAxis) {
    ASSIGN_OR_RETURN(chosen, EmitWhole(op, {left, right}));
    const std::optional<SizeRange> one = RangeOf(a), other = RangeOf(b);
    if (one.has_value() && other.has_value()) {
      const bool is_max = absl::string_view(op) == "max";
      const auto pick = [is_max](int64_t x, int64_t y) {
        return is_max ? std::max(x, y) : std::min(x, y);
      };
      context_->bounded.ranges[chosen] = {pick(one->least, other->least),
                                          pick(one->greatest, other->greatest)};
    }
  }
  return SizeTerm::OfExtent(chosen);
}

absl::StatusOr<std::optional<SizeTerm>> OnnxNode::EmitExtreme(const char* op,
                                                              const std::vector<SizeTerm>& terms) {
  for (const SizeTerm& term : terms) {
    const std::optional<SizeRange> range = RangeOf(term);
    if (!range.has_value() || range->least < 0) return std::nullopt;
  }
  SizeTerm chosen = terms[0];
  for (const SizeTerm& term : terms) {
    ASSIGN_OR_RETURN(chosen, EmitChosen(op, chosen, term));
  }
  return chosen;
}

absl::StatusOr<SizeTerm> OnnxNode::EmitLesser(const SizeTerm& a, const SizeTerm& b) {
  return EmitChosen("min", a, b);
}

absl::StatusOr<SizeTerm> OnnxNode::EmitGreater(const SizeTerm& a, const SizeTerm& b) {
  return EmitChosen("max", a, b);
}

absl::StatusOr<SizeTerm> OnnxNode::EmitQuotient(const SizeTerm& a, int64_t number) {
  if (const auto exact = a.DividedBy(SizeTerm(number)); exact.has_value()) return *exact;
  if (a.IsNumber()) return SizeTerm(a.number() / number);
  ASSIGN_OR_RETURN(const ValueId dividend, EmitTerm(a));
  ValueId& quotient =
      context_->bounded.computed.try_emplace(absl::StrCat("div ", dividend, " ", number), kFullAxis)
          .first->second;
  if (quotient == kFullAxis) {
    ASSIGN_OR_RETURN(const ValueId divisor, EmitTerm(SizeTerm(number)));
    ASSIGN_OR_RETURN(quotient, EmitWhole("div", {dividend, divisor}));
    if (const std::optional<SizeRange> range = RangeOf(a); range.has_value()) {
      context_->bounded.ranges[quotient] = {range->least / number, range->greatest / number};
    }
  }
  return SizeTerm::OfExtent(quotient);
}

absl::StatusOr<ValueId> OnnxNode::HoldTerms(ValueId id, const std::vector<SizeTerm>& terms) {
  for (size_t d = 0; d < terms.size(); ++d) {
    if (terms[d].IsNumber()) continue;
    if (TypeOf(id).shape[d] < 2) return Unsupported("a dimension of at most one element");
    ASSIGN_OR_RETURN(const ValueId extent, EmitTerm(terms[d]));
    ASSIGN_OR_RETURN(id, SetExtent(id, static_cast<int64_t>(d), extent));
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

absl::StatusOr<ValueId> OnnxNode::EmitUnknownAs(ValueId constant, ValueId like) {
  const AxisExtents extents = ExtentsOf(like);
  for (size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] == kFullAxis) continue;
    ASSIGN_OR_RETURN(const ValueId extent, ExtentAt(like, static_cast<int64_t>(d)));
    return EmitUnknown(constant, extent);
  }
  return constant;
}

}  // namespace burnish
