// ONNX's quantized operators. QLinear operators become dequantize, the operator on real numbers,
// quantize; compiler/graph/fold_quantization_pass makes integers of that.
#include "compiler/frontend/onnx_quantized.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_window.h"

namespace burnish {
namespace {

constexpr const char* kScaleHint = "; quantize the model again (what is all zeros gets scale 1)";

bool IsQuantizedType(DType type) {
  return type == DType::kI8 || type == DType::kU8 || type == DType::kI16 || type == DType::kU16;
}

// The shape in which the parameters `given` broadcast to a tensor of `shape`, before blocks are
// expanded.
absl::StatusOr<Shape> ParameterShape(OnnxNode& node, const Shape& given, const Shape& shape,
                                     const QuantizationInputs& at) {
  if (ElementCount(given) == 1 && given.size() <= 1) return Shape();
  const std::string got =
      absl::StrCat("scale (input ", at.scale, "): got shape [", absl::StrJoin(given, ","), "]");
  if (!at.axis.has_value()) return node.Invalid(absl::StrCat(got, ", want one scale"));
  const auto rank = static_cast<int64_t>(shape.size());
  ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(node, *at.axis, rank));
  if (given.size() == 1) {
    if (given[0] != shape[axis]) {
      return node.Invalid(absl::StrCat(got, ", want [", shape[axis],
                                       "], one for each index of axis ", axis,
                                       "; check the attribute axis, or quantize again"));
    }
    Shape wide(rank, 1);
    wide[axis] = given[0];
    return wide;
  }
  Shape want = shape;
  if (at.block > 0 && static_cast<int64_t>(given.size()) == rank) {
    want[axis] = (shape[axis] + at.block - 1) / at.block;
    if (given == want) return given;
  }
  return node.Invalid(
      absl::StrCat(got, ", want one scale, one for each index of axis ", axis,
                   at.block > 0 ? absl::StrCat(", or one a block of ", at.block) : std::string(),
                   "; check the attributes axis and block_size"));
}

// Each element `block` times along the axis, cut to `extent`.
ValueId Repeated(Composer& c, ValueId x, int64_t axis, int64_t block, int64_t extent) {
  Shape split = c.ShapeOf(x);
  if (!c.status().ok()) return -1;
  Shape joined = split;
  joined[axis] *= block;
  split.insert(split.begin() + axis + 1, 1);
  Shape wide = split;
  wide[axis + 1] = block;
  if (!c.MayMake(joined)) return -1;
  const ValueId all = c.Reshape(c.Expand(c.Reshape(x, split), wide), joined);
  return joined[axis] == extent ? all : c.Slice(all, axis, 0, extent);
}

}  // namespace

absl::StatusOr<ValueId> ReadScale(OnnxNode& node, Composer& c, int input) {
  ASSIGN_OR_RETURN(const ValueId id, node.Input(input));
  const GraphValue& scale = node.context().graph.value(id);
  const std::string what = absl::StrCat("scale (input ", input, "): ");
  if (scale.type.dtype != DType::kF32 && !IsStorageFloat(scale.type.dtype)) {
    return node.Unsupported(absl::StrCat(what, "got ", PrintType(scale.type),
                                         ", want f32, f16 or bf16; convert the scales"));
  }
  if (scale.data == nullptr) return c.Cast(id, DType::kF32);
  const std::vector<double> values = ToDoubles(scale.type, *scale.data);
  for (size_t i = 0; i < values.size(); ++i) {
    // By a scale of 0 all numbers are 0. What is divided by it is none: QuantizeLinear, QLinear...
    const bool divides = absl::StartsWith(node.type(), "Q");
    if (std::isfinite(values[i]) && (values[i] != 0 || !divides)) continue;
    return node.Unsupported(absl::StrCat(what, "got ", values[i], " as element ", i,
                                         ", want a finite number", divides ? " that is not 0" : "",
                                         kScaleHint));
  }
  // However many there are, they stay constants for the passes that look at quantized weights; a
  // parameter that may be replaced stays one by a cast.
  if (scale.type.dtype == DType::kF32 || scale.data->origin() != nullptr) {
    return c.Cast(id, DType::kF32);
  }
  return node.EmitConstant({DType::kF32, scale.type.shape}, FromDoubles(DType::kF32, values));
}

