// Resize: nearest and linear interpolation, with ONNX's coordinate transformations.
//
// Of sizes and scales one is enough: extents are the sizes, positions go by the scales.
//
// Source positions depend on the output position only. They are computed here, in f32 as ONNX
// Runtime does it (in f64 between elements of f64), and become constant tables of the definition,
// or a division where they are one. The nearest element by sizes is found in f64, where halves and
// whole positions are exact: one that is missed is another element. Those of a crop are not: its
// shares are 32-bit numbers.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/check.h"
#include "compiler/te/ops/common.h"
#include "compiler/te/ops/families.h"

namespace burnish::ops {
namespace {

struct ResizeShape {
  std::vector<double> scales;
  std::vector<int64_t> out;
};

bool OneOf(const std::string& value, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return value == name; });
}

absl::StatusOr<ResizeShape> ResizeShapeOf(const Attributes& attributes, const TensorType& x) {
  const size_t rank = x.shape.size();
  const std::vector<int64_t> sizes = attributes.Ints("sizes", {});
  const std::vector<double> scales = attributes.Floats("scales", {});
  ResizeShape shape;
  if (sizes.empty() && scales.empty()) return Bad("got neither sizes nor scales");
  for (const size_t given : {sizes.size(), scales.size()}) {
    if (given == 0 || given == rank) continue;
    return Bad("got ", given, " sizes or scales, want one for each of the ", rank, " dimensions");
  }
  for (size_t d = 0; d < rank; ++d) {
    const auto in = static_cast<double>(x.shape[d]);
    shape.scales.push_back(scales.empty() ? static_cast<double>(sizes[d]) / in : scales[d]);
    const float extent = static_cast<float>(shape.scales[d]) * static_cast<float>(in);
    if (!(extent < 2147483648.0f)) return Bad("got a scale of ", shape.scales[d], ", want less");
    shape.out.push_back(sizes.empty() ? static_cast<int64_t>(extent) : sizes[d]);
    if (shape.out[d] < 1 || !(static_cast<float>(shape.scales[d]) > 0)) {
      return Bad("got an output of ", shape.out[d], " elements, want at least 1, in dimension ", d);
    }
  }
  return shape;
}

InferResult Infer(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 1, 1));
  RETURN_IF_ERROR(CheckNotEmpty(inputs));
  const std::string mode = attributes.String("mode", "nearest");
  if (!OneOf(mode, {"nearest", "linear"})) {
    return Bad("got mode=", mode, ", want nearest or linear");
  }
  const std::string transform = attributes.String("coordinate_transformation_mode", "half_pixel");
  if (!OneOf(transform,
             {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
              "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"})) {
    return Bad("got coordinate_transformation_mode=", transform,
               ", want half_pixel, half_pixel_symmetric, pytorch_half_pixel, align_corners, "
               "asymmetric, tf_crop_and_resize or tf_half_pixel_for_nn");
  }
  const size_t roi_count = transform == "tf_crop_and_resize" ? 2 * inputs[0].shape.size() : 0;
  if (attributes.Floats("roi", {}).size() != roi_count) {
    return Bad("got ", attributes.Floats("roi", {}).size(), " values of roi, want ", roi_count);
  }
  const std::string rounding = attributes.String("nearest_mode", "round_prefer_floor");
  if (!OneOf(rounding, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})) {
    return Bad("got nearest_mode=", rounding,
               ", want round_prefer_floor, round_prefer_ceil, floor or ceil");
  }
  if (mode == "linear") RETURN_IF_ERROR(CheckFloat(inputs[0], "linear interpolation"));
  ASSIGN_OR_RETURN(ResizeShape shape, ResizeShapeOf(attributes, inputs[0]));
  return std::vector<TensorType>{{inputs[0].dtype, std::move(shape.out)}};
}

// How positions of one dimension map to the input's.
struct Transform {
  std::string mode;
  double scale = 1;
  bool is_ratio = false;  // The scale is out / in.
  int64_t out = 1;
  int64_t in = 1;
  // Of tf_crop_and_resize: the part of the input that is shown, as shares of its extent.
  double crop_begin = 0;
  double crop_end = 1;

  bool IsCrop() const { return mode == "tf_crop_and_resize"; }
};

