// Which part of a value a run wants at least, where sizes of a run decide. Schedules are chosen for
// such runs, too (tuner/sketch/default_schedule.h).
#ifndef COMPILER_GRAPH_CALL_PARTS_H_
#define COMPILER_GRAPH_CALL_PARTS_H_

#include <vector>

#include "absl/types/span.h"
#include "compiler/graph/graph.h"

namespace burnish {

// By value: a run at the sizes that this graph serves from wants one part in so many, 1 for all.
// Empty where no run sizes anything.
std::vector<double> PartsOfValues(const Graph& graph);

// Of a kernel with these results, of which each run computes what any of them needs.
double LeastParts(absl::Span<const ValueId> results, const std::vector<double>& parts);

}  // namespace burnish

#endif  // COMPILER_GRAPH_CALL_PARTS_H_
