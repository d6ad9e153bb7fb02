// A shuffle of channels as models write it: a reshape that cuts the channels into (groups, size), a
// transpose of these two, and a reshape back. Channel g * size + i becomes i * groups + g.
// Source: Zhang et al., "ShuffleNet", CVPR 2018, section 3.1.
#ifndef COMPILER_GRAPH_CHANNEL_SHUFFLE_H_
#define COMPILER_GRAPH_CHANNEL_SHUFFLE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/graph.h"

namespace burnish {

struct ChannelShuffle {
  ValueId source = -1;
  GraphNodeId cut = -1, turn = -1;  // The nodes before the last: read by each other only.
  int64_t axis = -1, groups = 0, size = 0;
};

// The shuffle that ends with node `last`. `consumers` and `is_output` are the graph's.
std::optional<ChannelShuffle> MatchChannelShuffle(
    const Graph& graph, GraphNodeId last, const std::vector<std::vector<GraphNodeId>>& consumers,
    const std::vector<bool>& is_output);

// The three nodes. `groups` divides the extent of `axis`.
absl::StatusOr<ValueId> AddChannelShuffle(Graph& graph, ValueId x, int64_t axis, int64_t groups,
                                          const std::string& name);

}  // namespace burnish

#endif  // COMPILER_GRAPH_CHANNEL_SHUFFLE_H_