// The position in the input, not yet rounded or clamped. T: float or double.
template <typename T>
T SourcePosition(const Transform& t, int64_t at) {
  const auto x = static_cast<T>(at);
  const auto out_size = static_cast<T>(t.out);
  const auto in_size = static_cast<T>(t.in);
  const auto scale = static_cast<T>(t.scale);
  const T half = 0.5;
  const auto over_scale = [&](T v) {
    return std::is_same_v<T, double> && t.is_ratio ? v * in_size / out_size : v / scale;
  };
  if (t.mode == "asymmetric") return over_scale(x);
  if (t.mode == "tf_half_pixel_for_nn") return over_scale(x + half);
  if (t.mode == "align_corners") return t.out == 1 ? 0 : x * (in_size - 1) / (out_size - 1);
  if (t.mode == "pytorch_half_pixel") return t.out > 1 ? over_scale(x + half) - half : 0;
  if (t.mode == "half_pixel_symmetric") {
    const T adjustment = out_size / (scale * in_size);
    return in_size / 2 * (1 - adjustment) + over_scale(x + half) - half;
  }
  if (t.IsCrop()) {
    const auto begin = static_cast<T>(t.crop_begin), end = static_cast<T>(t.crop_end);
    if (t.out == 1) return half * (begin + end) * (in_size - 1);
    return begin * (in_size - 1) + x * (end - begin) * (in_size - 1) / (out_size - 1);
  }
  return over_scale(x + half) - half;
}

template <typename T>
int64_t Rounded(const std::string& rounding, T x) {
  const T half = 0.5;
  if (rounding == "floor") return static_cast<int64_t>(std::floor(x));
  if (rounding == "ceil") return static_cast<int64_t>(std::ceil(x));
  if (rounding == "round_prefer_ceil") return static_cast<int64_t>(std::floor(x + half));
  return static_cast<int64_t>(std::ceil(x - half));
}

// `i` mapped through positions[i]: the identity, a division or a product where it is one.
Expr Mapped(const std::vector<int64_t>& positions, const Expr& i) {
  const auto matches = [&](const std::function<int64_t(int64_t)>& map) {
    for (size_t k = 0; k < positions.size(); ++k) {
      if (positions[k] != map(static_cast<int64_t>(k))) return false;
    }
    return true;
  };
  if (matches([](int64_t k) { return k; })) return i;
  const auto first_one = std::find(positions.begin(), positions.end(), 1);
  const int64_t factor = first_one - positions.begin();
  if (factor > 0 && matches([&](int64_t k) { return k / factor; })) return FloorDiv(i, factor);
  const int64_t offset = positions[0];
  const int64_t step = positions.size() > 1 ? positions[1] - positions[0] : 1;
  if (matches([&](int64_t k) { return k * step + offset; })) return i * step + offset;
  return TableLoad(std::make_shared<ConstTable>(ConstTable{DType::kI64,
                                                           {static_cast<int64_t>(positions.size())},
                                                           {positions.begin(), positions.end()}}),
                   {i});
}

// The two elements between which an output lies, and the share of the upper one.
struct Interpolation {
  std::vector<int64_t> low;
  std::vector<int64_t> high;
  std::vector<double> share;
};

template <typename T>
Interpolation LinearPositions(const Transform& t) {
  Interpolation result;
  for (int64_t k = 0; k < t.out; ++k) {
    const T at = std::clamp<T>(SourcePosition<T>(t, k), 0, static_cast<T>(t.in - 1));
    const auto low = static_cast<int64_t>(at);
    result.low.push_back(low);
    result.high.push_back(std::min(low + 1, t.in - 1));
    result.share.push_back(static_cast<double>(at - static_cast<T>(low)));
  }
  return result;
}

class Definition {
 public:
  Definition(const Attributes& attributes, const Tensor& x) : x_(x) {
    absl::StatusOr<ResizeShape> shape = ResizeShapeOf(attributes, x.type);
    CHECK_OK(shape);
    shape_ = *std::move(shape);
    linear_ = attributes.String("mode", "nearest") == "linear";
    has_sizes_ = attributes.Has("sizes");
    const std::string mode = attributes.String("coordinate_transformation_mode", "half_pixel");
    const std::vector<double> roi = attributes.Floats("roi", {});
    for (int d = 0; d < x.rank(); ++d) {
      Transform& t = transforms_.emplace_back();
      t = {.mode = mode,
           .scale = shape_.scales[d],
           .is_ratio = !attributes.Has("scales"),
           .out = shape_.out[d],
           .in = x.dim(d)};
      if (!t.IsCrop()) continue;
      t.crop_begin = roi[d];
      t.crop_end = roi[x.rank() + d];
    }
    extrapolation_value_ = attributes.Float("extrapolation_value", 0);
    rounding_ = attributes.String("nearest_mode", "round_prefer_floor");
  }

