#include "compiler/graph/evaluate.h"

#include "compiler/graph/evaluate_internal.h"

namespace burnish {

std::optional<std::vector<ConstantPtr>> Evaluate(const GraphNode& node,
                                                 absl::Span<const TypedConstant> inputs,
                                                 absl::Span<const TensorType> output_types) {
  if (inputs.empty()) return std::nullopt;
  if (auto moved = EvaluateMovement(node, inputs, output_types)) return moved;
  if (output_types.size() != 1) return std::nullopt;
  return EvaluateArithmetic(node, inputs, output_types[0]);
}

}  // namespace burnish
