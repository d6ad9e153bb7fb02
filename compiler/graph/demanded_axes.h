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

// By value; empty: all of its elements may be read. A superset of what is read: from the outputs'
// bounded axes backwards, by the operators' definitions.
std::vector<DemandedParts> DemandedAxes(const Graph& graph);

// The same elements of a tensor of another shape; empty: all.
DemandedParts RegroupDemand(const DemandedParts& parts, const std::vector<int64_t>& shape);

}  // namespace burnish

#endif  // COMPILER_GRAPH_DEMANDED_AXES_H_
