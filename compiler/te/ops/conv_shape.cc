#include "compiler/te/ops/conv_shape.h"

namespace burnish::ops {
namespace {

constexpr int kDimsMax = 3;

// What conv and conv_transpose check alike; leaves `out` and `out_channels` to them.
absl::StatusOr<ConvShape> CommonShape(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 2, 3));
  ConvShape s;
  const std::vector<int64_t>& x = inputs[0].shape;
  const std::vector<int64_t>& w = inputs[1].shape;
  s.dims = static_cast<int>(x.size()) - 2;
  if (s.dims < 1 || s.dims > kDimsMax) {
    return Bad("got X ", TypeText(inputs[0]), ", want 3, 4 or 5 dimensions");
  }
  if (w.size() != x.size()) {
    return Bad("got W ", TypeText(inputs[1]), ", want as many dimensions as X ",
               TypeText(inputs[0]));
  }
  s.channels_last = attributes.Int("channels_last", 0) != 0;
  s.batch = x[0];
  s.in_channels = x[s.ChannelDim()];
  for (int d = 0; d < s.dims; ++d) s.in.push_back(x[s.SpatialDim(d)]);
  s.kernel.assign(w.begin() + 2, w.end());
  s.group = attributes.Int("group", 1);
  if (s.group < 1 || s.in_channels % s.group != 0) {
    return Bad("got group=", s.group, ", want a divisor of X's ", s.in_channels, " channels");
  }
  ASSIGN_OR_RETURN(s.strides, IntsAttribute(attributes, "strides", s.dims, 1, 1));
  ASSIGN_OR_RETURN(s.dilations, IntsAttribute(attributes, "dilations", s.dims, 1, 1));
  ASSIGN_OR_RETURN(const std::vector<int64_t> pads,
                   IntsAttribute(attributes, "pads", 2 * s.dims, 0, 0));
  s.pads_begin.assign(pads.begin(), pads.begin() + s.dims);
  s.pads_end.assign(pads.begin() + s.dims, pads.end());
  return s;
}

absl::Status CheckBias(const ConvShape& s, Types inputs) {
  if (inputs.size() < 3) return absl::OkStatus();
  return CheckShape(inputs[2], {s.out_channels}, "the bias");
}

std::vector<std::string> LastOf(std::vector<std::string> names, int dims) {
  names.erase(names.begin(), names.end() - dims);
  return names;
}

}  // namespace

bool ConvShape::padded() const {
  for (int d = 0; d < dims; ++d) {
    if (pads_begin[d] != 0 || pads_end[d] != 0) return true;
  }
  return false;
}

std::vector<int64_t> ConvShape::Shape(int64_t channels, const std::vector<int64_t>& spatial) const {
  return Order<int64_t>(batch, channels, spatial);
}

Indices ConvShape::Spatial(const Indices& all) const {
  const auto begin = all.begin() + SpatialDim(0);
  return Indices(begin, begin + dims);
}

absl::StatusOr<ConvShape> ConvShapeOf(const Attributes& attributes, Types inputs) {
  ASSIGN_OR_RETURN(ConvShape s, CommonShape(attributes, inputs));
  s.out_channels = inputs[1].shape[0];
  if (inputs[1].shape[1] != s.in_channels_per_group()) {
    return Bad("got W ", TypeText(inputs[1]), ", want ", s.in_channels_per_group(),
               " input channels in its dimension 1 (", s.in_channels, " of X, group ", s.group,
               ")");
  }
  if (s.out_channels % s.group != 0) {
    return Bad("got group=", s.group, ", want a divisor of the ", s.out_channels, " filters");
  }
  for (int d = 0; d < s.dims; ++d) {
    const int64_t reach = s.dilations[d] * (s.kernel[d] - 1) + 1;
    const int64_t room = s.in[d] + s.pads_begin[d] + s.pads_end[d] - reach;
    if (room < 0) {
      return Bad("got a kernel that reaches over ", reach, " elements, want at most the ",
                 room + reach, " of the padded input, in spatial dimension ", d);
    }
    // Rounded down: elements that are left over at the end are not read.
    s.out.push_back(room / s.strides[d] + 1);
  }
  RETURN_IF_ERROR(CheckBias(s, inputs));
  return s;
}

absl::StatusOr<ConvShape> ConvTransposeShapeOf(const Attributes& attributes, Types inputs) {
  ASSIGN_OR_RETURN(ConvShape s, CommonShape(attributes, inputs));
  if (inputs[1].shape[0] != s.in_channels) {
    return Bad("got W ", TypeText(inputs[1]), ", want ", s.in_channels,
               " input channels in its dimension 0");
  }
  s.out_channels = inputs[1].shape[1] * s.group;
  ASSIGN_OR_RETURN(const std::vector<int64_t> extra,
                   IntsAttribute(attributes, "output_padding", s.dims, 0, 0));
  for (int d = 0; d < s.dims; ++d) {
    const int64_t out = (s.in[d] - 1) * s.strides[d] + s.dilations[d] * (s.kernel[d] - 1) + 1 +
                        extra[d] - s.pads_begin[d] - s.pads_end[d];
    if (out < 1) {
      return Bad("got pads that leave ", out, " elements, want at least 1, in spatial dimension ",
                 d);
    }
    // As ONNX wants it for ConvTranspose.
    if (extra[d] >= std::max(s.strides[d], s.dilations[d])) {
      return Bad("got output_padding=", extra[d], ", want less than the stride or the dilation");
    }
    s.out.push_back(out);
  }
  RETURN_IF_ERROR(CheckBias(s, inputs));
  return s;
}

std::vector<std::string> OutputAxisNames(int dims) { return LastOf({"z", "y", "x"}, dims); }
std::vector<std::string> InputAxisNames(int dims) { return LastOf({"d", "h", "w"}, dims); }
std::vector<std::string> KernelAxisNames(int dims) { return LastOf({"kz", "ky", "kx"}, dims); }

}  // namespace burnish::ops
