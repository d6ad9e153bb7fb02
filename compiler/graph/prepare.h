// The passes in the order in which a model goes through them.
#ifndef COMPILER_GRAPH_PREPARE_H_
#define COMPILER_GRAPH_PREPARE_H_

#include "absl/status/status.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/precision_pass.h"

namespace burnish {

struct PrepareOptions {
  bool channels_last = true;    // From optimisation level 2 on.
  bool fold_batch_norm = true;  // Changes rounding: weights are scaled once, at build time.
  FloatStorage storage = {};    // Of f32 values between operators.
};

// Folds, simplifies and lays out the graph; it is then ready for Fuse. The graph's inputs and
// outputs keep their order, names and types.
absl::Status PrepareGraph(Graph& graph, const PrepareOptions& options = {});

}  // namespace burnish

#endif  // COMPILER_GRAPH_PREPARE_H_
