// Products of constant matrices: position tables times projections, as DeBERTa has them.
#include <algorithm>

#include "compiler/graph/evaluate_internal.h"

namespace burnish {

std::optional<std::vector<ConstantPtr>> EvaluateProduct(const GraphNode& node,
                                                        absl::Span<const TypedConstant> inputs,
                                                        const TensorType& output_type) {
  if (node.op != OpId::kMatmul || inputs.size() != 2 || !node.attributes.values().empty() ||
      !IsFloat(output_type.dtype)) {
    return std::nullopt;
  }
  const std::vector<int64_t>&a = inputs[0].type->shape, &b = inputs[1].type->shape;
  if (a.size() < 2 || b.size() != 2) return std::nullopt;  // One right side for all rows.
  const int64_t depth = b[0], columns = b[1], rows = ElementCount(a) / depth;
  const std::vector<double> left = ToDoubles(*inputs[0].type, *inputs[0].data);
  const std::vector<double> right = ToDoubles(*inputs[1].type, *inputs[1].data);
  std::vector<double> sums(rows * columns, 0.0);
  for (int64_t i = 0; i < rows; ++i) {
    double* const to = sums.data() + i * columns;
    for (int64_t k = 0; k < depth; ++k) {
      const double factor = left[i * depth + k];
      const double* const from = right.data() + k * columns;
      for (int64_t j = 0; j < columns; ++j) to[j] += factor * from[j];
    }
  }
  return std::vector<ConstantPtr>{FromDoubles(output_type.dtype, sums)};
}

}  // namespace burnish
