// How axes of which a run fills a part go on through operators: docs/adr/0013-bounded-axes.md.
#ifndef COMPILER_GRAPH_BOUNDED_AXES_H_
#define COMPILER_GRAPH_BOUNDED_AXES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/graph.h"

namespace burnish {

// An axis whose elements all hold.
inline constexpr ValueId kFullAxis = -1;
// By axis: the i64 scalar that says how many elements hold, or kFullAxis. Empty: all axes are full.
// An axis with an extent has 2 elements at least, so that it is none that broadcasts.
using AxisExtents = std::vector<ValueId>;

bool IsBounded(const AxisExtents& extents);

struct CarriedExtents {
  std::vector<AxisExtents> outputs;  // One an output of the node.
  // Inputs that must hold a harmless number where no element holds, because the operator would fail
  // there: an index, or an integer's divisor.
  struct Fill {
    size_t input = 0;
    int64_t value = 0;
  };
  std::vector<Fill> fills;
};

// Extents of the results of `node`, whose inputs have these (one list an input; kFullAxis
// throughout for a scalar), by the operator's definition: what holds of the results is computed of
// what holds of the inputs. The node need not be in the graph, nor have outputs. UNIMPLEMENTED
// where the operator would mix in what does not hold, with the axis, and without the node's name.
absl::StatusOr<CarriedExtents> CarryExtents(const Graph& graph, const GraphNode& node,
                                            const std::vector<AxisExtents>& inputs);

}  // namespace burnish

#endif  // COMPILER_GRAPH_BOUNDED_AXES_H_
