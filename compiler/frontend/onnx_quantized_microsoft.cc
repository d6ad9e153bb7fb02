// ONNX Runtime's quantized operators (com.microsoft). Their meaning:
// onnxruntime/docs/ContribOperators.md.
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_quantized.h"
#include "compiler/frontend/onnx_window.h"

namespace burnish {
namespace {

// x, scale, zero point, .., result's scale, zero point.
constexpr QuantizationInputs kFirst{.scale = 1, .zero = 2};

absl::Status Finish(OnnxNode& node, Composer& c, ValueId y, int scale) {
  ASSIGN_OR_RETURN(const ValueId q, EmitQuantized(node, c, y, {.scale = scale, .zero = scale + 1}));
  c.Output(0, q);
  return c.status();
}

OnnxTranslator QLinearBinary(const char* op) {
  return [op](OnnxNode& node) -> absl::Status {
    Composer c(node);
    ASSIGN_OR_RETURN(const ValueId a, EmitDequantized(node, c, 0, kFirst));
    ASSIGN_OR_RETURN(const ValueId b, EmitDequantized(node, c, 3, {.scale = 4, .zero = 5}));
    return Finish(node, c, c.Op(op, {a, b}), 6);
  };
}

absl::Status QLinearLeakyRelu(OnnxNode& node) {
  Composer c(node);
  ASSIGN_OR_RETURN(const ValueId x, EmitDequantized(node, c, 0, kFirst));
  Attributes attributes;
  attributes.Set("alpha", node.Float("alpha", 0.01f));
  return Finish(node, c, c.Op("leaky_relu", {x}, std::move(attributes)), 3);
}

absl::Status QLinearSigmoid(OnnxNode& node) {
  Composer c(node);
  ASSIGN_OR_RETURN(const ValueId x, EmitDequantized(node, c, 0, kFirst));
  return Finish(node, c, c.Op("sigmoid", {x}), 3);
}

absl::Status QLinearSoftmax(OnnxNode& node) {
  Composer c(node);
  ASSIGN_OR_RETURN(const ValueId x, EmitDequantized(node, c, 0, kFirst));
  ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(node, node.Int("axis", -1), c.Rank(x)));
  // Before operator set 13 the dimensions from the axis on are one.
  if (node.Int("opset", 13) < 13 && axis != c.Rank(x) - 1) {
    return node.Unsupported("a softmax of operator set 12 over more than the last dimension");
  }
  return Finish(node, c, c.Softmax(x, axis), 3);
}

Shape LastToFirst(int64_t rank) {
  Shape perm = {0, rank - 1};
  for (int64_t d = 1; d + 1 < rank; ++d) perm.push_back(d);
  return perm;
}

Shape FirstToLast(int64_t rank) {
  Shape perm = {0};
  for (int64_t d = 2; d < rank; ++d) perm.push_back(d);
  perm.push_back(1);
  return perm;
}

// `pool`: of channels first.
template <typename Pool>
absl::Status Pooled(OnnxNode& node, const Pool& pool) {
  Composer c(node);
  ASSIGN_OR_RETURN(ValueId x, EmitDequantized(node, c, 0, kFirst));
  const int64_t rank = c.Rank(x);
  if (rank < 3) return node.Invalid("got no spatial dimension, want [N, C, spatial..]");
  const bool last = node.Int("channels_last", 0) != 0;
  if (last) x = c.Transpose(x, LastToFirst(rank));
  RETURN_IF_ERROR(c.status());
  ASSIGN_OR_RETURN(ValueId y, pool(c, x));
  if (last) y = c.Transpose(y, FirstToLast(rank));
  return Finish(node, c, y, 3);
}

absl::Status QLinearAveragePool(OnnxNode& node) {
  return Pooled(node, [&](Composer& c, ValueId x) -> absl::StatusOr<ValueId> {
    ASSIGN_OR_RETURN(Attributes attributes, ReadPooling(node, x));
    attributes.Set("count_include_pad", node.Int("count_include_pad", 0));
    return c.Op("average_pool", {x}, std::move(attributes));
  });
}

absl::Status QLinearGlobalAveragePool(OnnxNode& node) {
  return Pooled(node, [](Composer& c, ValueId x) -> absl::StatusOr<ValueId> {
    Shape axes;
    for (int64_t d = 2; d < c.Rank(x); ++d) axes.push_back(d);
    return c.Reduce("reduce_mean", x, axes);
  });
}

// The result's scale and zero point, then x, scale, zero point of each part.
absl::Status QLinearConcat(OnnxNode& node) {
  Composer c(node);
  if (node.input_count() < 5 || node.input_count() % 3 != 2) {
    return node.Invalid(absl::StrCat(
        "got ", node.input_count(), " inputs, want a scale and a zero point, and 3 for each part"));
  }
  std::vector<ValueId> parts;
  for (int i = 2; i < node.input_count(); i += 3) {
    ASSIGN_OR_RETURN(const ValueId part,
                     EmitDequantized(node, c, i, {.scale = i + 1, .zero = i + 2}));
    parts.push_back(part);
  }
  ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(node, node.Int("axis", 0), c.Rank(parts[0])));
  return Finish(node, c, c.Concat(parts, axis), 0);
}

