// Reductions over axes of which a run fills a part: what does not hold becomes the neutral element,
// each by a rule that says why nothing else of it is seen (docs/adr/0013-bounded-axes.md).
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_compose.h"

namespace burnish {
namespace {

enum class Neutral { kZero, kOne, kLowest, kHighest };

// Where the least number is the neutral element: a maximum is the other operand, and exp of it is
// 0.
const std::map<std::string, Neutral>& NeutralOfReductions() {
  static const auto& neutral = *new std::map<std::string, Neutral>{
      {"reduce_sum", Neutral::kZero},         // x + 0
      {"reduce_l1", Neutral::kZero},          // sum |x|
      {"reduce_l2", Neutral::kZero},          // sqrt(sum x^2)
      {"reduce_sum_square", Neutral::kZero},  // sum x^2
      {"reduce_log_sum", Neutral::kZero},     // log(sum x)
      {"reduce_prod", Neutral::kOne},         // x * 1
      {"reduce_max", Neutral::kLowest},
      {"reduce_min", Neutral::kHighest},
      // The first of equal elements is the result, and what does not hold is behind all that does.
      {"argmax", Neutral::kLowest},
      {"argmin", Neutral::kHighest},
      // exp(-inf - maximum) = 0 is a term that the sum does not see.
      {"reduce_log_sum_exp", Neutral::kLowest},
      {"softmax", Neutral::kLowest},
      {"log_softmax", Neutral::kLowest},
  };
  return neutral;
}

ConstantPtr NumberOf(Neutral neutral, DType dtype) {
  if (neutral == Neutral::kZero || neutral == Neutral::kOne) {
    const int one = neutral == Neutral::kOne ? 1 : 0;
    return IsFloat(dtype) ? FromDoubles(dtype, {static_cast<double>(one)}) : FromInts(dtype, {one});
  }
  const bool lowest = neutral == Neutral::kLowest;
  const double infinity = std::numeric_limits<double>::infinity();
  if (IsFloat(dtype)) return FromDoubles(dtype, {lowest ? -infinity : infinity});
  // As bits: the greatest u64 has all of them.
  const IntLimits limits = dtype == DType::kU64 ? IntLimits{0, -1} : LimitsOf(dtype);
  return FromInts(dtype, {lowest ? limits.least : limits.greatest});
}

// The axis of each operand that a product of matrices adds up over.
std::optional<std::pair<size_t, size_t>> ContractedAxes(absl::string_view op,
                                                        const Attributes& attributes, size_t rank_a,
                                                        size_t rank_b) {
  if ((op != "matmul" && op != "gemm") || rank_a == 0 || rank_b == 0) return std::nullopt;
  const bool turned_a = attributes.Int("trans_a", 0) != 0 && rank_a > 1;
  const bool turned_b = attributes.Int("trans_b", 0) != 0 && rank_b > 1;
  return std::pair(turned_a ? rank_a - 2 : rank_a - 1,
                   turned_b || rank_b == 1 ? rank_b - 1 : rank_b - 2);
}

}  // namespace

absl::StatusOr<ValueId> OnnxNode::FilledLowest(ValueId id, bool lowest) {
  return FilledWith(id, NumberOf(lowest ? Neutral::kLowest : Neutral::kHighest, TypeOf(id).dtype));
}

absl::StatusOr<ValueId> OnnxNode::FilledLowestAlong(ValueId id, const std::vector<int64_t>& axes,
                                                    bool lowest) {
  return FilledWith(id, NumberOf(lowest ? Neutral::kLowest : Neutral::kHighest, TypeOf(id).dtype),
                    &axes);
}

absl::Status OnnxNode::FillReduced(absl::string_view op, const Attributes& attributes,
                                   std::vector<ValueId>& inputs,
                                   std::vector<AxisExtents>& extents) {
  if (const auto axes = inputs.size() < 2 ? std::nullopt
                                          : ContractedAxes(op, attributes, extents[0].size(),
                                                           extents[1].size())) {
    ValueId &a = extents[0][axes->first], &b = extents[1][axes->second];
    if (a == kFullAxis || a != b) return absl::OkStatus();
    // Both: 0 times what does not hold may be NaN.
    for (size_t i = 0; i < 2; ++i) {
      const auto axis = static_cast<int64_t>(i == 0 ? axes->first : axes->second);
      if (context_->bounded.zero_behind.contains({inputs[i], axis})) continue;
      ASSIGN_OR_RETURN(inputs[i], FilledAlong(inputs[i], {axis}, 0));
    }
    a = b = kFullAxis;
    return absl::OkStatus();
  }
  const auto rule = NeutralOfReductions().find(std::string(op));
  if (rule == NeutralOfReductions().end() || attributes.Int("select_last_index", 0) != 0) {
    return absl::OkStatus();
  }
  const auto rank = static_cast<int64_t>(extents[0].size());
  const int64_t fallback = op == "softmax" || op == "log_softmax" ? -1 : 0;
  std::vector<int64_t> axes = {attributes.Int("axis", fallback)};
  if (attributes.Has("axes")) axes = attributes.Ints("axes", {});
  ASSIGN_OR_RETURN(axes, NormalizeAxes(*this, std::move(axes), rank));
  bool any = false;
  for (const int64_t axis : axes) {
    any = any || extents[0][axis] != kFullAxis;
    extents[0][axis] = kFullAxis;
  }
  if (!any) return absl::OkStatus();
  ASSIGN_OR_RETURN(inputs[0],
                   FilledWith(inputs[0], NumberOf(rule->second, TypeOf(inputs[0]).dtype), &axes));
  return absl::OkStatus();
}

// The sum over as many elements as hold. Of none it is NaN, as NumPy's.
absl::StatusOr<std::vector<ValueId>> OnnxNode::EmitBoundedMean(ValueId x, Attributes attributes) {
  const auto rank = static_cast<int64_t>(TypeOf(x).shape.size());
  ASSIGN_OR_RETURN(const std::vector<int64_t> axes,
                   NormalizeAxes(*this, attributes.Ints("axes", {}), rank));
  ASSIGN_OR_RETURN(ValueId count, EmitConstant({DType::kI64, {}}, FromInts(DType::kI64, {1})));
  for (const int64_t axis : axes) {
    ASSIGN_OR_RETURN(const ValueId extent, ExtentAt(x, axis));
    ASSIGN_OR_RETURN(count, Emit("mul", {count, extent}));
  }
  Attributes to;
  to.Set("to", std::string(DTypeName(TypeOf(x).dtype)));
  ASSIGN_OR_RETURN(const ValueId divisor, Emit("cast", {count}, std::move(to)));
  ASSIGN_OR_RETURN(const ValueId sum, Emit("reduce_sum", {x}, std::move(attributes)));
  return EmitAll("div", {sum, divisor});
}

// By its formula, which sees what holds. Statistics are f32 for 16-bit floats, as in the operators.
absl::StatusOr<std::vector<ValueId>> OnnxNode::EmitBoundedNormalization(
    const std::vector<ValueId>& inputs, const Attributes& attributes) {
  Composer c(*this);
  const DType dtype = c.DTypeOf(inputs[0]);
  const bool is_stored = IsStorageFloat(dtype);
  const auto wide = [&](ValueId id) { return is_stored ? c.Cast(id, DType::kF32) : id; };
  const Shape shape = c.ShapeOf(inputs[0]);
  const int64_t channels = shape[1], groups = attributes.Int("num_groups", channels);
  Shape parts = shape, axes = {2}, by_channel(shape.size() + 1, 1);
  parts[1] = groups;
  parts.insert(parts.begin() + 2, channels / groups);
  by_channel[1] = groups;
  by_channel[2] = channels / groups;
  for (size_t d = 2; d < shape.size(); ++d) axes.push_back(static_cast<int64_t>(d) + 1);
  const ValueId x = c.Reshape(wide(inputs[0]), parts);
  const ValueId centred = c.Sub(x, c.Reduce("reduce_mean", x, axes));
  const ValueId variance = c.Reduce("reduce_mean", c.Mul(centred, centred), axes);
  const ValueId root = c.Op("sqrt", {c.Add(variance, attributes.Float("epsilon", 1e-5))});
  const ValueId scaled = c.Mul(c.Div(centred, root), c.Reshape(wide(inputs[1]), by_channel));
  const ValueId y = c.Reshape(c.Add(scaled, c.Reshape(wide(inputs[2]), by_channel)), shape);
  const ValueId result = is_stored ? c.Cast(y, dtype) : y;
  RETURN_IF_ERROR(c.status());
  return std::vector<ValueId>{result};
}

}  // namespace burnish
