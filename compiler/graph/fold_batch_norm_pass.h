// Folds per-channel scale and shift into the weights and bias of the convolution or matrix product
// before them; what is left of batch_norm becomes a multiplication and an addition.
#ifndef COMPILER_GRAPH_FOLD_BATCH_NORM_PASS_H_
#define COMPILER_GRAPH_FOLD_BATCH_NORM_PASS_H_

#include "absl/status/status.h"
#include "compiler/graph/graph.h"

namespace burnish {

// Scales and shifts are batch_norm, and mul, div, add, sub with a constant that has one value a
// channel. Folded into conv, conv_transpose, dense and gemm with constant weights whose result
// nothing else reads, while the weights' type holds the products and no scale is infinite or near
// it: special values are those of the graph as written. Folding rounds once more than that:
// products are computed in double and rounded to the weights' type.
absl::Status FoldBatchNorm(Graph& graph);

}  // namespace burnish

#endif  // COMPILER_GRAPH_FOLD_BATCH_NORM_PASS_H_
