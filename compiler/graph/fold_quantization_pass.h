// Makes integer computation of quantized graphs: what stands between dequantize and quantize.
//
//   dequantize -> reshape, transpose, slice, max_pool, concat -> ..  the movement on the numbers
//   quantize(dequantize(x)) with equal scales and zero points        x
//   dequantize -> conv, matmul, gemm, dense by constant weights -> add, relu, clip -> quantize
//       conv_integer or matmul_integer -> requantize -> clip
//   the same with nothing of that behind it, or read by others
//       conv_integer or matmul_integer -> cast -> mul by the scale of the sums -> add the bias
//
// Results are within 1 of those of the real numbers in between (docs/adr/0016): the multiplier is
// rounded to f32 once, and a bias to the scale of the sums.
#ifndef COMPILER_GRAPH_FOLD_QUANTIZATION_PASS_H_
#define COMPILER_GRAPH_FOLD_QUANTIZATION_PASS_H_

#include "absl/status/status.h"
#include "compiler/graph/graph.h"

namespace burnish {

// Errors: only what the operator library says about a node that it should take.
absl::Status FoldQuantization(Graph& graph);

}  // namespace burnish

#endif  // COMPILER_GRAPH_FOLD_QUANTIZATION_PASS_H_
