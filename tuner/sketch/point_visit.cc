#include "tuner/sketch/point_visit.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace burnish {
namespace {

// Points of one sketch that are looked at; spaces of single operators are smaller.
constexpr int64_t kPointsMax = 4000;
// Of several blocks, that are looked at in all combinations: 64 of 0.3 ms each, on a Zen 5, in each
// of 16 sketches.
constexpr int64_t kCombinedMax = 64;
// Rounds over the blocks; two settle whatever blocks do not share.
constexpr int kRoundsMax = 4;

// The points that differ from one in the decisions of a part alone.
std::vector<Point> PointsBeside(const Sketch& sketch, const Point& point, size_t begin,
                                size_t end) {
  Sketch part = sketch;
  for (size_t d = 0; d < point.size(); ++d) {
    if (d < begin || d >= end) part.decisions[d].values = {point[d]};
  }
  return EnumeratePoints(part, kPointsMax);
}

}  // namespace

void VisitPoints(const Sketch& sketch,
                 absl::FunctionRef<std::optional<double>(const Point&)> seconds) {
  const bool is_joined = sketch.parts.size() > 1;
  const std::vector<Point> first =
      EnumeratePoints(sketch, is_joined ? kCombinedMax + 1 : kPointsMax);
  if (first.empty()) return;
  if (!is_joined || static_cast<int64_t>(first.size()) <= kCombinedMax) {
    for (const Point& point : first) seconds(point);
    return;
  }
  std::set<Point> seen;
  Point best = first.front();
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRoundsMax; ++round) {
    const Point before = best;
    for (size_t p = 0; p < sketch.parts.size(); ++p) {
      const size_t end = p + 1 < sketch.parts.size() ? sketch.parts[p + 1] : best.size();
      for (const Point& point : PointsBeside(sketch, best, sketch.parts[p], end)) {
        if (!seen.insert(point).second) continue;
        const std::optional<double> found = seconds(point);
        if (!found.has_value() || *found >= least) continue;
        least = *found;
        best = point;
      }
    }
    if (round > 0 && best == before) break;
  }
}

}  // namespace burnish
