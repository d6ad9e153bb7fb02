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
#include "compiler/frontend/onnx_import_context.h"

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
      {"softmax", Neutral::kLowest},
      {"log_softmax", Neutral::kLowest},
  };
  return neutral;
}

template <typename T>
ConstantPtr Limit(DType dtype, bool lowest) {
  return FromInts(dtype,
                  {lowest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max()});
}

ConstantPtr NumberOf(Neutral neutral, DType dtype) {
  if (neutral == Neutral::kZero || neutral == Neutral::kOne) {
    const int one = neutral == Neutral::kOne ? 1 : 0;
    return IsFloat(dtype) ? FromDoubles(dtype, {static_cast<double>(one)}) : FromInts(dtype, {one});
  }
  const bool lowest = neutral == Neutral::kLowest;
  const double infinity = std::numeric_limits<double>::infinity();
  switch (dtype) {
    case DType::kI64:
      return Limit<int64_t>(dtype, lowest);
    case DType::kI32:
      return Limit<int32_t>(dtype, lowest);
    case DType::kI8:
      return Limit<int8_t>(dtype, lowest);
    case DType::kU8:
      return Limit<uint8_t>(dtype, lowest);
    case DType::kBool:
      return FromInts(dtype, {lowest ? 0 : 1});
    default:
      return FromDoubles(dtype, {lowest ? -infinity : infinity});
  }
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

}  // namespace burnish