// a, scale, zero point, b, scale, zero point, c (i32), result's scale, zero point.
absl::Status QGemm(OnnxNode& node) {
  Composer c(node);
  const bool trans_a = node.Int("transA", 0) != 0, trans_b = node.Int("transB", 0) != 0;
  ASSIGN_OR_RETURN(ValueId a, EmitDequantized(node, c, 0, kFirst));
  ASSIGN_OR_RETURN(ValueId b,
                   EmitDequantized(node, c, 3, {.scale = 4, .zero = 5, .axis = trans_b ? 0 : 1}));
  if (c.Rank(a) != 2 || c.Rank(b) != 2) return node.Invalid("want matrices");
  const double alpha = node.Float("alpha", 1);
  if (trans_a) a = c.Transpose(a, {1, 0});
  if (trans_b) b = c.Transpose(b, {1, 0});
  ValueId y = c.MatMul(a, b);
  if (alpha != 1) y = c.Mul(y, alpha);
  if (node.HasInput(6)) {
    const ValueId added = c.Cast(c.In(6), DType::kF32);
    const ValueId scale = c.Mul(c.Reshape(c.In(1), {}), c.In(4));
    y = c.Add(y, c.Mul(added, alpha == 1 ? scale : c.Mul(scale, alpha)));
  }
  RETURN_IF_ERROR(c.status());
  if (node.HasInput(7)) return Finish(node, c, y, 7);
  c.Output(0, y);
  return c.status();
}

// The sums times both scales, plus the bias, in the type of the scales.
ValueId Scaled(Composer& c, ValueId sums, ValueId scale, ValueId bias, DType type) {
  ValueId y = c.Mul(c.Cast(sums, DType::kF32), scale);
  if (bias >= 0) y = c.Add(y, c.Cast(bias, DType::kF32));
  return c.Cast(y, type);
}

// Scale of a [.., N]: one, or one a column; `c` broadcasts either.
absl::StatusOr<Quantization> ColumnQuantization(OnnxNode& node, Composer& c, ValueId b, int scale,
                                                int zero) {
  const TensorType type = node.TypeOf(b);
  if (type.dtype != DType::kI8 && type.dtype != DType::kU8) {
    return node.Invalid(absl::StrCat("B: got ", PrintType(type), ", want i8 or u8"));
  }
  return ReadQuantization(node, c, type.shape, type.dtype,
                          {.scale = scale, .zero = zero, .axis = -1});
}

absl::Status MatMulIntegerToFloat(OnnxNode& node) {
  Composer c(node);
  const ValueId a = c.In(0), b = c.In(1);
  RETURN_IF_ERROR(c.status());
  ASSIGN_OR_RETURN(const Quantization of_a,
                   ReadQuantization(node, c, c.ShapeOf(a), c.DTypeOf(a), {.scale = 2, .zero = 4}));
  ASSIGN_OR_RETURN(const Quantization of_b, ColumnQuantization(node, c, b, 3, 5));
  ASSIGN_OR_RETURN(const ValueId sums, EmitMatMulInteger(node, c, a, of_a.zero, b, of_b.zero));
  c.Output(0, Scaled(c, sums, c.Mul(of_a.scale, of_b.scale), node.HasInput(6) ? c.In(6) : -1,
                     c.DTypeOf(c.In(2))));
  return c.status();
}

absl::Status DynamicQuantizeMatMul(OnnxNode& node) {
  Composer c(node);
  const DynamicallyQuantized a = EmitDynamicallyQuantized(c, c.In(0));
  const ValueId b = c.In(1);
  RETURN_IF_ERROR(c.status());
  ASSIGN_OR_RETURN(const Quantization of_b, ColumnQuantization(node, c, b, 2, 3));
  ASSIGN_OR_RETURN(const ValueId sums, EmitMatMulInteger(node, c, a.values, a.zero, b, of_b.zero));
  c.Output(0, Scaled(c, sums, c.Mul(of_b.scale, a.scale), node.HasInput(4) ? c.In(4) : -1,
                     c.DTypeOf(c.In(2))));
  return c.status();
}