namespace {

// As the node has them: one, along an axis, or, where `blocks` is set, one a block.
struct Parameters {
  Quantization q;
  bool has_zero = false, blocks = false;
};

// `bits`: of `type` in ONNX, where they are fewer than 8; else 0.
absl::StatusOr<Parameters> ReadParameters(OnnxNode& node, Composer& c, const Shape& shape,
                                          DType type, int bits, const QuantizationInputs& at) {
  ASSIGN_OR_RETURN(const ValueId scale, ReadScale(node, c, at.scale));
  RETURN_IF_ERROR(c.status());
  const Shape given = node.TypeOf(scale).shape;
  ASSIGN_OR_RETURN(const Shape wide, ParameterShape(node, given, shape, at));
  Parameters p{.q = {.scale = c.Reshape(scale, wide)}, .has_zero = node.HasInput(at.zero)};
  Quantization& q = p.q;
  if (node.HasInput(at.zero)) {
    ASSIGN_OR_RETURN(const ValueId zero, node.Input(at.zero));
    const TensorType got = node.TypeOf(zero);
    if (got.dtype != type || node.FewBitsOf(zero) != bits) {
      return node.Invalid(absl::StrCat("zero point (input ", at.zero, "): got ",
                                       node.TypeTextOf(zero), ", want ", FewBitsName(type, bits),
                                       ", the type of what it belongs to"));
    }
    if (got.shape != given && !(ElementCount(got.shape) == 1 && wide.empty())) {
      return node.Invalid(absl::StrCat("zero point (input ", at.zero, "): got ", PrintType(got),
                                       ", want the shape of the scale, ",
                                       PrintType({got.dtype, given})));
    }
    q.zero = c.Reshape(zero, wide);
  } else {
    q.zero = c.Number(type, 0);
  }
  p.blocks = wide.size() > 1 && at.block > 0 && given.size() == shape.size();
  RETURN_IF_ERROR(c.status());
  return p;
}

}  // namespace

absl::StatusOr<Quantization> ReadQuantization(OnnxNode& node, Composer& c, const Shape& shape,
                                              DType type, const QuantizationInputs& at, int bits) {
  ASSIGN_OR_RETURN(Parameters p, ReadParameters(node, c, shape, type, bits, at));
  if (p.blocks) {
    ASSIGN_OR_RETURN(const int64_t axis,
                     NormalizeAxis(node, *at.axis, static_cast<int64_t>(shape.size())));
    p.q.scale = Repeated(c, p.q.scale, axis, at.block, shape[axis]);
    if (p.has_zero) p.q.zero = Repeated(c, p.q.zero, axis, at.block, shape[axis]);
  }
  RETURN_IF_ERROR(c.status());
  return p.q;
}

absl::StatusOr<DType> QuantizedType(OnnxNode& node, int zero) {
  if (!node.HasInput(zero)) return DType::kU8;
  ASSIGN_OR_RETURN(const ValueId id, node.Input(zero));
  const DType type = node.TypeOf(id).dtype;
  if (IsQuantizedType(type)) return type;
  return node.Invalid(absl::StrCat("zero point (input ", zero, "): got ",
                                   PrintType(node.TypeOf(id)), ", want i8, u8, i16 or u16"));
}

namespace {

// A tensor whose axis is whole blocks, as [.., block, element of it, ..]: each scale stands once
// (compiler/graph/keep_weights_pass.h).
absl::StatusOr<ValueId> EmitBlocks(OnnxNode& node, Composer& c, ValueId x, int64_t axis,
                                   const QuantizationInputs& at) {
  const TensorType type = node.TypeOf(x);
  const int bits = node.FewBitsOf(x);
  ASSIGN_OR_RETURN(Parameters p, ReadParameters(node, c, type.shape, type.dtype, bits, at));
  if (!p.blocks) return c.Op("dequantize", {x, p.q.scale, p.q.zero});
  Shape split = type.shape;
  split[axis] /= at.block;
  Shape one = split;
  split.insert(split.begin() + axis + 1, at.block);
  one.insert(one.begin() + axis + 1, 1);
  if (p.has_zero) p.q.zero = c.Reshape(p.q.zero, one);
  const ValueId real =
      c.Op("dequantize", {c.Reshape(x, split), c.Reshape(p.q.scale, one), p.q.zero});
  const ValueId whole = c.Reshape(real, type.shape);
  RETURN_IF_ERROR(c.status());
  return whole;
}

}  // namespace

