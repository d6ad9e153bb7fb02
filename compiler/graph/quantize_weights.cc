#include "compiler/graph/quantize_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/rewrite.h"

namespace burnish {
namespace {

// Whether the product is x times a constant matrix of f32, and which way that lies.
bool TakesWeights(const Graph& graph, const GraphNode& node, bool* flipped) {
  if (node.op != OpId::kMatmul && node.op != OpId::kGemm && node.op != OpId::kDense) return false;
  const GraphValue &x = graph.value(node.inputs[0]), &w = graph.value(node.inputs[1]);
  *flipped = node.op == OpId::kDense || node.attributes.Int("trans_b", 0) != 0;
  return x.data == nullptr && w.data != nullptr && w.data->origin() == nullptr &&
         x.type.dtype == DType::kF32 && w.type.shape.size() == 2 && x.type.shape.size() >= 2 &&
         node.attributes.Int("trans_a", 0) == 0 && node.attributes.Float("alpha", 1) == 1 &&
         (node.inputs.size() < 3 || node.attributes.Float("beta", 1) == 1);
}

class WeightQuantizer {
 public:
  WeightQuantizer(const Graph& graph, int64_t group) : group_(group) { result_.graph = graph; }

  absl::StatusOr<QuantizedWeights> Run() {
    const size_t count = graph().nodes.size();
    for (size_t n = 0; n < count; ++n) {
      const GraphNode node = graph().nodes[n];
      bool flipped = false;
      if (TakesWeights(graph(), node, &flipped)) RETURN_IF_ERROR(Quantize(node, flipped));
    }
    if (!replacements_.empty()) {
      replacements_.Apply(graph());
      RETURN_IF_ERROR(Finish(graph()));
    }
    return std::move(result_);
  }

 private:
  Graph& graph() { return result_.graph; }

  absl::Status Quantize(const GraphNode& node, bool flipped) {
    const GraphValue weights = graph().value(node.inputs[1]);
    ConstantPtr data = weights.data;
    std::vector<int64_t> shape = weights.type.shape;
    if (flipped) {
      data = TransposeConstant(weights.type, *data, {1, 0});
      std::swap(shape[0], shape[1]);
    }
    const int64_t rows = shape[0], columns = shape[1];
    const int64_t block = rows % group_ == 0 ? group_ : rows;
    const std::vector<float> values = CopyAs<float>(*data);
    std::vector<float> scales(rows / block * columns, 0);
    const auto scale_of = [&](size_t i) {
      return i / static_cast<size_t>(block * columns) * static_cast<size_t>(columns) +
             i % static_cast<size_t>(columns);
    };
    for (size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i])) {
        return absl::InvalidArgumentError(
            absl::StrCat("the weights ", weights.name, " of node ", node.name, " are not finite"));
      }
      scales[scale_of(i)] = std::max(scales[scale_of(i)], std::abs(values[i]));
    }
    for (float& scale : scales) {
      scale /= 127;
      // Kernels take subnormal scales for 0.
      if (!(scale >= std::numeric_limits<float>::min())) scale = 1;
    }
    std::vector<int8_t> numbers(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const float number = std::nearbyint(values[i] / scales[scale_of(i)]);
      numbers[i] = static_cast<int8_t>(std::clamp(number, -127.0F, 127.0F));
    }
    ++result_.product_count;
    result_.weight_count += std::ssize(numbers);
    result_.weight_bytes += std::ssize(numbers) + 4 * std::ssize(scales);
    const std::vector<int64_t> of_scale = {rows / block, columns};
    const ValueId w =
        AddConstant(graph(), absl::StrCat(weights.name, "_quantized"),
                    {DType::kI8, {rows / block, block, columns}}, MakeConstant(std::move(numbers)));
    const ValueId scale = AddConstant(graph(), absl::StrCat(weights.name, "_scale"),
                                      {DType::kF32, of_scale}, MakeConstant(std::move(scales)));
    ASSIGN_OR_RETURN(
        ValueId y, AddOp(graph(), OpId::kMatmulBlocks, {node.inputs[0], w, scale}, {}, node.name));
    if (node.inputs.size() > 2) {
      ASSIGN_OR_RETURN(y, AddOp(graph(), OpId::kAdd, {y, node.inputs[2]}, {}, node.name));
    }
    replacements_.Set(node.outputs[0], y);
    return absl::OkStatus();
  }

  const int64_t group_;
  Replacements replacements_;
  QuantizedWeights result_;
};

}  // namespace

absl::StatusOr<QuantizedWeights> QuantizeWeights(const Graph& graph, int64_t group) {
  return WeightQuantizer(graph, group).Run();
}

}  // namespace burnish
