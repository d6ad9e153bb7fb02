// Maximum and average over windows of 1, 2 or 3 spatial dimensions.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "compiler/te/ops/conv_shape.h"
#include "compiler/te/ops/families.h"

namespace burnish::ops {
namespace {

// The output extent of one dimension. With ceil_mode a last window may be cut short at the end, but
// none may begin in the padding behind the input.
int64_t OutputExtent(const ConvShape& s, int d, bool ceil_mode) {
  const int64_t reach = s.dilations[d] * (s.kernel[d] - 1) + 1;
  const int64_t room = s.in[d] + s.pads_begin[d] + s.pads_end[d] - reach;
  // A window may reach beyond the input by less than a stride: ONNX rounds the quotient towards 0
  // there, with ceil_mode or without. By less than two, there is no window; beyond that, no shape.
  if (room < 0) return 1 + room / s.strides[d];
  int64_t out = (ceil_mode ? (room + s.strides[d] - 1) / s.strides[d] : room / s.strides[d]) + 1;
  if (ceil_mode && (out - 1) * s.strides[d] >= s.in[d] + s.pads_begin[d]) --out;
  return out;
}

absl::StatusOr<ConvShape> PoolShapeOf(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 1, 1));
  RETURN_IF_ERROR(CheckNumber(inputs[0], "X"));
  ConvShape s;
  const std::vector<int64_t>& x = inputs[0].shape;
  s.dims = static_cast<int>(x.size()) - 2;
  if (s.dims < 1 || s.dims > 3) {
    return Bad("got X ", TypeText(inputs[0]), ", want 3, 4 or 5 dimensions");
  }
  s.channels_last = attributes.Int("channels_last", 0) != 0;
  s.batch = x[0];
  s.in_channels = s.out_channels = x[s.ChannelDim()];
  for (int d = 0; d < s.dims; ++d) s.in.push_back(x[s.SpatialDim(d)]);
  if (!attributes.Has("kernel_shape")) return Bad("got no kernel_shape, want one");
  ASSIGN_OR_RETURN(s.kernel, IntsAttribute(attributes, "kernel_shape", s.dims, 1, 1));
  ASSIGN_OR_RETURN(s.strides, IntsAttribute(attributes, "strides", s.dims, 1, 1));
  ASSIGN_OR_RETURN(s.dilations, IntsAttribute(attributes, "dilations", s.dims, 1, 1));
  ASSIGN_OR_RETURN(const std::vector<int64_t> pads,
                   IntsAttribute(attributes, "pads", 2 * s.dims, 0, 0));
  s.pads_begin.assign(pads.begin(), pads.begin() + s.dims);
  s.pads_end.assign(pads.begin() + s.dims, pads.end());
  for (int d = 0; d < s.dims; ++d) {
    s.out.push_back(OutputExtent(s, d, attributes.Int("ceil_mode", 0) != 0));
    const int64_t reach = s.dilations[d] * (s.kernel[d] - 1) + 1;
    if (s.out[d] < 0) {
      return Bad("got a window over ", reach, " elements, want at most the ",
                 s.in[d] + s.pads_begin[d] + s.pads_end[d],
                 " of the padded input, in spatial dimension ", d);
    }
    // A window wholly in the padding has no element: its maximum would be -infinity, its average 0
    // / 0.
    if (s.pads_begin[d] >= reach || s.pads_end[d] >= reach) {
      return Bad("got pads ", s.pads_begin[d], " and ", s.pads_end[d],
                 ", want less than the window of ", reach, ", in spatial dimension ", d);
    }
  }
  return s;
}

// How many taps of each window lie in [low, high) of the input's coordinates.
std::vector<int64_t> TapCounts(const ConvShape& s, int d, int64_t low, int64_t high) {
  std::vector<int64_t> counts;
  for (int64_t y = 0; y < s.out[d]; ++y) {
    int64_t count = 0;
    for (int64_t k = 0; k < s.kernel[d]; ++k) {
      const int64_t at = y * s.strides[d] - s.pads_begin[d] + k * s.dilations[d];
      count += at >= low && at < high;
    }
    counts.push_back(count);
  }
  return counts;
}

