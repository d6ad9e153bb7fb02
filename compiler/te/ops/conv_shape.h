// The numbers of a convolution, read from its attributes and input types.
#ifndef COMPILER_TE_OPS_CONV_SHAPE_H_
#define COMPILER_TE_OPS_CONV_SHAPE_H_

#include <string>
#include <vector>

#include "compiler/te/ops/common.h"

namespace burnish::ops {

// Vectors have one value a spatial dimension.
struct ConvShape {
  int dims = 0;  // Spatial dimensions: 1, 2 or 3.
  bool channels_last = false;
  int64_t batch = 0;
  int64_t in_channels = 0;
  int64_t out_channels = 0;
  int64_t group = 1;
  std::vector<int64_t> in;
  std::vector<int64_t> kernel;
  std::vector<int64_t> out;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> pads_begin;
  std::vector<int64_t> pads_end;

  // Whether each channel has filters of its own that read nothing else.
  bool depthwise() const { return group > 1 && in_channels == group; }
  int64_t in_channels_per_group() const { return in_channels / group; }
  int64_t out_channels_per_group() const { return out_channels / group; }
  bool padded() const;

  // [batch, spatial.., channels] or [batch, channels, spatial..].
  std::vector<int64_t> Shape(int64_t channels, const std::vector<int64_t>& spatial) const;
  // The same order for index expressions, axis names, ..
  template <typename T>
  std::vector<T> Order(T n, T c, const std::vector<T>& spatial) const {
    std::vector<T> all = {std::move(n)};
    if (!channels_last) all.push_back(c);
    all.insert(all.end(), spatial.begin(), spatial.end());
    if (channels_last) all.push_back(std::move(c));
    return all;
  }
  // Position of spatial dimension d, and of the channels, among a tensor's dimensions.
  int SpatialDim(int d) const { return d + (channels_last ? 1 : 2); }
  int ChannelDim() const { return channels_last ? dims + 1 : 1; }
  // The spatial indices among those of a whole element.
  Indices Spatial(const Indices& all) const;
};

// conv: X, W [O, I/group, k..], optional bias [O]. INVALID_ARGUMENT says what does not fit; element
// types are the caller's.
absl::StatusOr<ConvShape> ConvShapeOf(const Attributes& attributes, Types inputs);
// conv_transpose: W is [I, O/group, k..].
absl::StatusOr<ConvShape> ConvTransposeShapeOf(const Attributes& attributes, Types inputs);

// Names of spatial axes, the outermost first: of outputs y, x; of inputs h, w; of taps ky, kx.
std::vector<std::string> OutputAxisNames(int dims);
std::vector<std::string> InputAxisNames(int dims);
std::vector<std::string> KernelAxisNames(int dims);

}  // namespace burnish::ops

#endif  // COMPILER_TE_OPS_CONV_SHAPE_H_
