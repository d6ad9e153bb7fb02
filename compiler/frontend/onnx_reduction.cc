// The Reduce family and ArgMax, ArgMin. Axes come as an attribute or, in newer opsets, an input.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/status_macros.h"
#include "compiler/frontend/onnx_compose.h"

namespace burnish {
namespace {

// Over no elements the result is what an operator begins with.
absl::Status ReduceNothing(OnnxNode& node, absl::string_view op, ValueId x, const Shape& axes) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::map<absl::string_view, double> begins = {
      {"reduce_sum", 0},         {"reduce_l1", 0},         {"reduce_l2", 0},
      {"reduce_prod", 1},        {"reduce_sum_square", 0}, {"reduce_log_sum", -infinity},
      {"reduce_max", -infinity}, {"reduce_min", infinity}, {"reduce_log_sum_exp", -infinity}};
  const auto begin = begins.find(op);
  Composer c(node);
  const DType dtype = c.DTypeOf(x);
  if (begin == begins.end() ||
      (std::isinf(begin->second) && !IsFloat(dtype) && dtype != DType::kBool)) {
    return node.Unsupported("a reduction of no elements");
  }
  // Of bools the least is false and the greatest true.
  const double value = dtype == DType::kBool ? (op == "reduce_min" ? 1 : 0) : begin->second;
  Shape kept = c.ShapeOf(x), shape;
  for (const int64_t axis : axes) kept[axis] = 1;
  for (size_t d = 0; d < kept.size(); ++d) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
    if (!reduced || node.Int("keepdims", 1) != 0) shape.push_back(kept[d]);
  }
  ASSIGN_OR_RETURN(const int64_t count, CheckedElementCount(shape, 1 << 20, node.Label()));
  c.Output(0, c.Constant(dtype, shape, std::vector<double>(count, value)));
  return c.status();
}

// Roots and logarithms of integers are cut to integers, as ONNX's reference and ONNX Runtime do.
absl::Status Finish(OnnxNode& node, absl::string_view op, ValueId x, Attributes attributes) {
  Composer c(node);
  const DType dtype = c.DTypeOf(x);
  const std::set<absl::string_view> real = {"reduce_l2", "reduce_log_sum", "reduce_log_sum_exp"};
  if (IsFloat(dtype) || dtype == DType::kBool || real.count(op) == 0) {
    return node.Finish(op, {x}, std::move(attributes));
  }
  c.Output(0, c.Cast(c.Op(op, {c.Cast(x, DType::kF64)}, std::move(attributes)), dtype));
  return c.status();
}

// Over no axis: what the operator makes of each element alone.
absl::Status ReduceEach(OnnxNode& node, absl::string_view op, ValueId x) {
  const std::set<absl::string_view> same = {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min",
                                            "reduce_prod"};
  if (same.count(op) != 0) {
    node.SetOutput(0, x);
    return absl::OkStatus();
  }
  Shape shape = node.TypeOf(x).shape;
  const auto rank = static_cast<int64_t>(shape.size());
  shape.push_back(1);
  ASSIGN_OR_RETURN(const ValueId column, node.EmitReshape(x, std::move(shape)));
  Attributes attributes;
  attributes.Set("axes", std::vector<int64_t>{rank});
  attributes.Set("keepdims", int64_t{0});
  return Finish(node, op, column, std::move(attributes));
}

absl::Status Reduce(OnnxNode& node, absl::string_view op) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  const auto rank = static_cast<int64_t>(node.TypeOf(x).shape.size());
  std::vector<int64_t> axes = node.Ints("axes", {});
  if (node.HasInput(1)) {
    ASSIGN_OR_RETURN(axes, node.ConstantInts(1, "axes"));
  }
  ASSIGN_OR_RETURN(axes, NormalizeAxes(node, std::move(axes), rank));
  const bool each = rank == 0 || (axes.empty() && node.Int("noop_with_empty_axes", 0) != 0);
  if (axes.empty() && !each) {
    for (int64_t d = 0; d < rank; ++d) axes.push_back(d);
  }
  std::sort(axes.begin(), axes.end());
  if (ElementCount(node.TypeOf(x).shape) == 0) return ReduceNothing(node, op, x, axes);
  if (each) return ReduceEach(node, op, x);
  Attributes attributes;
  attributes.Set("axes", std::move(axes));
  attributes.Set("keepdims", node.Int("keepdims", 1));
  return Finish(node, op, x, std::move(attributes));
}

absl::Status ArgReduce(OnnxNode& node, absl::string_view op) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  ASSIGN_OR_RETURN(const int64_t axis,
                   NormalizeAxis(node, node.Int("axis", 0), node.TypeOf(x).shape.size()));
  Attributes attributes;
  attributes.Set("axis", axis);
  attributes.Set("keepdims", node.Int("keepdims", 1));
  attributes.Set("select_last_index", node.Int("select_last_index", 0));
  return node.Finish(op, {x}, std::move(attributes));
}

}  // namespace

void AddReductionTranslators(OnnxTranslators& t) {
  const std::pair<const char*, const char*> reductions[] = {
      {"ReduceSum", "reduce_sum"},
      {"ReduceMean", "reduce_mean"},
      {"ReduceMax", "reduce_max"},
      {"ReduceMin", "reduce_min"},
      {"ReduceProd", "reduce_prod"},
      {"ReduceL1", "reduce_l1"},
      {"ReduceL2", "reduce_l2"},
      {"ReduceLogSum", "reduce_log_sum"},
      {"ReduceSumSquare", "reduce_sum_square"},
      {"ReduceLogSumExp", "reduce_log_sum_exp"}};
  for (const auto& [onnx, op] : reductions) {
    t[onnx] = [op = std::string(op)](OnnxNode& node) { return Reduce(node, op); };
  }
  t["ArgMax"] = [](OnnxNode& node) { return ArgReduce(node, "argmax"); };
  t["ArgMin"] = [](OnnxNode& node) { return ArgReduce(node, "argmin"); };
}

}  // namespace burnish
