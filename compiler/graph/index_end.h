// How far indices that a run computes of its sizes go (docs/adr/0013-bounded-axes.md).
#ifndef COMPILER_GRAPH_INDEX_END_H_
#define COMPILER_GRAPH_INDEX_END_H_

#include <cstdint>
#include <map>
#include <optional>

#include "compiler/graph/graph.h"
#include "compiler/graph/size_term.h"

namespace burnish {

// Scalars of a graph that are sizes or computed of them, and what sizes may be.
struct KnownSizes {
  std::map<ValueId, SizeTerm> terms;
  std::map<ValueId, SizeRange> ranges;  // By the extents of the terms.
};

// None of `indices` into an axis of `bound` elements that a kernel accepts is at this element or
// behind it. nullopt: not known, or one may be negative, which counts from the bound.
std::optional<SizeTerm> EndOfIndices(const Graph& graph, const KnownSizes& sizes, ValueId indices,
                                     int64_t bound);

}  // namespace burnish

#endif  // COMPILER_GRAPH_INDEX_END_H_