  TensorType type() const { return {x_.type.dtype, shape_.out}; }
  Expr At(const Indices& i) const { return Cropped(i, linear_ ? Linear(0, i, i) : Nearest(i)); }

 private:
  bool Keeps(int d) const {
    const Transform& t = transforms_[d];
    return t.out == t.in && t.scale == 1 && t.crop_begin == 0 && t.crop_end == 1;
  }

  // A crop may show what lies outside of the input: that is the extrapolation value.
  Expr Cropped(const Indices& i, Expr value) const {
    for (int d = 0; d < x_.rank(); ++d) {
      if (!transforms_[d].IsCrop()) continue;
      std::vector<double> inside;
      for (int64_t k = 0; k < shape_.out[d]; ++k) {
        const float at = SourcePosition<float>(transforms_[d], k);
        inside.push_back(at >= 0 && at <= static_cast<float>(x_.dim(d) - 1));
      }
      if (std::find(inside.begin(), inside.end(), 0) == inside.end()) continue;
      const Expr flag = TableLoad(
          std::make_shared<ConstTable>(ConstTable{DType::kI64, {shape_.out[d]}, inside}), {i[d]});
      value = Select(Lt(Int(0), flag), value, Number(extrapolation_value_, x_.type.dtype));
    }
    return value;
  }

  Expr Nearest(const Indices& i) const {
    Indices at;
    for (int d = 0; d < x_.rank(); ++d) {
      std::vector<int64_t> positions;
      for (int64_t k = 0; k < shape_.out[d]; ++k) {
        const int64_t source = Keeps(d) ? k
                               : has_sizes_ && !transforms_[d].IsCrop()
                                   ? Rounded(rounding_, SourcePosition<double>(transforms_[d], k))
                                   : Rounded(rounding_, SourcePosition<float>(transforms_[d], k));
        positions.push_back(std::clamp<int64_t>(source, 0, x_.dim(d) - 1));
      }
      at.push_back(Mapped(positions, i[d]));
    }
    return x_(at);
  }

  // Interpolates dimension `d` between the results of the dimensions after it.
  Expr Linear(int d, const Indices& i, const Indices& at) const {
    if (d == x_.rank()) return x_(at);
    if (Keeps(d)) return Linear(d + 1, i, at);
    const Interpolation positions = x_.type.dtype == DType::kF64
                                        ? LinearPositions<double>(transforms_[d])
                                        : LinearPositions<float>(transforms_[d]);
    Indices low = at;
    Indices high = at;
    low[d] = Mapped(positions.low, i[d]);
    high[d] = Mapped(positions.high, i[d]);
    const Expr share = TableLoad(
        std::make_shared<ConstTable>(ConstTable{x_.type.dtype, {shape_.out[d]}, positions.share}),
        {i[d]});
    const Expr rest = Float(1, x_.type.dtype) - share;
    return rest * Linear(d + 1, i, low) + share * Linear(d + 1, i, high);
  }

  Tensor x_;
  ResizeShape shape_;
  bool linear_ = false;
  bool has_sizes_ = false;
  std::vector<Transform> transforms_;  // By dimension.
  double extrapolation_value_ = 0;
  std::string rounding_;
};

std::vector<Tensor> Define(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  const Definition definition(attributes, inputs[0]);
  return {te.Compute("Y", definition.type(), [&](const Indices& i) { return definition.At(i); })};
}

}  // namespace

std::vector<OperatorDef> ResizeOperators() {
  return {
      Row<&Infer, &Define>(OpId::kResize, FusionKind::kInjective, LayoutRule::kAnyOrder,
                           {.dimension_attributes = {{"scales", DimensionAttribute::Kind::kValues},
                                                     {"sizes", DimensionAttribute::Kind::kValues},
                                                     {"roi", DimensionAttribute::Kind::kPairs}}})};
}

}  // namespace burnish::ops
