#include "compiler/graph/keep_weights_pass.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/rewrite.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;

// Numbers [B,J,N] with a scale for each of [B,N].
struct Blocks {
  Shape shape;
  ConstantPtr numbers, scale;
};

const GraphNode* Producer(const Graph& graph, ValueId v, OpId op) {
  const GraphNodeId n = graph.value(v).producer;
  return n >= 0 && graph.nodes[n].op == op ? &graph.nodes[n] : nullptr;
}

// A constant that is no parameter which may be replaced later.
bool IsFixed(const GraphValue& value) {
  return value.data != nullptr && value.data->origin() == nullptr;
}

// The numbers less their zero points, in the constant's order; null: they do not fit i8. `given`:
// the shape of the zero points as it broadcasts to `shape`, that of the numbers.
ConstantPtr Centered(const GraphValue& numbers, const GraphValue& zero, const Shape& given,
                     const Shape& shape) {
  const std::vector<int64_t> zeros = ToInts(zero.type, *zero.data);
  const bool all_zero = std::all_of(zeros.begin(), zeros.end(), [](int64_t z) { return z == 0; });
  if (numbers.type.dtype == DType::kI8 && all_zero) return numbers.data;
  const bool is_signed = numbers.type.dtype == DType::kI8;
  const Shape strides = BroadcastStrides(given, shape);
  const absl::Span<const uint8_t> bytes = numbers.data->bytes();
  std::vector<int8_t> values;
  values.reserve(bytes.size());
  size_t next = 0;
  for (int64_t i = 0; i < shape[0]; ++i) {
    for (int64_t j = 0; j < shape[1]; ++j) {
      const int64_t row = i * strides[0] + j * strides[1];
      for (int64_t k = 0; k < shape[2]; ++k) {
        const uint8_t byte = bytes[next++];
        const int64_t number = is_signed ? static_cast<int8_t>(byte) : int64_t{byte};
        const int64_t v = number - zeros[row + k * strides[2]];
        if (v < -128 || v > 127) return nullptr;
        values.push_back(static_cast<int8_t>(v));
      }
    }
  }
  return MakeConstant(std::move(values));
}

// The shape of parameters as it broadcasts to numbers of three dimensions, of which the model had
// `rank`; none where it is not one number, or one a column of some block. `one`: the dimension of a
// block's rows.
std::optional<Shape> ParameterShape(Shape given, size_t rank, const Shape& shape, size_t one) {
  const bool is_flipped = one == 2;
  if (rank == 2 && given.size() == 2) given.insert(given.begin() + (is_flipped ? 1 : 0), 1);
  if (given.size() > 3 || (rank == 2 && given.size() == 1 && is_flipped)) return std::nullopt;
  given.insert(given.begin(), 3 - given.size(), 1);
  for (size_t d = 0; d < 3; ++d) {
    if (given[d] != 1 && (d == one || given[d] != shape[d])) return std::nullopt;
  }
  return given;
}

class WeightKeeper {
 public:
  explicit WeightKeeper(Graph& graph) : graph_(graph) {}

  absl::Status Run() {
    const size_t count = graph_.nodes.size();
    for (size_t n = 0; n < count; ++n) {
      // By value: nodes are appended.
      const GraphNode node = graph_.nodes[n];
      if (node.op == OpId::kMatmul || node.op == OpId::kGemm) RETURN_IF_ERROR(Keep(node));
    }
    if (replacements_.empty()) return absl::OkStatus();
    replacements_.Apply(graph_);
    return Finish(graph_);
  }

