// Operators that are functions of the runtime: sorting, scattering, running sums.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_compose.h"

namespace burnish {
namespace {

absl::StatusOr<int64_t> ConstantInt(OnnxNode& node, int i, absl::string_view what) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> values, node.ConstantInts(i, what));
  if (values.size() == 1) return values[0];
  return node.Invalid(absl::StrCat(what, " has ", values.size(), " elements, want 1"));
}

// The node's first inputs, all of which must be there.
absl::StatusOr<std::vector<ValueId>> Inputs(const OnnxNode& node, int count) {
  std::vector<ValueId> values;
  for (int i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(values.emplace_back(), node.Input(i));
  }
  return values;
}

// `count`, where it is one of 0 to `most`; else the run ends with the node's name: the only element
// of a list is asked for by an index beyond the list.
absl::StatusOr<ValueId> CheckedCount(OnnxNode& node, ValueId count, ValueId most) {
  ASSIGN_OR_RETURN(const ValueId zero, node.EmitScalar(DType::kI64, 0));
  ASSIGN_OR_RETURN(const ValueId beyond, node.EmitScalar(DType::kI64, 1));
  ASSIGN_OR_RETURN(const ValueId is_count, node.Emit("greater_equal", {count, zero}));
  ASSIGN_OR_RETURN(const ValueId is_there, node.Emit("less_equal", {count, most}));
  ASSIGN_OR_RETURN(ValueId at, node.Emit("where", {is_there, zero, beyond}));
  ASSIGN_OR_RETURN(at, node.Emit("where", {is_count, at, beyond}));
  ASSIGN_OR_RETURN(const ValueId list, node.EmitReshape(count, {1}));
  Attributes attributes;
  attributes.Set("axis", int64_t{0});
  return node.Emit("gather", {list, at}, std::move(attributes));
}

// Of what a run fills in part, or as many as a run says: as many as it may say are sorted, of which
// the first hold. What does not hold comes last.
absl::Status TopKInRun(OnnxNode& node, ValueId x) {
  const auto rank = static_cast<int64_t>(node.TypeOf(x).shape.size());
  ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(node, node.Int("axis", -1), rank));
  const int64_t bound = node.TypeOf(x).shape[axis];
  if (bound < 2) return node.Unsupported("as many of one element as a run says");
  ASSIGN_OR_RETURN(x, node.PackedAlong(x, axis));
  AxisExtents extents = node.ExtentsOf(x);
  ASSIGN_OR_RETURN(const ValueId given, node.Input(1));
  if (ElementCount(node.TypeOf(given).shape) != 1) return node.Invalid("K is no number");
  ASSIGN_OR_RETURN(ValueId count, node.EmitReshape(given, {}));
  ASSIGN_OR_RETURN(const ValueId holding, node.ExtentAt(x, axis));
  int64_t most = bound;
  if (const GraphValue& value = node.context().graph.value(count); value.data != nullptr) {
    const int64_t wanted = ToInts(value.type, *value.data)[0];
    if (wanted < 1 || wanted > bound) {
      return node.Invalid(absl::StrCat("K is ", wanted, ", of at most ", bound, " elements"));
    }
    most = wanted;
  } else if (const auto terms = node.TermsOf(given); terms.has_value()) {
    // Detectors want the least of a number and of what there is.
    const std::optional<SizeRange> range = node.RangeOf(terms->front());
    if (range.has_value()) most = std::min(bound, range->greatest);
  }
  most = std::max<int64_t>(most, 2);  // An axis that may be empty is none that broadcasts.
  ASSIGN_OR_RETURN(count, CheckedCount(node, count, holding));
  const bool largest = node.Int("largest", 1) != 0;
  ASSIGN_OR_RETURN(const ValueId filled, node.FilledLowest(x, largest));
  Attributes attributes;
  attributes.Set("k", most);
  attributes.Set("axis", axis);
  attributes.Set("largest", int64_t{largest});
  ASSIGN_OR_RETURN(const std::vector<ValueId> results,
                   node.EmitCounted("top_k", {filled}, std::move(attributes)));
  extents[axis] = count;
  for (int i = 0; i < 2; ++i) {
    ValueId result = results[i];
    for (int64_t d = 0; d < rank; ++d) {
      if (extents[d] == kFullAxis) continue;
      ASSIGN_OR_RETURN(result, node.SetExtent(result, d, extents[d]));
    }
    node.SetOutput(i, result);
  }
  return absl::OkStatus();
}

