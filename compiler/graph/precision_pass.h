// Tensors between operators in 16 bits: half the memory and traffic, and products of what the
// target multiplies in pairs. Operators compute in f32 whatever they read (te/builder.h), so sums,
// softmax and the statistics of normalizations lose nothing but what their inputs were rounded to.
#ifndef COMPILER_GRAPH_PRECISION_PASS_H_
#define COMPILER_GRAPH_PRECISION_PASS_H_

#include "absl/status/status.h"
#include "compiler/graph/graph.h"

namespace burnish {

// Stores values of f32 as `storage` (kBf16, kF16): weights once, activations where their producer
// writes them. In f32 stay
//  - the graph's inputs and outputs: types of a model are its callers';
//  - biases, scales and statistics, which cost nothing and are added to sums;
//  - whatever becomes a number or a decision: operands of casts to integers, comparisons and
//    argmax, and of host kernels, with all that computes them up to the next product (a position
//    above 256 is no bfloat16);
//  - operands and results of control flow: their bodies are left as they are.
// Constants must be folded before. Errors: those of an operator that refuses such types.
absl::Status StoreFloatsAs(Graph& graph, DType storage);

}  // namespace burnish

#endif  // COMPILER_GRAPH_PRECISION_PASS_H_
