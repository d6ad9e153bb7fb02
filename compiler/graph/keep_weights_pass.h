// Weights of 8 bits that stay 8 bits: products of real numbers by dequantized constants.
//
//   matmul, gemm by [transpose of] [reshape of] dequantize(constant i8 or u8, scales and
//   zero points by column, or by column and block of rows)
//       matmul_blocks(x, numbers [B,J,N], scales [B,N])
//
// Without it such weights would be folded to f32: four times the memory, and four times the bytes
// that a product of few rows waits for.
#ifndef COMPILER_GRAPH_KEEP_WEIGHTS_PASS_H_
#define COMPILER_GRAPH_KEEP_WEIGHTS_PASS_H_

#include "absl/status/status.h"
#include "compiler/graph/graph.h"

namespace burnish {

// Behind FoldQuantization, which makes integers of products of quantized activations. Weights less
// their zero points must fit i8. Errors: only what the operator library says about a node that it
// should take.
absl::Status KeepWeights(Graph& graph);

}  // namespace burnish

#endif  // COMPILER_GRAPH_KEEP_WEIGHTS_PASS_H_