absl::StatusOr<ValueId> EmitDequantized(OnnxNode& node, Composer& c, int i,
                                        const QuantizationInputs& at) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(i));
  const TensorType type = node.TypeOf(x);
  if (!IsQuantizedType(type.dtype) && type.dtype != DType::kI32) {
    return node.Invalid(
        absl::StrCat("input ", i, ": got ", PrintType(type), ", want i8, u8, i16, u16 or i32"));
  }
  if (at.block > 0) {
    ASSIGN_OR_RETURN(const int64_t axis,
                     NormalizeAxis(node, at.axis.value_or(0), std::ssize(type.shape)));
    if (type.shape[axis] % at.block == 0) return EmitBlocks(node, c, x, axis, at);
  }
  ASSIGN_OR_RETURN(const Quantization q,
                   ReadQuantization(node, c, type.shape, type.dtype, at, node.FewBitsOf(x)));
  const ValueId real = c.Op("dequantize", {x, q.scale, q.zero});
  RETURN_IF_ERROR(c.status());
  return real;
}

absl::StatusOr<ValueId> EmitQuantized(OnnxNode& node, Composer& c, ValueId x,
                                      const QuantizationInputs& at) {
  RETURN_IF_ERROR(c.status());
  ASSIGN_OR_RETURN(const DType type, QuantizedType(node, at.zero));
  ASSIGN_OR_RETURN(const Quantization q, ReadQuantization(node, c, c.ShapeOf(x), type, at));
  const ValueId y = c.Op("quantize", {x, q.scale, q.zero});
  RETURN_IF_ERROR(c.status());
  return y;
}

namespace {

// ---- QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear.

// The type that an attribute names; `otherwise` where it is absent or 0.
absl::StatusOr<DType> AskedType(OnnxNode& node, const char* attribute, DType otherwise) {
  const int64_t asked = node.Int(attribute, 0);
  if (asked == 0) return otherwise;
  return DTypeOfOnnx(static_cast<int>(asked), absl::StrCat(node.Label(), ", ", attribute));
}

// What QuantizeLinear gives. `bits`: 0, or the few that it has.
struct ResultType {
  DType dtype = DType::kU8;
  int bits = 0;

  std::string Text() const { return FewBitsName(dtype, bits); }
  friend bool operator==(const ResultType&, const ResultType&) = default;
};

absl::StatusOr<ResultType> ReadResultType(OnnxNode& node) {
  ResultType asked;
  const auto number = static_cast<int>(node.Int("output_dtype", 0));
  if (const auto few = FewBitsOfOnnx(number); few.has_value()) {
    asked = {few->dtype, few->bits};
  } else {
    ASSIGN_OR_RETURN(asked.dtype, AskedType(node, "output_dtype", DType::kU8));
  }
  if (node.HasInput(2)) {
    ResultType type;
    ASSIGN_OR_RETURN(type.dtype, QuantizedType(node, 2));
    ASSIGN_OR_RETURN(const ValueId zero, node.Input(2));
    type.bits = node.FewBitsOf(zero);
    if (number != 0 && asked != type) {
      return node.Invalid(absl::StrCat("output_dtype: got ", asked.Text(), ", want ", type.Text(),
                                       ", the type of the zero point"));
    }
    asked = type;
  }
  if (IsQuantizedType(asked.dtype)) return asked;
  return node.Unsupported(absl::StrCat("output_dtype ", asked.Text()));
}

absl::StatusOr<QuantizationInputs> AlongAxis(OnnxNode& node) {
  const int64_t block = node.Int("block_size", 0);
  if (block < 0) return node.Invalid(absl::StrCat("block_size: got ", block, ", want 0 or more"));
  return QuantizationInputs{.scale = 1, .zero = 2, .axis = node.Int("axis", 1), .block = block};
}

absl::Status QuantizeLinear(OnnxNode& node) {
  Composer c(node);
  ValueId x = c.In(0);
  RETURN_IF_ERROR(c.status());
  const DType given = c.DTypeOf(x);
  if (given != DType::kI32 && given != DType::kF32 && !IsStorageFloat(given)) {
    return node.Unsupported(
        absl::StrCat("input 0: got ", node.TypeTextOf(x), ", want f32, f16, bf16 or i32"));
  }
  x = c.Cast(x, DType::kF32);
  // The quotient is of f32 whatever the model asks for, as it is in ONNX Runtime: 16 bits of float
  // have fewer digits than numbers of 8 bits want, and f32 is within 1 of them.
  ASSIGN_OR_RETURN(const DType precision, AskedType(node, "precision", DType::kF32));
  if (precision != DType::kF32 && !IsStorageFloat(precision)) {
    return node.Unsupported(
        absl::StrCat("precision: got ", DTypeName(precision), ", want f32, f16 or bf16"));
  }
  ASSIGN_OR_RETURN(const ResultType type, ReadResultType(node));
  ASSIGN_OR_RETURN(const QuantizationInputs at, AlongAxis(node));
  ASSIGN_OR_RETURN(const Quantization q,
                   ReadQuantization(node, c, c.ShapeOf(x), type.dtype, at, type.bits));
  ValueId y = c.Op("quantize", {x, q.scale, q.zero});
  if (type.bits > 0) {
    // Limits of the few bits lie within those of 8: to clamp twice is to clamp once.
    const int numbers = 1 << type.bits;
    const int least = IsUnsigned(type.dtype) ? 0 : -numbers / 2;
    y = c.Min(c.Max(y, least), least + numbers - 1);
    RETURN_IF_ERROR(c.status());
    node.SetFewBits(y, type.bits);
  }
  c.Output(0, y);
  return c.status();
}

absl::Status DequantizeLinear(OnnxNode& node) {
  Composer c(node);
  ASSIGN_OR_RETURN(const ValueId scale, node.Input(1));
  ASSIGN_OR_RETURN(const DType type, AskedType(node, "output_dtype", node.TypeOf(scale).dtype));
  ASSIGN_OR_RETURN(const QuantizationInputs at, AlongAxis(node));
  ASSIGN_OR_RETURN(const ValueId y, EmitDequantized(node, c, 0, at));
  if (type != DType::kF32 && !IsStorageFloat(type)) {
    return node.Unsupported(
        absl::StrCat("output_dtype: got ", DTypeName(type), ", want f32, f16 or bf16"));
  }
  // The product is of f32, and rounded once to what the graph has.
  c.Output(0, c.Cast(y, type));
  return c.status();
}

}  // namespace

