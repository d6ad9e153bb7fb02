// Convolutions and pools that stand alone between values in the model's own order of dimensions.
//
// Channels last pays where a chain of operators shares it. A window by itself pays for both
// transpositions, and with channels first it has vectors too: along rows of pixels, which then lie
// side by side, or by short steps, in its input and its result.
#ifndef COMPILER_GRAPH_LONE_WINDOW_H_
#define COMPILER_GRAPH_LONE_WINDOW_H_

#include <vector>

#include "compiler/graph/graph.h"

namespace burnish {

// Whether `node` is a convolution or a pool whose result nobody wants with channels last, with so
// few sums that the transpositions would take about as long as they, and with rows of pixels that
// are whole vectors, or many. Its input the caller knows. `consumers`: of the graph.
bool IsLoneWindow(const Graph& graph, const GraphNode& node,
                  const std::vector<std::vector<GraphNodeId>>& consumers);

}  // namespace burnish

#endif  // COMPILER_GRAPH_LONE_WINDOW_H_
