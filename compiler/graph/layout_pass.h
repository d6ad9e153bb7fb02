// Turns image models from N,C,spatial to N,spatial,C inside; the model's interface keeps its
// layout.
//
// With channels innermost a convolution reads and writes whole vectors of channels, and 1x1
// convolutions are matrix products over contiguous rows.
#ifndef COMPILER_GRAPH_LAYOUT_PASS_H_
#define COMPILER_GRAPH_LAYOUT_PASS_H_

#include "absl/status/status.h"
#include "compiler/graph/graph.h"

namespace burnish {

// Operators of LayoutRule::kChannelsLast (convolutions, pools) get channels_last = 1, but for
// windows that would be turned for themselves alone (lone_window.h). The layout is
// carried through whatever follows it by its rule (compiler/te/layout.h), attributes and constants
// turned accordingly. Transposes are left at the edges only; run Simplify afterwards: it merges
// them with the model's own and with reshapes.
absl::Status ConvertToChannelsLast(Graph& graph);

}  // namespace burnish

#endif  // COMPILER_GRAPH_LAYOUT_PASS_H_
