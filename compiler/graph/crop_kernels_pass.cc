#include "compiler/graph/crop_kernels_pass.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/graph/constant_origin.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/rewrite.h"

namespace burnish {
namespace {

// One spatial dimension of a convolution.
struct Dimension {
  int64_t in = 0, out = 0, taps = 0;
  int64_t stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;
};

struct Crop {
  int64_t first = 0, count = 0;  // Taps that stay.
  int64_t pad_begin = 0, pad_end = 0;
};

bool MeetsInput(const Dimension& d, int64_t tap) {
  const int64_t at = tap * d.dilation - d.pad_begin;  // Of output 0.
  // The first output at which this tap is at or behind the input's beginning. If it is past the end
  // there, it is so at all later ones.
  const int64_t output = at >= 0 ? 0 : (-at + d.stride - 1) / d.stride;
  return output < d.out && at + output * d.stride < d.in;
}

// Nullopt where no tap can go.
std::optional<Crop> CropOf(const Dimension& d) {
  int64_t first = 0, last = d.taps - 1;
  while (first < last && !MeetsInput(d, first)) ++first;
  while (last > first && !MeetsInput(d, last)) --last;
  // Behind the padding there is input that a tap of another output meets: it would have to be cut.
  first = std::min(first, d.pad_begin / d.dilation);
  last = std::max(last, d.taps - 1 - d.pad_end / d.dilation);
  const Crop crop{.first = first,
                  .count = last - first + 1,
                  .pad_begin = d.pad_begin - first * d.dilation,
                  .pad_end = d.pad_end - (d.taps - 1 - last) * d.dilation};
  if (crop.count == d.taps) return std::nullopt;
  return crop;
}

// The part of `shape` that begins at element `offset`.
OriginPtr CroppedOrigin(const GraphValue& weights, const std::vector<int64_t>& shape,
                        const std::vector<int64_t>& strides, int64_t offset) {
  std::vector<int64_t> axes, starts, ends;
  for (size_t d = 0; d < shape.size(); ++d) {
    axes.push_back(static_cast<int64_t>(d));
    starts.push_back(offset / strides[d]);
    ends.push_back(starts[d] + shape[d]);
    offset %= strides[d];
  }
  Attributes attributes;
  attributes.Set("axes", axes);
  attributes.Set("starts", starts);
  attributes.Set("ends", ends);
  return Apply(OpId::kSlice, {OriginOf(weights.type, weights.data)}, std::move(attributes));
}

}  // namespace

absl::Status CropKernels(Graph& graph) {
  bool changed = false;
  for (GraphNode& node : graph.nodes) {
    if (node.op != OpId::kConv || !graph.IsConstant(node.inputs[1])) continue;
    const GraphValue weights = graph.value(node.inputs[1]);
    const std::vector<int64_t>& x = graph.value(node.inputs[0]).type.shape;
    const std::vector<int64_t>& y = graph.value(node.outputs[0]).type.shape;
    const size_t dims = x.size() - 2;
    const size_t spatial = node.attributes.Int("channels_last", 0) != 0 ? 1 : 2;
    const std::vector<int64_t> ones(dims, 1);
    std::vector<int64_t> pads = node.attributes.Ints("pads", std::vector<int64_t>(2 * dims, 0));
    const std::vector<int64_t> strides = node.attributes.Ints("strides", ones);
    const std::vector<int64_t> dilations = node.attributes.Ints("dilations", ones);
    std::vector<int64_t> shape = weights.type.shape;
    const std::vector<int64_t> weight_strides = DenseStrides(shape);
    int64_t offset = 0;
    for (size_t d = 0; d < dims; ++d) {
      const std::optional<Crop> crop = CropOf({.in = x[spatial + d],
                                               .out = y[spatial + d],
                                               .taps = shape[2 + d],
                                               .stride = strides[d],
                                               .dilation = dilations[d],
                                               .pad_begin = pads[d],
                                               .pad_end = pads[dims + d]});
      if (!crop.has_value()) continue;
      shape[2 + d] = crop->count;
      pads[d] = crop->pad_begin;
      pads[dims + d] = crop->pad_end;
      offset += crop->first * weight_strides[2 + d];
    }
    if (shape == weights.type.shape) continue;
    const ConstantPtr cropped =
        StridedCopy(*weights.data, SizeBytes(weights.type.dtype), shape, weight_strides, offset);
    node.inputs[1] =
        AddConstant(graph, weights.name, {weights.type.dtype, shape},
                    WithOrigin(cropped, CroppedOrigin(weights, shape, weight_strides, offset)));
    node.attributes.Set("pads", pads);
    if (node.attributes.Has("kernel_shape")) {
      node.attributes.Set("kernel_shape", std::vector<int64_t>(shape.begin() + 2, shape.end()));
    }
    changed = true;
  }
  return changed ? Finish(graph) : absl::OkStatus();
}

}  // namespace burnish
