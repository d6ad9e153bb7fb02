// Recomputes every node's output types from the graph inputs on.
#ifndef COMPILER_GRAPH_INFER_SHAPES_PASS_H_
#define COMPILER_GRAPH_INFER_SHAPES_PASS_H_

#include "absl/status/status.h"
#include "compiler/graph/graph.h"

namespace burnish {

// For after a graph input's shape was changed, such as its batch. Attributes that hold whole shapes
// (reshape, expand) are not changed: errors name the first node that no longer fits.
absl::Status InferShapes(Graph& graph);

}  // namespace burnish

#endif  // COMPILER_GRAPH_INFER_SHAPES_PASS_H_