// What MatMulNBits says of its weights.
struct BlockedWeights {
  int64_t rows, columns, block, bits, blocks;

  // Bytes that hold so many numbers.
  int64_t Bytes(int64_t numbers) const { return (numbers - 1) / (8 / bits) + 1; }
};

absl::StatusOr<BlockedWeights> ReadBlockedWeights(OnnxNode& node) {
  BlockedWeights w{.rows = node.Int("K", 0),
                   .columns = node.Int("N", 0),
                   .block = node.Int("block_size", 0),
                   .bits = node.Int("bits", 4)};
  if (w.bits != 2 && w.bits != 4 && w.bits != 8) {
    return node.Unsupported(absl::StrCat("bits: got ", w.bits, ", want 2, 4 or 8"));
  }
  if (node.Int("weight_prepacked", 0) != 0) {
    return node.Unsupported("weight_prepacked, weights in an order of some GPU");
  }
  // A block is whole bytes.
  if (w.rows < 1 || w.columns < 1 || w.block < 1 || w.block % (8 / w.bits) != 0) {
    return node.Invalid(absl::StrCat("K ", w.rows, ", N ", w.columns, ", block_size ", w.block,
                                     ": want positive numbers, and blocks of a power of 2"));
  }
  w.blocks = (w.rows - 1) / w.block + 1;
  return w;
}

// Numbers of few bits, of which a byte has the first in its lowest ones, a byte each: [.., bytes]
// to [.., kept]. Constants stay constants, of any size.
absl::StatusOr<ValueId> Unpacked(OnnxNode& node, Composer& c, ValueId packed, int64_t kept,
                                 const BlockedWeights& w) {
  const int64_t per_byte = 8 / w.bits;
  if (per_byte == 1) return packed;
  Shape shape = c.ShapeOf(packed);
  const int64_t bytes = shape.back();
  const GraphValue& value = node.context().graph.value(packed);
  if (value.data != nullptr) {
    const FewBits type{static_cast<int>(w.bits), DType::kU8};
    ConstantPtr numbers = UnpackBits(value.data->bytes(), type, ElementCount(shape) / bytes, kept);
    shape.back() = kept;
    return node.EmitConstant({DType::kU8, shape}, std::move(numbers));
  }
  Shape split = shape;
  split.push_back(1);
  Attributes floors;
  floors.Set("fmod", int64_t{0});
  std::vector<ValueId> parts;
  for (int64_t i = 0; i < per_byte; ++i) {
    const ValueId high = i == 0 ? packed : c.Div(packed, static_cast<double>(1 << i * w.bits));
    const ValueId part = c.Op("mod", {high, c.NumberLike(high, 1 << w.bits)}, floors);
    parts.push_back(c.Reshape(part, split));
  }
  const auto last = static_cast<int64_t>(shape.size()) - 1;
  shape.back() = bytes * per_byte;
  return c.Slice(c.Reshape(c.Concat(parts, last + 1), shape), last, 0, kept);
}

// The weights' order is that of the rows; others had their blocks sorted.
absl::Status CheckGroups(OnnxNode& node, const BlockedWeights& w) {
  if (!node.HasInput(4)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<int64_t> groups, node.ConstantInts(4, "g_idx"));
  const auto count = static_cast<int64_t>(groups.size());
  bool is_plain = count == w.rows || count == w.blocks * w.block;
  for (int64_t i = 0; is_plain && i < count; ++i) is_plain = groups[i] == i / w.block;
  if (is_plain) return absl::OkStatus();
  return node.Unsupported(
      "g_idx (input 4): rows in another order; quantize again without reordering (act_order)");
}

absl::Status WrongParameter(OnnxNode& node, const char* what, int input, ValueId got,
                            TensorType want) {
  return node.Invalid(absl::StrCat(what, " (input ", input, "): got ", node.TypeTextOf(got),
                                   ", want ", PrintType(want)));
}

