// Evaluates one node on constants by plain loops: what shape arithmetic and the folding of weights
// need, fast enough for 100 MB of weights. Everything else is folded by the IR interpreter.
#ifndef COMPILER_GRAPH_EVALUATE_H_
#define COMPILER_GRAPH_EVALUATE_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "compiler/graph/graph.h"

namespace burnish {

// A constant with its type.
struct TypedConstant {
  const TensorType* type = nullptr;
  ConstantPtr data;
};

// Constants for each of `output_types` (as the operator infers them), or nullopt where the operator
// has no fast path here or the result is not defined (integer division by 0, an index out of
// range): such a node is not an error until it runs. Floats are computed in double, rounded once.
std::optional<std::vector<ConstantPtr>> Evaluate(const GraphNode& node,
                                                 absl::Span<const TypedConstant> inputs,
                                                 absl::Span<const TensorType> output_types);

// Makes `results`, of a node over `inputs`, remember the node (constant_origin.h).
void RememberNode(const GraphNode& node, absl::Span<const TypedConstant> inputs,
                  std::vector<ConstantPtr>& results);

// Whether Evaluate hands on the input's own bytes, so that it costs nothing for any size.
bool EvaluatesWithoutCopy(const GraphNode& node);

// Element o of the result is input element offset + sum(o_d * strides[d]); strides may be 0 (to
// broadcast) or negative. Elements of `element_bytes` bytes.
ConstantPtr StridedCopy(const ConstantData& input, int64_t element_bytes,
                        const std::vector<int64_t>& output_shape,
                        const std::vector<int64_t>& strides, int64_t offset);

// Row-major strides.
std::vector<int64_t> DenseStrides(const std::vector<int64_t>& shape);
// Strides that read `shape` as if it were `broadcast_shape` (aligned at the last dimension): 0
// where it is broadcast.
std::vector<int64_t> BroadcastStrides(const std::vector<int64_t>& shape,
                                      const std::vector<int64_t>& broadcast_shape);

// The constant with its dimensions permuted: dimension d of the result is perm[d] of the input.
ConstantPtr TransposeConstant(const TensorType& type, const ConstantData& data,
                              const std::vector<int64_t>& perm);

}  // namespace burnish

#endif  // COMPILER_GRAPH_EVALUATE_H_