 private:
  absl::Status Keep(const GraphNode& node) {
    const bool is_plain = node.attributes.Int("trans_a", 0) == 0 &&
                          node.attributes.Float("alpha", 1) == 1 &&
                          (node.inputs.size() < 3 || node.attributes.Float("beta", 1) == 1);
    const TensorType& x = graph_.value(node.inputs[0]).type;
    if (!is_plain || x.dtype != DType::kF32 || graph_.IsConstant(node.inputs[0])) {
      return absl::OkStatus();
    }
    const std::optional<Blocks> blocks =
        BlocksOf(node.inputs[1], node.attributes.Int("trans_b", 0) != 0);
    if (!blocks.has_value()) return absl::OkStatus();
    const ValueId w =
        AddConstant(graph_, node.name + "_weights", {DType::kI8, blocks->shape}, blocks->numbers);
    const ValueId scale =
        AddConstant(graph_, node.name + "_scale",
                    {DType::kF32, {blocks->shape[0], blocks->shape[2]}}, blocks->scale);
    ASSIGN_OR_RETURN(ValueId y,
                     AddOp(graph_, OpId::kMatmulBlocks, {node.inputs[0], w, scale}, {}, node.name));
    if (node.inputs.size() > 2) {
      ASSIGN_OR_RETURN(y, AddOp(graph_, OpId::kAdd, {y, node.inputs[2]}, {}, node.name));
    }
    replacements_.Set(node.outputs[0], y);
    return absl::OkStatus();
  }

  // `flipped`: the matrix is [N,K].
  std::optional<Blocks> BlocksOf(ValueId v, bool flipped) const {
    if (graph_.value(v).type.shape.size() != 2) return std::nullopt;
    const int64_t columns = graph_.value(v).type.shape[flipped ? 0 : 1];
    if (const GraphNode* node = Producer(graph_, v, OpId::kTranspose)) {
      if (node->attributes.Ints("perm", {}) != Shape{1, 0}) return std::nullopt;
      flipped = !flipped;
      v = node->inputs[0];
    }
    if (const GraphNode* node = Producer(graph_, v, OpId::kReshape)) v = node->inputs[0];
    const GraphNode* real = Producer(graph_, v, OpId::kDequantize);
    if (real == nullptr) return std::nullopt;
    const GraphValue& numbers = graph_.value(real->inputs[0]);
    const GraphValue& scale = graph_.value(real->inputs[1]);
    const GraphValue& zero = graph_.value(real->inputs[2]);
    const DType type = numbers.type.dtype;
    if ((type != DType::kI8 && type != DType::kU8) || !IsFixed(numbers) || !IsFixed(scale) ||
        zero.data == nullptr) {
      return std::nullopt;
    }
    Shape shape = numbers.type.shape;
    // One block where rows have no scales of their own.
    if (shape.size() == 2) shape.insert(shape.begin() + (flipped ? 1 : 0), 1);
    if (shape.size() != 3 || shape[flipped ? 0 : 2] != columns) return std::nullopt;
    return Ordered(numbers, scale, zero, shape, flipped);
  }

  // `shape`: [B,J,N], or [N,B,J] where they are flipped.
  static std::optional<Blocks> Ordered(const GraphValue& numbers, const GraphValue& scale,
                                       const GraphValue& zero, const Shape& shape, bool flipped) {
    const size_t one = flipped ? 2 : 1, rank = numbers.type.shape.size();
    Shape of_scale = shape;
    of_scale[one] = 1;
    const auto given = ParameterShape(scale.type.shape, rank, shape, one);
    const auto of_zero = ParameterShape(zero.type.shape, rank, shape, one);
    if (!given.has_value() || !of_zero.has_value()) return std::nullopt;
    const ConstantPtr values = Centered(numbers, zero, *of_zero, shape);
    const std::vector<double> scales = ToDoubles(scale.type, *scale.data);
    const auto is_good = [](double s) { return std::isfinite(s) && s > 0; };
    if (values == nullptr || !std::all_of(scales.begin(), scales.end(), is_good)) {
      return std::nullopt;
    }
    const ConstantPtr wide = StridedCopy(*FromDoubles(DType::kF32, scales), sizeof(float), of_scale,
                                         BroadcastStrides(*given, of_scale), 0);
    Blocks blocks{.shape = shape, .numbers = values, .scale = wide};
    if (!flipped) return blocks;
    blocks.shape = {shape[1], shape[2], shape[0]};
    blocks.numbers = TransposeConstant({DType::kI8, shape}, *blocks.numbers, {1, 2, 0});
    blocks.scale = TransposeConstant({DType::kF32, of_scale}, *blocks.scale, {1, 2, 0});
    return blocks;
  }

  Graph& graph_;
  Replacements replacements_;
};

}  // namespace

absl::Status KeepWeights(Graph& graph) { return WeightKeeper(graph).Run(); }

}  // namespace burnish
