// Moves concats to after the elementwise operator that reads them: then each part's producer
// applies it, and the concat is storage only.
#ifndef COMPILER_GRAPH_SINK_CONCAT_PASS_H_
#define COMPILER_GRAPH_SINK_CONCAT_PASS_H_

#include "absl/status/status.h"
#include "compiler/graph/graph.h"

namespace burnish {

// Only operators of one input, and only where all parts are convolutions, pools or products that
// nothing else reads: elsewhere one pass over memory would become several.
absl::Status SinkConcats(Graph& graph);

}  // namespace burnish

#endif  // COMPILER_GRAPH_SINK_CONCAT_PASS_H_
