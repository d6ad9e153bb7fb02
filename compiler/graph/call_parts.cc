#include "compiler/graph/call_parts.h"

#include <algorithm>
#include <cstdint>

#include "compiler/graph/demanded_axes.h"
#include "compiler/graph/size_term.h"

namespace burnish {
namespace {

double PartsOfAxis(const AxisParts& axis, const std::vector<GraphSize>& sizes) {
  double parts = 1;
  for (const AxisPart& part : axis) {
    double holds = 0;
    for (const auto& [extents, factor] : part.holds.products()) {
      auto product = static_cast<double>(factor);
      for (const ValueId extent : extents) {
        const GraphSize& size = sizes[extent];
        product *= static_cast<double>(std::max(size.least, size.served_from));
      }
      holds += product;
    }
    const auto bound = static_cast<double>(part.bound * part.divisor);
    if (holds < bound) parts *= bound / std::max(holds, 1.0);
  }
  return parts;
}

}  // namespace

std::vector<double> PartsOfValues(const Graph& graph) {
  if (graph.sizes.empty()) return {};
  std::vector<double> parts;
  for (const DemandedParts& demand : DemandedAxes(graph)) {
    parts.push_back(1);
    for (const AxisParts& axis : demand) parts.back() *= PartsOfAxis(axis, graph.sizes);
  }
  return parts;
}

double LeastParts(absl::Span<const ValueId> results, const std::vector<double>& parts) {
  if (parts.empty() || results.empty()) return 1;
  double least = parts[results[0]];
  for (const ValueId result : results) least = std::min(least, parts[result]);
  return least;
}

}  // namespace burnish