// Elements that each window of an average counts: a constant where all windows count the same.
Expr WindowSize(const ConvShape& s, bool count_pads, const Indices& out, DType dtype) {
  double constant = 1;
  Expr varying;
  for (int d = 0; d < s.dims; ++d) {
    const std::vector<int64_t> counts = TapCounts(s, d, count_pads ? -s.pads_begin[d] : 0,
                                                  count_pads ? s.in[d] + s.pads_end[d] : s.in[d]);
    if (counts.empty()) continue;  // The result has no elements.
    if (std::all_of(counts.begin(), counts.end(), [&](int64_t c) { return c == counts[0]; })) {
      constant *= static_cast<double>(counts[0]);
      continue;
    }
    // Near the edges windows are cut. A table by position is simpler than conditions, and each
    // dimension has its own, since counts multiply.
    const auto table =
        std::make_shared<ConstTable>(ConstTable{dtype, {s.out[d]}, {counts.begin(), counts.end()}});
    const Expr count = TableLoad(table, {out[d]});
    varying = varying == nullptr ? count : varying * count;
  }
  const Expr fixed = Float(constant, dtype);
  return varying == nullptr ? fixed : constant == 1 ? varying : varying * fixed;
}

// Block P where windows reach beyond the input, then block Y(n, y, x, c; ky, kx).
Tensor DefineWindows(TeBuilder& te, const Attributes& attributes, const Tensor& x,
                     Combiner combiner) {
  const absl::StatusOr<ConvShape> shape = PoolShapeOf(attributes, {x.type});
  CHECK_OK(shape);
  const ConvShape& s = *shape;
  std::vector<std::pair<int64_t, int64_t>> pads;
  for (int d = 0; d < s.dims; ++d) {
    // The padding that is read, not the one that is named: with ceil_mode the last window may reach
    // further, with a stride less far.
    const int64_t last =
        (s.out[d] - 1) * s.strides[d] + s.dilations[d] * (s.kernel[d] - 1) - s.pads_begin[d];
    pads.emplace_back(s.pads_begin[d], std::max<int64_t>(0, last - s.in[d] + 1));
  }
  const Tensor padded = PadWith(
      te, "P", x, s.Order<std::pair<int64_t, int64_t>>({0, 0}, {0, 0}, pads),
      // What the combiner leaves as it is: -infinity for a maximum, 0 for a sum.
      Identity(combiner, x.type.dtype), s.Order<std::string>("n", "c", InputAxisNames(s.dims)));
  TeBuilder::ReduceSpec spec;
  spec.axis_names = s.Order<std::string>("n", "c", OutputAxisNames(s.dims));
  spec.reduction_names = KernelAxisNames(s.dims);
  spec.reduction_extents = s.kernel;
  spec.combiner = combiner;
  spec.step = [&](const Indices& i, const Indices& k) {
    const Indices out = s.Spatial(i);
    Indices in;
    for (int d = 0; d < s.dims; ++d) in.push_back(out[d] * s.strides[d] + k[d] * s.dilations[d]);
    return padded(s.Order<Expr>(i[0], i[s.ChannelDim()], in));
  };
  if (combiner == Combiner::kSum) {
    const bool count_pads = attributes.Int("count_include_pad", 0) != 0;
    spec.finish = [&, count_pads](const Indices& i, const Expr& self) {
      return Binary(ExprKind::kDiv, self, WindowSize(s, count_pads, s.Spatial(i), self->dtype));
    };
  }
  return te.Reduce("Y", {x.type.dtype, s.Shape(s.out_channels, s.out)}, spec);
}

std::vector<Tensor> DefineMax(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  return {DefineWindows(te, attributes, inputs[0], Combiner::kMax)};
}
std::vector<Tensor> DefineAverage(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  return {DefineWindows(te, attributes, inputs[0], Combiner::kSum)};
}

InferResult InferMax(const Attributes& attributes, Types inputs) {
  ASSIGN_OR_RETURN(const ConvShape s, PoolShapeOf(attributes, inputs));
  return std::vector<TensorType>{{inputs[0].dtype, s.Shape(s.out_channels, s.out)}};
}

InferResult InferAverage(const Attributes& attributes, Types inputs) {
  ASSIGN_OR_RETURN(std::vector<TensorType> types, InferMax(attributes, inputs));
  RETURN_IF_ERROR(CheckFloat(inputs[0], "X"));
  return types;
}

}  // namespace

std::vector<OperatorDef> PoolOperators() {
  return {
      Row<&InferMax, &DefineMax>(OpId::kMaxPool, FusionKind::kReduction, LayoutRule::kChannelsLast),
      Row<&InferAverage, &DefineAverage>(OpId::kAveragePool, FusionKind::kReduction,
                                         LayoutRule::kChannelsLast),
  };
}

}  // namespace burnish::ops
