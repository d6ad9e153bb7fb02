// Resize and its older form Upsample.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_resize_taps.h"

namespace burnish {
namespace {

// Where both are there, extents are the sizes, and positions go by the scales.
struct Target {
  std::vector<double> scales;  // Empty, or one a dimension.
  std::vector<int64_t> sizes;  // Empty, or one a dimension.
  std::vector<double> roi;     // Empty, or the begin of each dimension, then the end of each.
  double extrapolation_value = 0;
};

// Values given for `axes` only are 1 (scales) or the input's extent (sizes) elsewhere.
absl::Status SpreadOverAxes(OnnxNode& node, const std::vector<int64_t>& shape, Target& target) {
  const auto rank = static_cast<int64_t>(shape.size());
  if (!node.HasAttribute("axes")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<int64_t> axes,
                   NormalizeAxes(node, node.Ints("axes", {}), rank));
  if (!target.scales.empty()) {
    if (target.scales.size() != axes.size()) return node.Invalid("scales and axes disagree");
    std::vector<double> all(rank, 1.0);
    for (size_t i = 0; i < axes.size(); ++i) all[axes[i]] = target.scales[i];
    target.scales = all;
  }
  if (!target.sizes.empty()) {
    if (target.sizes.size() != axes.size()) return node.Invalid("sizes and axes disagree");
    std::vector<int64_t> all = shape;
    for (size_t i = 0; i < axes.size(); ++i) all[axes[i]] = target.sizes[i];
    target.sizes = all;
  }
  if (!target.roi.empty()) {
    if (target.roi.size() != 2 * axes.size()) return node.Invalid("roi and axes disagree");
    std::vector<double> all(2 * rank, 0.0);
    std::fill(all.begin() + rank, all.end(), 1.0);
    for (size_t i = 0; i < axes.size(); ++i) {
      all[axes[i]] = target.roi[i];
      all[rank + axes[i]] = target.roi[axes.size() + i];
    }
    target.roi = all;
  }
  return absl::OkStatus();
}

// keep_aspect_ratio_policy: one scale for all resized axes, the smallest or the largest.
absl::Status KeepAspectRatio(OnnxNode& node, const std::vector<int64_t>& shape, Target& target) {
  const std::string policy = node.String("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch" || target.sizes.empty()) return absl::OkStatus();
  if (ElementCount(shape) == 0) return node.Unsupported("an aspect ratio without elements");
  if (policy != "not_larger" && policy != "not_smaller") {
    return node.Invalid(absl::StrCat("keep_aspect_ratio_policy: got '", policy, "'"));
  }
  std::vector<int64_t> axes;
  for (size_t d = 0; d < shape.size(); ++d) axes.push_back(static_cast<int64_t>(d));
  ASSIGN_OR_RETURN(axes, NormalizeAxes(node, node.Ints("axes", axes), shape.size()));
  double scale = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const double s = static_cast<double>(target.sizes[axes[i]]) / shape[axes[i]];
    scale = i == 0 ? s : policy == "not_larger" ? std::min(scale, s) : std::max(scale, s);
  }
  target.scales.assign(shape.size(), 1.0);
  for (int64_t axis : axes) {
    target.scales[axis] = scale;
    // ONNX's round_int: to the nearest, halves upward.
    target.sizes[axis] = static_cast<int64_t>(std::floor(shape[axis] * scale + 0.5));
  }
  return absl::OkStatus();
}

absl::Status CheckTarget(OnnxNode& node, const std::vector<int64_t>& shape, const Target& target) {
  const size_t rank = shape.size();
  if (target.scales.empty() && target.sizes.empty()) {
    return node.Invalid("want either scales or sizes");
  }
  if (!target.scales.empty() && target.scales.size() != rank) {
    return node.Invalid(absl::StrCat("got ", target.scales.size(), " scales, want ", rank));
  }
  if (!target.sizes.empty() && target.sizes.size() != rank) {
    return node.Invalid(absl::StrCat("got ", target.sizes.size(), " sizes, want ", rank));
  }
  for (size_t d = 0; d < rank; ++d) {
    const double extent = target.sizes.empty() ? target.scales[d] * static_cast<double>(shape[d])
                                               : static_cast<double>(target.sizes[d]);
    // Negated, so that a NaN from the file is refused too.
    if (!(extent >= 0) || !(extent < 1 << 30)) {
      return node.Invalid(absl::StrCat("dimension ", d, " would become ", extent));
    }
  }
  return absl::OkStatus();
}

// The extents of the result; 0 where a scale leaves less than one element.
std::vector<int64_t> Extents(const std::vector<int64_t>& shape, const Target& target) {
  if (!target.sizes.empty()) return target.sizes;
  std::vector<int64_t> extents;
  for (size_t d = 0; d < shape.size(); ++d) {
    // In 32 bits, as they come: 2.0000002 elements are 2.
    extents.push_back(
        static_cast<int64_t>(static_cast<float>(target.scales[d]) * static_cast<float>(shape[d])));
  }
  return extents;
}

// ONNX aligns the corners of the extent before it is rounded down, ONNX Runtime those of the true
// one: a model's author had one of them in mind.
absl::Status CheckCorners(OnnxNode& node, const std::vector<int64_t>& shape, const Target& target) {
  if (!target.sizes.empty()) return absl::OkStatus();
  for (size_t d = 0; d < target.scales.size(); ++d) {
    const double extent = target.scales[d] * static_cast<double>(shape[d]);
    // Scales are 32-bit floats: 3 * (7 / 3) is no integer by some 1e-7 of itself.
    if (std::abs(extent - std::round(extent)) < 1e-5 * extent) continue;
    return node.Unsupported(absl::StrCat("align_corners with scale ", target.scales[d],
                                         " of extent ", shape[d],
                                         ": runtimes differ in what the corners are; give sizes"));
  }
  return absl::OkStatus();
}

absl::StatusOr<ValueId> ResizeByTaps(OnnxNode& node, ValueId x, const Target& target,
                                     const std::string& coordinates, const ResizeKernel& kernel) {
  Composer c(node);
  const int64_t rank = c.Rank(x);
  const std::vector<int64_t> extents = Extents(c.ShapeOf(x), target);
  for (int64_t d = 0; d < rank; ++d) {
    ResizeAxis axis{.coordinates = coordinates, .in = c.ShapeOf(x)[d], .out = extents[d]};
    const auto in = static_cast<double>(axis.in);
    axis.scale = target.scales.empty() ? static_cast<double>(axis.out) / in : target.scales[d];
    if (coordinates == "tf_crop_and_resize") {
      axis.crop_begin = target.roi[d];
      axis.crop_end = target.roi[rank + d];
    }
    const bool keeps =
        axis.out == axis.in && axis.scale == 1 && axis.crop_begin == 0 && axis.crop_end == 1;
    if (keeps) continue;
    x = EmitResizeAxis(c, x, d, axis, kernel);
    RETURN_IF_ERROR(c.status());
  }
  return x;
}

// As ONNX's reference does it: to the nearest, halves to even, within the type. (ONNX Runtime cuts
// fractions off where it does not antialias.)
ValueId RoundedTo(Composer& c, ValueId x, DType dtype) {
  const bool is_signed = !IsUnsigned(dtype);
  const int bits = IntBits(dtype) - (is_signed ? 1 : 0);
  // The greatest double below 2^64 is 2^64 - 2^11.
  const double high = std::ldexp(1.0, bits) - (bits > 53 ? std::ldexp(1.0, bits - 53) : 1);
  Attributes limits;
  limits.Set("min", is_signed ? -std::ldexp(1.0, bits) : 0.0);
  limits.Set("max", high);
  return c.Cast(c.Op("clip", {c.Op("round", {x})}, std::move(limits)), dtype);
}

absl::Status FinishResize(OnnxNode& node, ValueId x, const Target& target, std::string mode,
                          std::string coordinates, std::string nearest) {
  if (mode == "bilinear" || mode == "trilinear") mode = "linear";
  if (mode != "nearest" && mode != "linear" && mode != "cubic") {
    return node.Invalid(absl::StrCat("mode: got '", mode, "', want nearest, linear or cubic"));
  }
  const size_t roi_count = 2 * node.TypeOf(x).shape.size();
  if (coordinates == "tf_crop_and_resize" && target.roi.size() != roi_count) {
    return node.Invalid(
        absl::StrCat("got ", target.roi.size(), " values of roi, want ", roi_count));
  }
  RETURN_IF_ERROR(CheckTarget(node, node.TypeOf(x).shape, target));
  if (const Shape extents = Extents(node.TypeOf(x).shape, target); ElementCount(extents) == 0) {
    if (node.IsBounded(x)) return node.Unsupported("no elements beside a dimension of the run");
    ASSIGN_OR_RETURN(const ValueId nothing, node.EmitEmpty({node.TypeOf(x).dtype, extents}));
    node.SetOutput(0, nothing);
    return absl::OkStatus();
  }
  if (coordinates == "align_corners" && mode != "nearest") {
    RETURN_IF_ERROR(CheckCorners(node, node.TypeOf(x).shape, target));
  }
  const bool antialias = node.Int("antialias", 0) != 0 && mode != "nearest";
  const bool excludes = node.Int("exclude_outside", 0) != 0 && mode != "nearest";
  const DType dtype = node.TypeOf(x).dtype;
  const bool is_whole = mode != "nearest" && !IsFloat(dtype);
  Composer c(node);
  if (is_whole) {
    if (dtype == DType::kBool) return node.Unsupported("interpolation of bools");
    x = c.Cast(x, SizeBytes(dtype) > 2 ? DType::kF64 : DType::kF32);
  }
  const auto finish = [&](ValueId y) {
    c.Output(0, is_whole ? RoundedTo(c, y, dtype) : y);
    return c.status();
  };
  if (mode == "cubic" || antialias || excludes) {
    const ResizeKernel kernel = {.cubic = mode == "cubic",
                                 .cubic_a = node.Float("cubic_coeff_a", -0.75),
                                 .antialias = antialias,
                                 .exclude_outside = excludes,
                                 .extrapolation = target.extrapolation_value};
    ASSIGN_OR_RETURN(const ValueId y, ResizeByTaps(node, x, target, coordinates, kernel));
    return finish(y);
  }
  Attributes attributes;
  if (!target.scales.empty()) attributes.Set("scales", target.scales);
  if (!target.sizes.empty()) attributes.Set("sizes", target.sizes);
  if (coordinates == "tf_crop_and_resize") {
    attributes.Set("roi", target.roi);
    attributes.Set("extrapolation_value", target.extrapolation_value);
  }
  attributes.Set("mode", std::move(mode));
  attributes.Set("coordinate_transformation_mode", std::move(coordinates));
  attributes.Set("nearest_mode", std::move(nearest));
  return finish(c.Op("resize", {x}, std::move(attributes)));
}

absl::Status Upsample(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  Target target;
  target.scales = node.Floats("scales", {});
  // The scales were an attribute before.
  if (node.opset() >= 9) {
    ASSIGN_OR_RETURN(target.scales, node.ConstantFloats(1, "scales"));
  }
  return FinishResize(node, x, target, node.String("mode", "nearest"), "asymmetric", "floor");
}

// Sizes of the run may only be those that the dimensions have already.
absl::StatusOr<std::vector<int64_t>> ReadSizes(OnnxNode& node, ValueId x) {
  ASSIGN_OR_RETURN(BoundedShape sizes, node.ShapeInput(3, "sizes"));
  const std::vector<int64_t> shape = node.TypeOf(x).shape;
  std::vector<int64_t> axes(shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  ASSIGN_OR_RETURN(axes, NormalizeAxes(node, node.Ints("axes", axes), shape.size()));
  for (size_t i = 0; i < std::min(axes.size(), sizes.terms.size()); ++i) {
    if (sizes.terms[i].IsNumber()) continue;
    if (sizes.terms[i] != node.SizeOf(x, axes[i])) {
      return node.Unsupported(
          absl::StrCat("a size of the run for dimension ", axes[i], ", which has another one"));
    }
    sizes.bound[i] = shape[axes[i]];
  }
  return sizes.bound;
}

// Nearest elements as operator set 10 has them: the next one up where a dimension shrinks, the next
// one down where it grows. Dimensions are independent: this shrinks, and leaves scales of 1.
absl::StatusOr<ValueId> Shrunk(OnnxNode& node, ValueId x, Target& target) {
  RETURN_IF_ERROR(CheckTarget(node, node.TypeOf(x).shape, target));
  if (ElementCount(Extents(node.TypeOf(x).shape, target)) == 0) return x;
  std::vector<double> scales = target.scales;
  for (size_t d = 0; d < scales.size(); ++d) {
    scales[d] = std::min(scales[d], 1.0);
    target.scales[d] = std::max(target.scales[d], 1.0);
  }
  if (std::all_of(scales.begin(), scales.end(), [](double s) { return s == 1; })) return x;
  Attributes attributes;
  attributes.Set("scales", scales);
  attributes.Set("mode", std::string("nearest"));
  attributes.Set("coordinate_transformation_mode", std::string("asymmetric"));
  attributes.Set("nearest_mode", std::string("ceil"));
  return node.Emit("resize", {x}, std::move(attributes));
}

absl::Status Resize(OnnxNode& node) {
  ASSIGN_OR_RETURN(ValueId x, node.Input(0));
  const std::vector<int64_t> shape = node.TypeOf(x).shape;
  Target target;
  const std::string mode = node.String("mode", "nearest");
  // Resize had no modes of coordinates then, and did what Upsample does.
  if (node.opset() < 11) {
    ASSIGN_OR_RETURN(target.scales, node.ConstantFloats(1, "scales"));
    if (mode == "nearest") {
      ASSIGN_OR_RETURN(x, Shrunk(node, x, target));
    }
    return FinishResize(node, x, target, mode, "asymmetric", "floor");
  }
  const std::string coordinates = node.String("coordinate_transformation_mode", "half_pixel");
  if (coordinates == "tf_crop_and_resize") {  // Others ignore it.
    ASSIGN_OR_RETURN(target.roi, node.ConstantFloats(1, "roi"));
    target.extrapolation_value = node.Float("extrapolation_value", 0);
  }
  if (node.HasInput(2)) {  // Empty scales mean that sizes are given.
    ASSIGN_OR_RETURN(target.scales, node.ConstantFloats(2, "scales"));
  }
  if (node.HasInput(3) && target.scales.empty()) {
    ASSIGN_OR_RETURN(target.sizes, ReadSizes(node, x));
  }
  RETURN_IF_ERROR(SpreadOverAxes(node, shape, target));
  RETURN_IF_ERROR(CheckTarget(node, shape, target));
  RETURN_IF_ERROR(KeepAspectRatio(node, shape, target));
  return FinishResize(node, x, target, mode, coordinates,
                      node.String("nearest_mode", "round_prefer_floor"));
}

}  // namespace

void AddResizeTranslators(OnnxTranslators& t) {
  t["Upsample"] = Upsample;
  t["Resize"] = Resize;
}

}  // namespace burnish