DynamicallyQuantized EmitDynamicallyQuantized(Composer& c, ValueId x) {
  Shape axes;
  for (int64_t d = 0; d < c.Rank(x); ++d) axes.push_back(d);
  const ValueId least = c.Min(c.Reduce("reduce_min", x, axes, false), 0);
  const ValueId greatest = c.Max(c.Reduce("reduce_max", x, axes, false), 0);
  const ValueId range = c.Sub(greatest, least);
  // Zeros alone have any scale; ONNX Runtime's is 1.
  const ValueId scale = c.Where(c.Equal(range, 0), c.NumberLike(range, 1), c.Div(range, 255.0));
  const ValueId none = c.Number(DType::kU8, 0);
  const ValueId zero = c.Op("quantize", {c.Op("neg", {least}), scale, none});
  return {c.Op("quantize", {x, scale, zero}), scale, zero};
}

ValueId EmitDynamicallyRounded(Composer& c, ValueId x) {
  const DynamicallyQuantized q = EmitDynamicallyQuantized(c, x);
  return c.Op("dequantize", {q.values, q.scale, q.zero});
}

namespace {

absl::Status DynamicQuantizeLinear(OnnxNode& node) {
  Composer c(node);
  const DynamicallyQuantized q = EmitDynamicallyQuantized(c, c.In(0));
  c.Output(0, q.values);
  c.Output(1, q.scale);
  c.Output(2, q.zero);
  return c.status();
}

// ---- Exact products.

bool IsZeroConstant(OnnxNode& node, ValueId id) {
  const GraphValue& value = node.context().graph.value(id);
  if (value.data == nullptr) return false;
  const std::vector<int64_t> values = ToInts(value.type, *value.data);
  return std::all_of(values.begin(), values.end(), [](int64_t v) { return v == 0; });
}

// x less its zero point, which broadcasts to it: i8 where constants say that it fits, else i16. The
// difference of two numbers of 8 bits always fits there.
ValueId Centered(OnnxNode& node, Composer& c, ValueId x, ValueId zero) {
  if (!c.status().ok() || zero < 0 || IsZeroConstant(node, zero)) return x;
  const ValueId wide = c.Sub(c.Cast(x, DType::kI16), c.Cast(zero, DType::kI16));
  if (!c.status().ok()) return -1;
  const GraphValue& values = node.context().graph.value(x);
  const GraphValue& zeros = node.context().graph.value(zero);
  if (values.data == nullptr || zeros.data == nullptr) return wide;
  const auto range = [](const GraphValue& value) {
    const std::vector<int64_t> all = ToInts(value.type, *value.data);
    const auto [least, greatest] = std::minmax_element(all.begin(), all.end());
    return std::pair<int64_t, int64_t>(*least, *greatest);
  };
  const auto [x_least, x_greatest] = range(values);
  const auto [zero_least, zero_greatest] = range(zeros);
  const bool fits = x_least - zero_greatest >= -128 && x_greatest - zero_least <= 127;
  return fits ? c.Cast(wide, DType::kI8) : wide;
}

absl::Status CheckBytes(OnnxNode& node, ValueId id, int input) {
  const TensorType& type = node.TypeOf(id);
  if (type.dtype == DType::kI8 || type.dtype == DType::kU8) return absl::OkStatus();
  return node.Invalid(absl::StrCat("input ", input, ": got ", PrintType(type), ", want i8 or u8"));
}

// A zero point of `x`: one number, or one for each index of dimension `axis`, counted from the
// last. Returned as it broadcasts to x; -1 where the node has none.
absl::StatusOr<ValueId> ReadZero(OnnxNode& node, Composer& c, int i, ValueId x, int64_t axis) {
  if (!node.HasInput(i)) return -1;
  ASSIGN_OR_RETURN(const ValueId zero, node.Input(i));
  const TensorType got = node.TypeOf(zero), of = node.TypeOf(x);
  if (got.dtype != of.dtype) {
    return node.Invalid(absl::StrCat("zero point (input ", i, "): got ", PrintType(got), ", want ",
                                     DTypeName(of.dtype), ", the type of what it belongs to"));
  }
  if (ElementCount(got.shape) == 1) return c.Reshape(zero, {});
  const auto rank = static_cast<int64_t>(of.shape.size());
  if (axis <= rank) {
    Shape one(rank, 1);
    one[rank - axis] = of.shape[rank - axis];
    // Of a stack of matrices there may be one a matrix, too: written out as the matrix has it.
    Shape each = of.shape;
    for (int64_t d = 1; d <= std::min<int64_t>(2, rank); ++d) {
      if (d != axis) each[rank - d] = 1;
    }
    if (got.shape == Shape{one[rank - axis]}) return c.Reshape(zero, one);
    if (got.shape == one || got.shape == each) return zero;
  }
  return node.Invalid(absl::StrCat(
      "zero point (input ", i, "): got ", PrintType(got), ", want one, or one for each of the ",
      axis <= rank ? of.shape[rank - axis] : 1, " of ", PrintType(of)));
}

}  // namespace

