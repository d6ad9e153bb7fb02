// Which elements of each value anything reads in a run, where callers give sizes: what nobody reads
// need not be computed (docs/adr/0013-bounded-axes.md).
#ifndef COMPILER_GRAPH_DEMANDED_AXES_H_
#define COMPILER_GRAPH_DEMANDED_AXES_H_

#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/size_term.h"

namespace burnish {

// By axis of a value. Extents of the terms are positions in Graph::sizes.
using DemandedParts = std::vector<AxisParts>;

// What loops and branches of a flat graph (compiler/driver/cut_control.h) hand on without a node
// between.
struct HandedOn {
  enum class As {
    kWhole,
    kRow,   // `to` is one of `from` along dimension 0.
    kRows,  // `from` is one of `to` along dimension 0.
  };
  ValueId from = -1, to = -1;
  As as = As::kWhole;
  // Of kRow: an i64 scalar, the first of so many are taken; -1: all are.
  ValueId count = -1;
};
struct ControlReads {
  std::vector<HandedOn> handed_on;
  std::vector<ValueId> whole;  // Counts and conditions.
};

// By value; empty: all of its elements may be read. A superset of what is read: from the outputs'
// bounded axes backwards, by the operators' definitions. Nodes with bodies read all of their
// inputs, unless `control` says what is read instead.
std::vector<DemandedParts> DemandedAxes(const Graph& graph, const ControlReads* control = nullptr);

// The same elements of a tensor of another shape; empty: all.
DemandedParts RegroupDemand(const DemandedParts& parts, const std::vector<int64_t>& shape);

}  // namespace burnish

#endif  // COMPILER_GRAPH_DEMANDED_AXES_H_