// The weights [columns, blocks, rows of a block] as f32.
absl::StatusOr<ValueId> RealBlocks(OnnxNode& node, Composer& c, DType of_a,
                                   const BlockedWeights& w) {
  const Shape one = {w.columns, w.blocks, 1};
  const ValueId scales = c.In(2);
  RETURN_IF_ERROR(c.status());
  if (c.DTypeOf(scales) != of_a || ElementCount(c.ShapeOf(scales)) != ElementCount(one)) {
    return WrongParameter(node, "scales", 2, scales, {of_a, {w.columns, w.blocks}});
  }
  ASSIGN_OR_RETURN(const ValueId read, ReadScale(node, c, 2));
  const ValueId scale = c.Reshape(read, one);
  ASSIGN_OR_RETURN(const ValueId numbers, Unpacked(node, c, c.In(1), w.block, w));
  if (!node.HasInput(3)) {
    return c.Op("dequantize", {numbers, scale, c.Number(DType::kU8, 1 << (w.bits - 1))});
  }
  const ValueId zeros = c.In(3);
  const int64_t given = ElementCount(c.ShapeOf(zeros));
  if (c.DTypeOf(zeros) == of_a && given == ElementCount(one)) {
    const ValueId zero = c.Reshape(c.Cast(zeros, DType::kF32), one);
    return c.Mul(c.Sub(c.Cast(numbers, DType::kF32), zero), scale);
  }
  const Shape packed = {w.columns, w.Bytes(w.blocks)};
  if (c.DTypeOf(zeros) != DType::kU8 || given != ElementCount(packed)) {
    return WrongParameter(node, "zero points", 3, zeros, {DType::kU8, packed});
  }
  ASSIGN_OR_RETURN(const ValueId zero, Unpacked(node, c, c.Reshape(zeros, packed), w.blocks, w));
  return c.Op("dequantize", {numbers, scale, c.Reshape(zero, one)});
}

// A, B u8 [N, blocks, bytes of a block], scales [N, blocks], zero points, -, bias: weights by
// blocks of rows, the last of which may be cut. Sums are of f32, and so are the weights that floats
// of 16 bits are multiplied with.
absl::Status MatMulNBits(OnnxNode& node) {
  Composer c(node);
  ASSIGN_OR_RETURN(const BlockedWeights w, ReadBlockedWeights(node));
  const ValueId a = c.In(0), b = c.In(1);
  RETURN_IF_ERROR(c.status());
  const DType of_a = c.DTypeOf(a);
  if (of_a != DType::kF32 && !IsStorageFloat(of_a)) {
    return node.Invalid(
        absl::StrCat("A (input 0): got ", node.TypeTextOf(a), ", want f32, f16 or bf16"));
  }
  const TensorType whole = {DType::kU8, {w.columns, w.blocks, w.Bytes(w.block)}};
  if (node.TypeOf(b) != whole) return WrongParameter(node, "B", 1, b, whole);
  RETURN_IF_ERROR(CheckGroups(node, w));
  ASSIGN_OR_RETURN(ValueId real, RealBlocks(node, c, of_a, w));
  real = c.Reshape(real, {w.columns, w.blocks * w.block});
  if (w.blocks * w.block != w.rows) real = c.Slice(real, 1, 0, w.rows);
  ValueId y = c.MatMul(c.Cast(a, DType::kF32), c.Transpose(real, {1, 0}));
  if (node.HasInput(5)) y = c.Add(y, c.Cast(c.In(5), DType::kF32));
  c.Output(0, c.Cast(y, of_a));
  return c.status();
}

}  // namespace

void AddQuantizedMicrosoftTranslators(OnnxTranslators& t) {
  t["com.microsoft.QLinearAdd"] = QLinearBinary("add");
  t["com.microsoft.QLinearMul"] = QLinearBinary("mul");
  t["com.microsoft.QLinearLeakyRelu"] = QLinearLeakyRelu;
  t["com.microsoft.QLinearSigmoid"] = QLinearSigmoid;
  t["com.microsoft.QLinearSoftmax"] = QLinearSoftmax;
  t["com.microsoft.QLinearAveragePool"] = QLinearAveragePool;
  t["com.microsoft.QLinearGlobalAveragePool"] = QLinearGlobalAveragePool;
  t["com.microsoft.QLinearConcat"] = QLinearConcat;
  t["com.microsoft.QGemm"] = QGemm;
  t["com.microsoft.MatMulIntegerToFloat"] = MatMulIntegerToFloat;
  t["com.microsoft.DynamicQuantizeMatMul"] = DynamicQuantizeMatMul;
  t["com.microsoft.MatMulNBits"] = MatMulNBits;
}

}  // namespace burnish
