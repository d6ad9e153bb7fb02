// Moves channel shuffles to after the depthwise convolutions that read them: whose weights are
// shuffled instead, once. Strided ones then shuffle less, the padding stays with the producer's
// output, and the shuffle meets the products behind.
#ifndef COMPILER_GRAPH_SINK_SHUFFLE_PASS_H_
#define COMPILER_GRAPH_SINK_SHUFFLE_PASS_H_

#include "absl/status/status.h"
#include "compiler/graph/graph.h"

namespace burnish {

// Only past convolutions with constant weights and bias, as many outputs as inputs, and where
// nothing else reads the shuffled value. Changes no rounding.
absl::Status SinkChannelShuffles(Graph& graph);

}  // namespace burnish

#endif  // COMPILER_GRAPH_SINK_SHUFFLE_PASS_H_
