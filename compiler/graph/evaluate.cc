#include "compiler/graph/evaluate.h"

#include <algorithm>

#include "compiler/graph/constant_origin.h"
#include "compiler/graph/evaluate_internal.h"

namespace burnish {

std::optional<std::vector<ConstantPtr>> Evaluate(const GraphNode& node,
                                                 absl::Span<const TypedConstant> inputs,
                                                 absl::Span<const TensorType> output_types) {
  const auto is_too_deep = [](const TypedConstant& input) {
    return IsTooDeep(input.data->origin());
  };
  if (inputs.empty() || std::any_of(inputs.begin(), inputs.end(), is_too_deep)) return std::nullopt;
  auto results = EvaluateMovement(node, inputs, output_types);
  if (!results.has_value() && output_types.size() == 1) {
    results = EvaluateArithmetic(node, inputs, output_types[0]);
    if (!results.has_value()) results = EvaluateProduct(node, inputs, output_types[0]);
  }
  if (results.has_value()) RememberNode(node, inputs, *results);
  return results;
}

void RememberNode(const GraphNode& node, absl::Span<const TypedConstant> inputs,
                  std::vector<ConstantPtr>& results) {
  const bool any = std::any_of(inputs.begin(), inputs.end(), [](const TypedConstant& input) {
    return input.data->origin() != nullptr;
  });
  if (!any) return;
  std::vector<OriginPtr> origins;
  for (const TypedConstant& input : inputs) origins.push_back(OriginOf(*input.type, input.data));
  for (size_t i = 0; i < results.size(); ++i) {
    results[i] =
        WithOrigin(results[i], Apply(node.op, origins, node.attributes, static_cast<int>(i)));
  }
}

}  // namespace burnish
