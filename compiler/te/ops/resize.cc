// Resize: nearest and linear interpolation, with ONNX's coordinate transformations.
//
// Source positions depend on the output position only. They are computed here, in f32 as ONNX
// Runtime does it, and become constant tables of the definition, or a division where they are one.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "compiler/te/ops/common.h"
#include "compiler/te/ops/families.h"

namespace burnish::ops {
namespace {

struct ResizeShape {
  std::vector<float> scales;
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
  if (sizes.empty() == scales.empty()) return Bad("got neither or both of sizes and scales");
  if (sizes.size() + scales.size() != rank) {
    return Bad("got ", sizes.size() + scales.size(), " sizes or scales, want one for each of the ",
               rank, " dimensions");
  }
  for (size_t d = 0; d < rank; ++d) {
    if (!sizes.empty()) {
      shape.out.push_back(sizes[d]);
      shape.scales.push_back(static_cast<float>(sizes[d]) / static_cast<float>(x.shape[d]));
    } else {
      shape.scales.push_back(static_cast<float>(scales[d]));
      const float extent = shape.scales[d] * static_cast<float>(x.shape[d]);
      if (!(extent < 2147483648.0f)) return Bad("got scale ", scales[d], ", want a smaller one");
      shape.out.push_back(static_cast<int64_t>(extent));
    }
    if (shape.out[d] < 1 || !(shape.scales[d] > 0)) {
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
  if (!OneOf(transform, {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                         "align_corners", "asymmetric", "tf_crop_and_resize"})) {
    return Bad("got coordinate_transformation_mode=", transform,
               ", want half_pixel, half_pixel_symmetric, pytorch_half_pixel, align_corners, "
               "asymmetric or tf_crop_and_resize");
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
  float scale = 1;
  int64_t out = 1;
  int64_t in = 1;
  // Of tf_crop_and_resize: the part of the input that is shown, as shares of its extent.
  float crop_begin = 0;
  float crop_end = 1;

  bool IsCrop() const { return mode == "tf_crop_and_resize"; }
};

// The position in the input, not yet rounded or clamped.
float SourcePosition(const Transform& t, int64_t at) {
  const auto x = static_cast<float>(at);
  const auto out_size = static_cast<float>(t.out);
  const auto in_size = static_cast<float>(t.in);
  if (t.mode == "asymmetric") return x / t.scale;
  if (t.mode == "align_corners") return t.out == 1 ? 0 : x * (in_size - 1) / (out_size - 1);
  if (t.mode == "pytorch_half_pixel") return t.out > 1 ? (x + 0.5f) / t.scale - 0.5f : 0;
  if (t.mode == "half_pixel_symmetric") {
    const float adjustment = out_size / (t.scale * in_size);
    return in_size / 2 * (1 - adjustment) + (x + 0.5f) / t.scale - 0.5f;
  }
  if (t.IsCrop()) {
    if (t.out == 1) return 0.5f * (t.crop_begin + t.crop_end) * (in_size - 1);
    return t.crop_begin * (in_size - 1) +
           x * (t.crop_end - t.crop_begin) * (in_size - 1) / (out_size - 1);
  }
  return (x + 0.5f) / t.scale - 0.5f;
}

int64_t Rounded(const std::string& rounding, float x) {
  if (rounding == "floor") return static_cast<int64_t>(std::floor(x));
  if (rounding == "ceil") return static_cast<int64_t>(std::ceil(x));
  if (rounding == "round_prefer_ceil") return static_cast<int64_t>(std::floor(x + 0.5f));
  return static_cast<int64_t>(std::ceil(x - 0.5f));
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

Interpolation LinearPositions(const Transform& t) {
  Interpolation result;
  for (int64_t k = 0; k < t.out; ++k) {
    const float at = std::clamp(SourcePosition(t, k), 0.0f, static_cast<float>(t.in - 1));
    const auto low = static_cast<int64_t>(at);
    result.low.push_back(low);
    result.high.push_back(std::min(low + 1, t.in - 1));
    result.share.push_back(static_cast<double>(at - static_cast<float>(low)));
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
    const std::string mode = attributes.String("coordinate_transformation_mode", "half_pixel");
    const std::vector<double> roi = attributes.Floats("roi", {});
    for (int d = 0; d < x.rank(); ++d) {
      Transform& t = transforms_.emplace_back();
      t = {.mode = mode, .scale = shape_.scales[d], .out = shape_.out[d], .in = x.dim(d)};
      if (!t.IsCrop()) continue;
      t.crop_begin = static_cast<float>(roi[d]);
      t.crop_end = static_cast<float>(roi[x.rank() + d]);
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
        const float at = SourcePosition(transforms_[d], k);
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
        const float source = Keeps(d) ? static_cast<float>(k) : SourcePosition(transforms_[d], k);
        positions.push_back(std::clamp<int64_t>(Rounded(rounding_, source), 0, x_.dim(d) - 1));
      }
      at.push_back(Mapped(positions, i[d]));
    }
    return x_(at);
  }

  // Interpolates dimension `d` between the results of the dimensions after it.
  Expr Linear(int d, const Indices& i, const Indices& at) const {
    if (d == x_.rank()) return x_(at);
    if (Keeps(d)) return Linear(d + 1, i, at);
    const Interpolation positions = LinearPositions(transforms_[d]);
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
      Row<&Infer, &Define>("resize", FusionKind::kInjective, LayoutRule::kAnyOrder,
                           {.dimension_attributes = {{"scales", DimensionAttribute::Kind::kValues},
                                                     {"sizes", DimensionAttribute::Kind::kValues},
                                                     {"roi", DimensionAttribute::Kind::kPairs}}})};
}

}  // namespace burnish::ops
