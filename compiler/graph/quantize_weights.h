// A float model whose matrices are 8 bits, and all else as it was.
#ifndef COMPILER_GRAPH_QUANTIZE_WEIGHTS_H_
#define COMPILER_GRAPH_QUANTIZE_WEIGHTS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "compiler/graph/graph.h"

namespace burnish {

struct QuantizedWeights {
  Graph graph;
  int64_t product_count = 0;
  int64_t weight_count = 0;  // Numbers that are i8 now.
  int64_t weight_bytes = 0;  // That they take, with their scales.
};

// matmul, gemm and dense by constant matrices of f32 become matmul_blocks: i8, symmetric, with a
// scale for each column of `group` rows; one for the whole column where `group` does not divide the
// rows. The graph's constants must be folded (PrepareToQuantize). INVALID_ARGUMENT: weights that
// are not finite.
absl::StatusOr<QuantizedWeights> QuantizeWeights(const Graph& graph, int64_t group);

}  // namespace burnish

#endif  // COMPILER_GRAPH_QUANTIZE_WEIGHTS_H_
