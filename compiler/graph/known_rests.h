// What values have behind the part of an axis that holds in a run: masks put the neutral element of
// a sum or a maximum there, and it stays through what follows (docs/adr/0013-bounded-axes.md).
#ifndef COMPILER_GRAPH_KNOWN_RESTS_H_
#define COMPILER_GRAPH_KNOWN_RESTS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/size_term.h"

namespace burnish {

// Along `axis`, behind what holds, all elements are `value`: 0 (false), or an infinity.
struct ValueRest {
  int axis = 0;
  double value = 0;
  AxisPart holds = {};  // At least; extents are positions in Graph::sizes.
};

// By value; what is not found is not said. Of graphs without sizes nothing is.
std::vector<std::vector<ValueRest>> KnownRests(const Graph& graph);

// Of a tensor in another shape, the axis with as many elements, and as many behind each; nullopt:
// none is.
std::optional<int> SameAxis(const std::vector<int64_t>& from, int axis,
                            const std::vector<int64_t>& to);

// 0 or an infinity, of a constant of one element that no later weights replace; nullopt: the value
// is none.
std::optional<double> NeutralNumber(const GraphValue& value);

}  // namespace burnish

#endif  // COMPILER_GRAPH_KNOWN_RESTS_H_
