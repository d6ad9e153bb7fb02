// Maxima over large windows, one dimension after the other.
#ifndef COMPILER_GRAPH_SPLIT_POOLS_PASS_H_
#define COMPILER_GRAPH_SPLIT_POOLS_PASS_H_

#include "absl/status/status.h"
#include "compiler/graph/graph.h"

namespace burnish {

// The greatest of a window is the greatest of its rows' greatest: a max pool over 13x13 pixels, as
// in the spatial pyramid of YOLOv3-SPP, becomes one over 1x13 and one over 13x1, 24 comparisons a
// pixel instead of 168. Outputs are the same bits. Averages stay: their sums would be added in
// another order. So do small windows, which cost less than the values between would.
absl::Status SplitPools(Graph& graph);

}  // namespace burnish

#endif  // COMPILER_GRAPH_SPLIT_POOLS_PASS_H_
