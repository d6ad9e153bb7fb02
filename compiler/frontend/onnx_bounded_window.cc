// Windows along axes that a run sizes: convolutions, poolings, pads and sums up to each element
// (docs/adr/0013-bounded-axes.md).
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_import_context.h"

namespace burnish {
namespace {

// One axis of a window.
struct WindowAxis {
  int64_t reach = 1;  // From the first element to behind the last.
  int64_t stride = 1, begin = 0, end = 0, extra = 0;
};

WindowAxis WindowAt(const Attributes& attributes, const std::vector<int64_t>& kernel, size_t d) {
  const size_t rank = kernel.size();
  const auto at = [&](const char* name, size_t i, size_t count, int64_t fallback) {
    return attributes.Ints(name, std::vector<int64_t>(count, fallback))[i];
  };
  return {.reach = (kernel[d] - 1) * at("dilations", d, rank, 1) + 1,
          .stride = at("strides", d, rank, 1),
          .begin = at("pads", d, 2 * rank, 0),
          .end = at("pads", rank + d, 2 * rank, 0),
          .extra = at("output_padding", d, rank, 0)};
}

}  // namespace

absl::StatusOr<std::vector<ValueId>> OnnxNode::EmitBoundedWindow(absl::string_view op,
                                                                 std::vector<ValueId> inputs,
                                                                 Attributes attributes) {
  std::vector<int64_t> kernel = attributes.Ints("kernel_shape", {});
  const bool is_pool = op == "max_pool" || op == "average_pool";
  if (!is_pool) {
    const std::vector<int64_t>& weights = TypeOf(inputs[1]).shape;
    kernel.assign(weights.begin() + 2, weights.end());
  }
  std::map<int64_t, SizeTerm> windows;
  bool reads_behind = false;
  for (size_t d = 0; d < kernel.size(); ++d) {
    const auto axis = static_cast<int64_t>(d) + 2;
    if (ExtentsOf(inputs[0])[axis] == kFullAxis) continue;
    ASSIGN_OR_RETURN(inputs[0], PackedAlong(inputs[0], axis));
    const WindowAxis w = WindowAt(attributes, kernel, d);
    if (is_pool && attributes.Int("ceil_mode", 0) != 0) {
      return Unsupported("ceil_mode=1 along a dimension whose extent only a run knows");
    }
    if (op == "average_pool" && w.end > 0 && attributes.Int("count_include_pad", 0) == 0) {
      return Unsupported(
          "count_include_pad=0 with pads at the end of a dimension whose extent only a run knows");
    }
    const SizeTerm size = SizeOf(inputs[0], axis);
    std::optional<SizeTerm> holds;
    if (op == "conv_transpose") {
      // stride * (size - 1) + reach + extra - pads
      holds = size.Times(SizeTerm(w.stride));
      if (holds.has_value()) {
        holds = holds->Plus(SizeTerm(w.reach + w.extra - w.stride - w.begin - w.end));
      }
      reads_behind = true;
    } else {
      // (size + pads - reach) / stride + 1, and 0 where the window has no place.
      holds = size.Plus(SizeTerm(w.begin + w.end - w.reach + w.stride));
      reads_behind = reads_behind || w.end > 0;
    }
    if (!holds.has_value()) return Unsupported("a size beyond 64 bits");
    ASSIGN_OR_RETURN(windows[axis], EmitGreater(*holds, SizeTerm()));
    if (op != "conv_transpose") {
      ASSIGN_OR_RETURN(windows[axis], EmitQuotient(windows[axis], w.stride));
    }
  }
  if (reads_behind) {
    // What lies behind is what pads are. Elements that hold read no further than the pads.
    std::vector<int64_t> axes;
    for (const auto& [axis, holds] : windows) axes.push_back(axis);
    if (op == "max_pool") {
      ASSIGN_OR_RETURN(inputs[0], FilledLowestAlong(inputs[0], axes, /*lowest=*/true));
    } else {
      ASSIGN_OR_RETURN(inputs[0], FilledAlong(inputs[0], axes, 0));
    }
  }
  return EmitWindows(op, std::move(inputs), std::move(attributes), windows);
}

absl::StatusOr<std::vector<ValueId>> OnnxNode::EmitBoundedPad(ValueId x, Attributes attributes) {
  const std::vector<int64_t> pads = attributes.Ints("pads", {});
  const size_t rank = TypeOf(x).shape.size();
  std::map<int64_t, SizeTerm> windows;
  for (size_t d = 0; d < rank; ++d) {
    const auto axis = static_cast<int64_t>(d);
    if (ExtentsOf(x)[axis] == kFullAxis || (pads[d] == 0 && pads[rank + d] == 0)) continue;
    if (attributes.String("mode", "constant") != "constant") {
      return Unsupported(absl::StrCat("pads dimension ", d,
                                      ", whose extent only a run knows, by other than a constant"));
    }
    ASSIGN_OR_RETURN(x, PackedAlong(x, axis));
    const auto holds = SizeOf(x, axis).Plus(SizeTerm(pads[d] + pads[rank + d]));
    if (!holds.has_value()) return Unsupported("a size beyond 64 bits");
    windows[axis] = *holds;
  }
  if (!windows.empty()) {
    std::vector<int64_t> axes;
    for (const auto& [axis, holds] : windows) axes.push_back(axis);
    ASSIGN_OR_RETURN(x, FilledAlong(x, axes, attributes.Float("value", 0)));
  }
  return EmitWindows("pad", {x}, std::move(attributes), windows);
}

// From the beginning no sum sees what lies behind; from the end all do.
absl::StatusOr<std::vector<ValueId>> OnnxNode::EmitBoundedCumulation(std::vector<ValueId> inputs,
                                                                     Attributes attributes) {
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (IsBounded(inputs[i])) return Unsupported("takes no axis that only a run knows");
  }
  const auto rank = static_cast<int64_t>(TypeOf(inputs[0]).shape.size());
  ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(*this, attributes.Int("axis", 0), rank));
  ASSIGN_OR_RETURN(inputs[0], PackedAlong(inputs[0], axis));
  const AxisExtents packed = ExtentsOf(inputs[0]);
  if (attributes.Int("reverse", 0) != 0) {
    ASSIGN_OR_RETURN(inputs[0], FilledAlong(inputs[0], {axis}, 0));
  }
  ASSIGN_OR_RETURN(const std::vector<ValueId> results,
                   EmitPlain("cum_sum", std::move(inputs), std::move(attributes)));
  context_->bounded.extents[results[0]] = packed;
  return results;
}

}  // namespace burnish