absl::Status TopK(OnnxNode& node) {
  ASSIGN_OR_RETURN(std::vector<ValueId> inputs, Inputs(node, 1));
  int64_t k = node.Int("k", 0);
  const bool in_run = node.HasInput(1) && !node.context().graph.IsConstant(*node.Input(1));
  if (node.opset() >= 10 && (in_run || node.IsBounded(inputs[0]))) {
    return TopKInRun(node, inputs[0]);
  }
  if (node.opset() >= 10) {
    ASSIGN_OR_RETURN(k, ConstantInt(node, 1, "K"));
  }
  if (k == 0) {
    TensorType type = node.TypeOf(inputs[0]);
    ASSIGN_OR_RETURN(const int64_t axis,
                     NormalizeAxis(node, node.Int("axis", -1), type.shape.size()));
    type.shape[axis] = 0;
    for (int i = 0; i < 2; ++i) {
      if (i == 1) type.dtype = DType::kI64;
      ASSIGN_OR_RETURN(const ValueId nothing, node.EmitEmpty(type));
      node.SetOutput(i, nothing);
    }
    return absl::OkStatus();
  }
  Attributes attributes;
  attributes.Set("k", k);
  attributes.Set("axis", node.Int("axis", -1));
  attributes.Set("largest", node.Int("largest", 1));
  ASSIGN_OR_RETURN(const std::vector<ValueId> results,
                   node.EmitAll("top_k", std::move(inputs), std::move(attributes)));
  for (int i = 0; i < 2; ++i) node.SetOutput(i, results[i]);
  return absl::OkStatus();
}

OnnxTranslator Cumulate(const char* op) {
  return [op](OnnxNode& node) -> absl::Status {
    ASSIGN_OR_RETURN(std::vector<ValueId> inputs, Inputs(node, 1));
    ASSIGN_OR_RETURN(const int64_t axis, ConstantInt(node, 1, "axis"));
    if (node.IsEmpty(inputs[0])) {
      node.SetOutput(0, inputs[0]);
      return absl::OkStatus();
    }
    Attributes attributes;
    attributes.Set("axis", axis);
    attributes.Set("exclusive", node.Int("exclusive", 0));
    attributes.Set("reverse", node.Int("reverse", 0));
    return node.Finish(op, std::move(inputs), std::move(attributes));
  };
}

// A sum of bools is whether one of them is true, a product whether all are: as numbers, the
// greatest and the least.
absl::Status Scatter(OnnxNode& node, absl::string_view op, Attributes attributes) {
  ASSIGN_OR_RETURN(std::vector<ValueId> inputs, Inputs(node, 3));
  std::string reduction = node.String("reduction", "none");
  const bool is_bool = node.TypeOf(inputs[0]).dtype == DType::kBool && reduction != "none";
  if (is_bool) reduction = reduction == "add" ? "max" : reduction == "mul" ? "min" : reduction;
  attributes.Set("reduction", reduction);
  Composer c(node);
  for (const int i : {0, 2}) {
    if (is_bool) inputs[i] = c.Cast(inputs[i], DType::kU8);
  }
  const ValueId result = c.Op(op, std::move(inputs), std::move(attributes));
  c.Output(0, is_bool ? c.Cast(result, DType::kBool) : result);
  return c.status();
}

absl::Status ScatterElements(OnnxNode& node) {
  Attributes attributes;
  attributes.Set("axis", node.Int("axis", 0));
  return Scatter(node, "scatter_elements", std::move(attributes));
}

absl::Status ScatterNd(OnnxNode& node) { return Scatter(node, "scatter_nd", {}); }

}  // namespace

void AddHostTranslators(OnnxTranslators& t) {
  t["TopK"] = TopK;
  t["CumSum"] = Cumulate("cum_sum");
  t["CumProd"] = Cumulate("cum_prod");
  t["Scatter"] = ScatterElements;  // Its name up to opset 10.
  t["ScatterElements"] = ScatterElements;
  t["ScatterND"] = ScatterNd;
}

}  // namespace burnish
