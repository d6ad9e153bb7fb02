#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "compiler/graph/evaluate_internal.h"

namespace burnish {
namespace {

using Result = std::optional<std::vector<ConstantPtr>>;
template <typename T>
using BinaryFn = std::optional<T> (*)(T, T);

// Signed overflow is undefined in C++; the IR's integers wrap.
int64_t Wrap(uint64_t v) { return static_cast<int64_t>(v); }

std::optional<int64_t> IntDiv(int64_t a, int64_t b) {
  if (b == 0 || (a == std::numeric_limits<int64_t>::min() && b == -1)) return std::nullopt;
  return a / b;
}

std::optional<int64_t> IntFloorMod(int64_t a, int64_t b) {
  if (b == 0) return std::nullopt;
  if (b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

const std::map<std::string, BinaryFn<int64_t>>& IntFunctions() {
  using I = int64_t;
  using O = std::optional<int64_t>;
  static const auto& functions = *new std::map<std::string, BinaryFn<int64_t>>{
      {"add", [](I a, I b) -> O { return Wrap(uint64_t(a) + uint64_t(b)); }},
      {"sub", [](I a, I b) -> O { return Wrap(uint64_t(a) - uint64_t(b)); }},
      {"mul", [](I a, I b) -> O { return Wrap(uint64_t(a) * uint64_t(b)); }},
      {"div", IntDiv},
      {"mod", IntFloorMod},
      {"min", [](I a, I b) -> O { return std::min(a, b); }},
      {"max", [](I a, I b) -> O { return std::max(a, b); }},
      {"equal", [](I a, I b) -> O { return a == b; }},
      {"less", [](I a, I b) -> O { return a < b; }},
      {"less_equal", [](I a, I b) -> O { return a <= b; }},
      {"greater", [](I a, I b) -> O { return a > b; }},
      {"greater_equal", [](I a, I b) -> O { return a >= b; }},
      {"and", [](I a, I b) -> O { return (a != 0) && (b != 0); }},
      {"or", [](I a, I b) -> O { return (a != 0) || (b != 0); }},
      {"xor", [](I a, I b) -> O { return (a != 0) != (b != 0); }},
  };
  return functions;
}

const std::map<std::string, BinaryFn<double>>& FloatFunctions() {
  using D = double;
  using O = std::optional<double>;
  static const auto& functions = *new std::map<std::string, BinaryFn<double>>{
      {"add", [](D a, D b) -> O { return a + b; }},
      {"sub", [](D a, D b) -> O { return a - b; }},
      {"mul", [](D a, D b) -> O { return a * b; }},
      {"div", [](D a, D b) -> O { return a / b; }},
      {"pow", [](D a, D b) -> O { return std::pow(a, b); }},
      {"min", [](D a, D b) -> O { return std::isnan(a) || a < b ? a : b; }},
      {"max", [](D a, D b) -> O { return std::isnan(a) || a > b ? a : b; }},
      {"equal", [](D a, D b) -> O { return a == b; }},
      {"less", [](D a, D b) -> O { return a < b; }},
      {"less_equal", [](D a, D b) -> O { return a <= b; }},
      {"greater", [](D a, D b) -> O { return a > b; }},
      {"greater_equal", [](D a, D b) -> O { return a >= b; }},
  };
  return functions;
}

const std::map<std::string, double (*)(double)>& UnaryFunctions() {
  using D = double;
  static const auto& functions = *new std::map<std::string, double (*)(double)>{
      {"neg", [](D a) { return -a; }},
      {"abs", [](D a) { return std::fabs(a); }},
      {"sqrt", [](D a) { return std::sqrt(a); }},
      {"exp", [](D a) { return std::exp(a); }},
      {"log", [](D a) { return std::log(a); }},
      {"floor", [](D a) { return std::floor(a); }},
      {"ceil", [](D a) { return std::ceil(a); }},
      {"reciprocal", [](D a) { return 1 / a; }},
      {"relu", [](D a) { return a < 0 ? 0.0 : a; }},
  };
  return functions;
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
Result Binary(BinaryFn<T> function, absl::Span<const TypedConstant> inputs,
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
              BinaryFn<T> function) {
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

// The function that reduces by `op`, or "".
std::string ReduceFunction(const std::string& op) {
  if (op == "reduce_sum") return "add";
  if (op == "reduce_prod") return "mul";
  if (op == "reduce_max") return "max";
  if (op == "reduce_min") return "min";
  return "";
}

template <typename T>
Result Dispatch(const std::map<std::string, BinaryFn<T>>& functions, const GraphNode& node,
                absl::Span<const TypedConstant> inputs, const TensorType& output) {
  if (inputs.size() == 2 && node.op != "mod") {
    const auto found = functions.find(node.op);
    if (found != functions.end()) return Binary<T>(found->second, inputs, output);
  }
  const auto reducer = functions.find(ReduceFunction(node.op));
  if (inputs.size() == 1 && reducer != functions.end()) {
    return Reduce<T>(node, inputs[0], output, reducer->second);
  }
  return std::nullopt;
}

Result Cast(const TypedConstant& x, const TensorType& output) {
  if (IsFloat(x.type->dtype)) {
    return std::vector<ConstantPtr>{Pack(output.dtype, Values<double>(x))};
  }
  return std::vector<ConstantPtr>{Pack(output.dtype, Values<int64_t>(x))};
}

Result Unary(double (*function)(double), const TypedConstant& x, const TensorType& output) {
  std::vector<double> values = Values<double>(x);
  for (double& v : values) v = function(v);
  return std::vector<ConstantPtr>{Pack(output.dtype, values)};
}

}  // namespace

std::optional<std::vector<ConstantPtr>> EvaluateArithmetic(const GraphNode& node,
                                                           absl::Span<const TypedConstant> inputs,
                                                           const TensorType& output_type) {
  const bool is_float = IsFloat(inputs[0].type->dtype);
  if (node.op == "cast") return Cast(inputs[0], output_type);
  if (node.op == "where" && inputs.size() == 3) {
    return IsFloat(output_type.dtype) ? Where<double>(inputs, output_type)
                                      : Where<int64_t>(inputs, output_type);
  }
  if (node.op == "not") {
    std::vector<int64_t> values = Values<int64_t>(inputs[0]);
    for (int64_t& v : values) v = v == 0;
    return std::vector<ConstantPtr>{Pack(output_type.dtype, values)};
  }
  if (node.op == "mod" && inputs.size() == 2 && !is_float && node.attributes.Int("fmod", 0) == 0) {
    return Binary<int64_t>(IntFloorMod, inputs, output_type);
  }
  const auto unary = UnaryFunctions().find(node.op);
  if (is_float && inputs.size() == 1 && unary != UnaryFunctions().end()) {
    return Unary(unary->second, inputs[0], output_type);
  }
  if (is_float) return Dispatch<double>(FloatFunctions(), node, inputs, output_type);
  return Dispatch<int64_t>(IntFunctions(), node, inputs, output_type);
}

}  // namespace burnish
