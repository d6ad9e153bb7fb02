// The Reduce family and ArgMax, ArgMin. Axes come as an attribute or, in newer opsets, an input.
#include <set>
#include <utility>

#include "base/status_macros.h"
#include "compiler/frontend/onnx_import_context.h"

namespace burnish {
namespace {

absl::Status Reduce(OnnxNode& node, absl::string_view op) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  const auto rank = static_cast<int64_t>(node.TypeOf(x).shape.size());
  std::vector<int64_t> axes = node.Ints("axes", {});
  if (node.HasInput(1)) {
    ASSIGN_OR_RETURN(axes, node.ConstantInts(1, "axes"));
  }
  ASSIGN_OR_RETURN(axes, NormalizeAxes(node, std::move(axes), rank));
  if (axes.empty()) {
    if (node.Int("noop_with_empty_axes", 0) != 0) {
      // Over no axis: the operators that change a single element are not the identity.
      const std::set<absl::string_view> kept = {"reduce_sum", "reduce_mean", "reduce_max",
                                                "reduce_min", "reduce_prod"};
      if (kept.count(op) == 0) return node.Unsupported("noop_with_empty_axes is not supported");
      node.SetOutput(0, x);
      return absl::OkStatus();
    }
    for (int64_t d = 0; d < rank; ++d) axes.push_back(d);
  }
  if (rank == 0) {
    return node.Unsupported("a reduction of a scalar is not supported");
  }
  std::sort(axes.begin(), axes.end());
  Attributes attributes;
  attributes.Set("axes", std::move(axes));
  attributes.Set("keepdims", node.Int("keepdims", 1));
  return node.Finish(op, {x}, std::move(attributes));
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
