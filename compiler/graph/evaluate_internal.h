// The parts of Evaluate. Each returns nullopt for operators of the others.
#ifndef COMPILER_GRAPH_EVALUATE_INTERNAL_H_
#define COMPILER_GRAPH_EVALUATE_INTERNAL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/graph/evaluate.h"

namespace burnish {

// Operators count dimensions from either end.
inline int64_t FromFront(int64_t axis, size_t rank) {
  return axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
}

// Data movement: any element type, bytes are copied.
std::optional<std::vector<ConstantPtr>> EvaluateMovement(const GraphNode& node,
                                                         absl::Span<const TypedConstant> inputs,
                                                         absl::Span<const TensorType> output_types);

// Arithmetic, comparisons, where, cast, reductions.
std::optional<std::vector<ConstantPtr>> EvaluateArithmetic(const GraphNode& node,
                                                           absl::Span<const TypedConstant> inputs,
                                                           const TensorType& output_type);

// Matrix products of floats.
std::optional<std::vector<ConstantPtr>> EvaluateProduct(const GraphNode& node,
                                                        absl::Span<const TypedConstant> inputs,
                                                        const TensorType& output_type);

}  // namespace burnish

#endif  // COMPILER_GRAPH_EVALUATE_INTERNAL_H_