absl::StatusOr<ValueId> EmitMatMulInteger(OnnxNode& node, Composer& c, ValueId a, ValueId a_zero,
                                          ValueId b, ValueId b_zero) {
  b = Centered(node, c, b, b_zero);
  RETURN_IF_ERROR(c.status());
  std::vector<ValueId> inputs = {a, b};
  const bool one = a_zero >= 0 && c.ShapeOf(a_zero).empty() && !IsZeroConstant(node, a_zero);
  if (one && c.Rank(b) == 2) {
    // sum (a - z) b = sum a b - z sum b: the second part is a constant, or nearly.
    const ValueId sums = c.Reduce("reduce_sum", c.Cast(b, DType::kI32), {0}, false);
    inputs.push_back(c.Mul(sums, c.Op("neg", {c.Cast(a_zero, DType::kI32)})));
  } else {
    inputs[0] = Centered(node, c, a, a_zero);
  }
  const ValueId product = c.Op("matmul_integer", std::move(inputs));
  RETURN_IF_ERROR(c.status());
  return product;
}

namespace {

absl::Status MatMulInteger(OnnxNode& node) {
  Composer c(node);
  const ValueId a = c.In(0), b = c.In(1);
  RETURN_IF_ERROR(c.status());
  RETURN_IF_ERROR(CheckBytes(node, a, 0));
  RETURN_IF_ERROR(CheckBytes(node, b, 1));
  ASSIGN_OR_RETURN(const ValueId a_zero, ReadZero(node, c, 2, a, 2));
  ASSIGN_OR_RETURN(const ValueId b_zero, ReadZero(node, c, 3, b, 1));
  ASSIGN_OR_RETURN(const ValueId product, EmitMatMulInteger(node, c, a, a_zero, b, b_zero));
  c.Output(0, product);
  return c.status();
}

absl::Status ConvInteger(OnnxNode& node) {
  Composer c(node);
  ValueId x = c.In(0), w = c.In(1);
  RETURN_IF_ERROR(c.status());
  RETURN_IF_ERROR(CheckBytes(node, x, 0));
  RETURN_IF_ERROR(CheckBytes(node, w, 1));
  ASSIGN_OR_RETURN(const ValueId x_zero, ReadZero(node, c, 2, x, c.Rank(x) + 1));
  ASSIGN_OR_RETURN(const ValueId w_zero, ReadZero(node, c, 3, w, c.Rank(w)));
  ASSIGN_OR_RETURN(Attributes attributes, ReadConvolution(node, x, w));
  w = Centered(node, c, w, w_zero);
  RETURN_IF_ERROR(c.status());
  const Shape pads = attributes.Ints("pads", {});
  const bool padded = std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad != 0; });
  const bool known = x_zero >= 0 && c.IsConstant(x_zero);
  std::vector<ValueId> inputs = {x, w};
  if (x_zero >= 0 && !IsZeroConstant(node, x_zero) && (known || !padded)) {
    // As in a product; pads hold the zero point, so that the sum of the weights is the same for
    // each element.
    Shape axes;
    for (int64_t d = 1; d < c.Rank(w); ++d) axes.push_back(d);
    const ValueId sums = c.Reduce("reduce_sum", c.Cast(w, DType::kI32), axes, false);
    inputs.push_back(c.Mul(sums, c.Op("neg", {c.Cast(x_zero, DType::kI32)})));
    if (known) {
      const GraphValue& zero = node.context().graph.value(x_zero);
      attributes.Set("pad_value", ToInts(zero.type, *zero.data)[0]);
    }
  } else {
    inputs[0] = Centered(node, c, x, x_zero);
  }
  c.Output(0, c.Op("conv_integer", std::move(inputs), std::move(attributes)));
  return c.status();
}

