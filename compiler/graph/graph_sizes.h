// What of a graph's scalars and masks follows from its sizes (docs/adr/0013-bounded-axes.md).
#ifndef COMPILER_GRAPH_GRAPH_SIZES_H_
#define COMPILER_GRAPH_GRAPH_SIZES_H_

#include <cstddef>
#include <map>
#include <optional>

#include "compiler/graph/graph.h"
#include "compiler/graph/index_end.h"
#include "compiler/graph/size_quotients.h"
#include "compiler/graph/size_term.h"

namespace burnish {

// A condition `position < size`: true as far as `holds` along its only long axis.
struct SizeMask {
  size_t axis = 0;
  SizeTerm holds;
};

class GraphSizes {
 public:
  // The graph is sorted, and outlives this. Extents are positions in Graph::sizes, and quotients of
  // such.
  explicit GraphSizes(const Graph& graph);

  // nullopt: the scalar follows from no size.
  std::optional<SizeTerm> TermOf(ValueId scalar) const;
  // nullopt: the condition is no such mask.
  std::optional<SizeMask> MaskOf(ValueId condition) const;
  // At least as much, in terms of sizes alone.
  AxisPart OfSizes(const AxisPart& part) const;

  SizeQuotients& quotients() { return quotients_; }
  const std::map<ValueId, SizeRange>& ranges() const { return quotients_.ranges(); }
  const KnownSizes& known() const { return known_; }

 private:
  const Graph& graph_;
  SizeQuotients quotients_;
  KnownSizes known_;
};

}  // namespace burnish

#endif  // COMPILER_GRAPH_GRAPH_SIZES_H_
