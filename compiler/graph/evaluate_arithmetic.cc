#include <functional>
#include <map>
#include <string>
#include <utility>

#include "compiler/graph/evaluate_internal.h"
#include "compiler/ir/expr_kinds.h"

namespace burnish {
namespace {

using Result = std::optional<std::vector<ConstantPtr>>;
template <typename T>
using BinaryFn = std::function<std::optional<T>(T, T)>;

// An operation of the IR, and whether it takes its operands in the other order.
struct IrOperation {
  ExprKind kind;
  bool swapped = false;
};

// Operators of two operands that are one operation of the IR. Powers of integers and C's remainder
// of floats are left to run time.
const std::map<OpId, IrOperation>& IrOperations() {
  static const auto& operations = *new std::map<OpId, IrOperation>{
      {OpId::kAdd, {ExprKind::kAdd}},
      {OpId::kSub, {ExprKind::kSub}},
      {OpId::kMul, {ExprKind::kMul}},
      {OpId::kDiv, {ExprKind::kDiv}},
      {OpId::kMod, {ExprKind::kMod}},
      {OpId::kPow, {ExprKind::kPow}},
      {OpId::kMin, {ExprKind::kMin}},
      {OpId::kMax, {ExprKind::kMax}},
      {OpId::kEqual, {ExprKind::kEq}},
      {OpId::kLess, {ExprKind::kLt}},
      {OpId::kLessEqual, {ExprKind::kLe}},
      {OpId::kGreater, {ExprKind::kLt, true}},
      {OpId::kGreaterEqual, {ExprKind::kLe, true}},
      {OpId::kAnd, {ExprKind::kAnd}},
      {OpId::kOr, {ExprKind::kOr}},
  };
  return operations;
}

// Null: not folded.
BinaryFn<int64_t> IntFunction(OpId op, DType type) {
  if (op == OpId::kXor) return [](int64_t a, int64_t b) { return (a != 0) != (b != 0); };
  const auto found = IrOperations().find(op);
  if (found == IrOperations().end() || found->second.kind == ExprKind::kPow) return nullptr;
  return [operation = found->second, type](int64_t a, int64_t b) -> std::optional<int64_t> {
    if (DividesIntegers(operation.kind) && b == 0) return std::nullopt;
    if (operation.swapped) std::swap(a, b);
    return IntBinaryOf(operation.kind, type, a, b);
  };
}

BinaryFn<double> FloatFunction(OpId op, DType) {
  const auto found = IrOperations().find(op);
  if (found == IrOperations().end() || found->second.kind == ExprKind::kMod) return nullptr;
  const ExprMeaning& meaning = InfoOf(found->second.kind).meaning;
  if (const auto function = meaning.float_binary) return function;
  if (meaning.float_test == nullptr) return nullptr;
  return [test = meaning.float_test, swapped = found->second.swapped](double a, double b) {
    return swapped ? test(b, a) : test(a, b);
  };
}

// Null: no operation of one operand.
const ExprMeaning* UnaryMeaning(OpId op) {
  static const auto& kinds = *new std::map<OpId, ExprKind>{
      {OpId::kNeg, ExprKind::kNeg},   {OpId::kAbs, ExprKind::kAbs},
      {OpId::kSqrt, ExprKind::kSqrt}, {OpId::kExp, ExprKind::kExp},
      {OpId::kLog, ExprKind::kLog},   {OpId::kFloor, ExprKind::kFloor},
      {OpId::kCeil, ExprKind::kCeil}, {OpId::kSign, ExprKind::kSign},
  };
  const auto found = kinds.find(op);
  return found == kinds.end() ? nullptr : &InfoOf(found->second).meaning;
}

// Null: not folded. The sign of a u64 is not that of the number it is computed in.
int64_t (*IntUnaryFunction(OpId op, DType type))(int64_t) {
  if (type == DType::kU64) return nullptr;
  if (op == OpId::kRelu) return [](int64_t a) { return a < 0 ? int64_t{0} : a; };
  const ExprMeaning* meaning = UnaryMeaning(op);
  return meaning == nullptr ? nullptr : meaning->int_unary;
}

// Null: not folded.
double (*UnaryFunction(OpId op))(double) {
  if (op == OpId::kReciprocal) return [](double a) { return 1 / a; };
  if (op == OpId::kRelu) return [](double a) { return a < 0 ? 0.0 : a; };
  const ExprMeaning* meaning = UnaryMeaning(op);
  return meaning == nullptr ? nullptr : meaning->float_unary;
}

// Values of any input as T (double or int64_t).
template <typename T>
std::vector<T> Values(const TypedConstant& x) {
  if constexpr (std::is_same_v<T, double>) {
    return ToDoubles(*x.type, *x.data);
  } else {
    return ToInts(*x.type, *x.data);
  }
}

ConstantPtr Pack(DType dtype, const std::vector<double>& v) { return FromDoubles(dtype, v); }
ConstantPtr Pack(DType dtype, const std::vector<int64_t>& v) { return FromInts(dtype, v); }

// Calls visit(output position, positions in each input) for every element of `shape`.
template <size_t N, typename F>
void ForEachBroadcast(const std::vector<int64_t>& shape,
                      const std::array<std::vector<int64_t>, N>& strides, const F& visit) {
  const int rank = static_cast<int>(shape.size());
  const int64_t count = ElementCount(shape);
  std::vector<int64_t> index(rank, 0);
  std::array<int64_t, N> position{};
  for (int64_t o = 0; o < count; ++o) {
    visit(o, position);
    for (int d = rank - 1; d >= 0; --d) {
      for (size_t k = 0; k < N; ++k) position[k] += strides[k][d];
      if (++index[d] < shape[d]) break;
      for (size_t k = 0; k < N; ++k) position[k] -= strides[k][d] * shape[d];
      index[d] = 0;
    }
  }
}

template <typename T>
Result Binary(const BinaryFn<T>& function, absl::Span<const TypedConstant> inputs,
              const TensorType& output) {
  const std::vector<T> a = Values<T>(inputs[0]);
  const std::vector<T> b = Values<T>(inputs[1]);
  std::vector<T> result(ElementCount(output.shape));
  bool defined = true;
  ForEachBroadcast<2>(output.shape,
                      {BroadcastStrides(inputs[0].type->shape, output.shape),
                       BroadcastStrides(inputs[1].type->shape, output.shape)},
                      [&](int64_t o, const std::array<int64_t, 2>& at) {
                        const std::optional<T> v = function(a[at[0]], b[at[1]]);
                        defined = defined && v.has_value();
                        result[o] = v.value_or(T{});
                      });
  if (!defined) return std::nullopt;
  return std::vector<ConstantPtr>{Pack(output.dtype, result)};
}

template <typename T>
Result Where(absl::Span<const TypedConstant> inputs, const TensorType& output) {
  const std::vector<int64_t> condition = Values<int64_t>(inputs[0]);
  const std::vector<T> a = Values<T>(inputs[1]);
  const std::vector<T> b = Values<T>(inputs[2]);
  std::vector<T> result(ElementCount(output.shape));
  ForEachBroadcast<3>(output.shape,
                      {BroadcastStrides(inputs[0].type->shape, output.shape),
                       BroadcastStrides(inputs[1].type->shape, output.shape),
                       BroadcastStrides(inputs[2].type->shape, output.shape)},
                      [&](int64_t o, const std::array<int64_t, 3>& at) {
                        result[o] = condition[at[0]] != 0 ? a[at[1]] : b[at[2]];
                      });
  return std::vector<ConstantPtr>{Pack(output.dtype, result)};
}

// reduce_sum, reduce_prod, reduce_max, reduce_min: the output position of an element has stride 0
// along the reduced axes.
template <typename T>
Result Reduce(const GraphNode& node, const TypedConstant& x, const TensorType& output,
              const BinaryFn<T>& function) {
  const std::vector<int64_t>& shape = x.type->shape;
  if (ElementCount(shape) == 0) return std::nullopt;
  std::vector<int64_t> kept = shape;
  for (int64_t axis : node.attributes.Ints("axes", {})) kept[FromFront(axis, kept.size())] = 1;
  const std::vector<T> values = Values<T>(x);
  std::vector<T> result(ElementCount(output.shape));
  std::vector<bool> started(result.size(), false);
  bool defined = true;
  ForEachBroadcast<1>(shape, {BroadcastStrides(kept, shape)},
                      [&](int64_t i, const std::array<int64_t, 1>& at) {
                        std::optional<T> v = values[i];
                        if (started[at[0]]) v = function(result[at[0]], values[i]);
                        defined = defined && v.has_value();
                        result[at[0]] = v.value_or(T{});
                        started[at[0]] = true;
                      });
  if (!defined) return std::nullopt;
  return std::vector<ConstantPtr>{Pack(output.dtype, result)};
}

// The function that reduces by `op`, where there is one.
std::optional<OpId> ReduceFunction(OpId op) {
  if (op == OpId::kReduceSum) return OpId::kAdd;
  if (op == OpId::kReduceProd) return OpId::kMul;
  if (op == OpId::kReduceMax) return OpId::kMax;
  if (op == OpId::kReduceMin) return OpId::kMin;
  return std::nullopt;
}

template <typename T>
Result Dispatch(BinaryFn<T> (*function_of)(OpId, DType), const GraphNode& node,
                absl::Span<const TypedConstant> inputs, const TensorType& output) {
  if (inputs.empty()) return std::nullopt;
  const DType type = inputs[0].type->dtype;
  if (inputs.size() == 2 && node.op != OpId::kMod) {
    if (const BinaryFn<T> function = function_of(node.op, type)) {
      return Binary<T>(function, inputs, output);
    }
  }
  if (const auto reduction = ReduceFunction(node.op); inputs.size() == 1 && reduction) {
    if (const BinaryFn<T> reducer = function_of(*reduction, type)) {
      return Reduce<T>(node, inputs[0], output, reducer);
    }
  }
  return std::nullopt;
}

// (x - zero point) * scale, rounded as f32 is.
Result Dequantize(absl::Span<const TypedConstant> inputs, const TensorType& output) {
  const std::vector<int64_t> x = Values<int64_t>(inputs[0]);
  const std::vector<double> scale = Values<double>(inputs[1]);
  const std::vector<int64_t> zero = Values<int64_t>(inputs[2]);
  std::vector<double> result(x.size());
  ForEachBroadcast<3>(output.shape,
                      {BroadcastStrides(output.shape, output.shape),
                       BroadcastStrides(inputs[1].type->shape, output.shape),
                       BroadcastStrides(inputs[2].type->shape, output.shape)},
                      [&](int64_t o, const std::array<int64_t, 3>& at) {
                        const int64_t centered = WrapInt(DType::kI32, x[at[0]] - zero[at[2]]);
                        result[o] = static_cast<float>(centered) * scale[at[1]];
                      });
  return std::vector<ConstantPtr>{Pack(output.dtype, result)};
}

Result Cast(const TypedConstant& x, const TensorType& output) {
  if (IsFloat(x.type->dtype)) {
    return std::vector<ConstantPtr>{Pack(output.dtype, Values<double>(x))};
  }
  return std::vector<ConstantPtr>{Pack(output.dtype, Values<int64_t>(x))};
}

template <typename T>
Result Unary(T (*function)(T), const TypedConstant& x, const TensorType& output) {
  std::vector<T> values = Values<T>(x);
  for (T& v : values) v = function(v);
  return std::vector<ConstantPtr>{Pack(output.dtype, values)};
}

}  // namespace

std::optional<std::vector<ConstantPtr>> EvaluateArithmetic(const GraphNode& node,
                                                           absl::Span<const TypedConstant> inputs,
                                                           const TensorType& output_type) {
  const bool is_float = IsFloat(inputs[0].type->dtype);
  if (node.op == OpId::kCast) return Cast(inputs[0], output_type);
  if (node.op == OpId::kDequantize) return Dequantize(inputs, output_type);
  if (node.op == OpId::kWhere && inputs.size() == 3) {
    return IsFloat(output_type.dtype) ? Where<double>(inputs, output_type)
                                      : Where<int64_t>(inputs, output_type);
  }
  if (node.op == OpId::kNot) {
    std::vector<int64_t> values = Values<int64_t>(inputs[0]);
    for (int64_t& v : values) v = v == 0;
    return std::vector<ConstantPtr>{Pack(output_type.dtype, values)};
  }
  if (node.op == OpId::kMod && inputs.size() == 2 && !is_float &&
      node.attributes.Int("fmod", 0) == 0) {
    return Binary<int64_t>(IntFunction(OpId::kMod, inputs[0].type->dtype), inputs, output_type);
  }
  const auto unary = UnaryFunction(node.op);
  if (is_float && inputs.size() == 1 && unary != nullptr) {
    return Unary(unary, inputs[0], output_type);
  }
  // Integers of 64 bits as such: a double has 53.
  if (!is_float && inputs.size() == 1) {
    const auto int_unary = IntUnaryFunction(node.op, inputs[0].type->dtype);
    if (int_unary != nullptr) return Unary(int_unary, inputs[0], output_type);
  }
  if (is_float) return Dispatch<double>(&FloatFunction, node, inputs, output_type);
  return Dispatch<int64_t>(&IntFunction, node, inputs, output_type);
}

}  // namespace burnish
