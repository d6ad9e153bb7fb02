// Local algebra that changes no value: identities, chains of cast, transpose and reshape, padding
// that a convolution can do itself, powers, products with constant matrices as dense layers, silu.
#ifndef COMPILER_GRAPH_SIMPLIFY_PASS_H_
#define COMPILER_GRAPH_SIMPLIFY_PASS_H_

#include "absl/status/status.h"
#include "compiler/graph/graph.h"

namespace burnish {

// Repeats its rules until none applies. Nothing is rounded differently, but for pow(x, 2) and
// pow(x, 0.5), which become a product and a square root, and x * sigmoid(x), which becomes silu.
absl::Status Simplify(Graph& graph);

}  // namespace burnish

#endif  // COMPILER_GRAPH_SIMPLIFY_PASS_H_