// ---- QLinearConv, QLinearMatMul.

absl::Status QLinearConv(OnnxNode& node) {
  Composer c(node);
  ASSIGN_OR_RETURN(const ValueId x, EmitDequantized(node, c, 0, {.scale = 1, .zero = 2}));
  ASSIGN_OR_RETURN(const ValueId w,
                   EmitDequantized(node, c, 3, {.scale = 4, .zero = 5, .axis = 0}));
  ASSIGN_OR_RETURN(Attributes attributes, ReadConvolution(node, x, w));
  std::vector<ValueId> inputs = {x, w};
  if (node.HasInput(8)) {
    const ValueId bias = c.In(8);
    if (c.DTypeOf(bias) != DType::kI32) {
      return node.Invalid(
          absl::StrCat("the bias (input 8): got ", PrintType(node.TypeOf(bias)), ", want i32"));
    }
    // The bias has the scale of the sums: one a filter, or one for all.
    ValueId scale = c.Mul(c.Reshape(c.In(1), {}), c.In(4));
    if (ElementCount(c.ShapeOf(scale)) == 1) scale = c.Reshape(scale, {});
    inputs.push_back(c.Op("dequantize", {bias, scale, c.Number(DType::kI32, 0)}));
  }
  const ValueId sum = c.Op("conv", std::move(inputs), std::move(attributes));
  ASSIGN_OR_RETURN(const ValueId y, EmitQuantized(node, c, sum, {.scale = 6, .zero = 7}));
  c.Output(0, y);
  return c.status();
}

// ONNX: rows of `a` and columns of `b` may have scales of their own.
absl::Status QLinearMatMul(OnnxNode& node) {
  Composer c(node);
  ASSIGN_OR_RETURN(const ValueId a,
                   EmitDequantized(node, c, 0, {.scale = 1, .zero = 2, .axis = -2}));
  ASSIGN_OR_RETURN(const ValueId b,
                   EmitDequantized(node, c, 3, {.scale = 4, .zero = 5, .axis = -1}));
  ASSIGN_OR_RETURN(const ValueId y,
                   EmitQuantized(node, c, c.MatMul(a, b), {.scale = 6, .zero = 7}));
  c.Output(0, y);
  return c.status();
}

}  // namespace

void AddQuantizedTranslators(OnnxTranslators& t) {
  t["QuantizeLinear"] = QuantizeLinear;
  t["DequantizeLinear"] = DequantizeLinear;
  t["com.microsoft.QuantizeLinear"] = QuantizeLinear;
  t["com.microsoft.DequantizeLinear"] = DequantizeLinear;
  t["DynamicQuantizeLinear"] = DynamicQuantizeLinear;
  t["MatMulInteger"] = MatMulInteger;
  t["ConvInteger"] = ConvInteger;
  t["QLinearConv"] = QLinearConv;
  t["QLinearMatMul"] = QLinearMatMul;
}

}  // namespace burnish
