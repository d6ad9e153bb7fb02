#include "tests/bench/search/table_draw.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "base/check.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "compiler/ir/parser.h"
#include "proto/workload.h"
#include "tuner/cost_model/candidate_features.h"
#include "tuner/cost_model/features.h"
#include "tuner/sketch/sketch.h"

namespace burnish {
namespace {

// Of a sketch in a space that is not listed: beyond it sketches are alike.
constexpr int64_t kCountMax = 5000;

struct Place {
  int sketch = 0;
  Point point = {};
};

// Each call another point of the space, in a random order; nullopt: there are no more.
using NextPlace = std::function<std::optional<Place>()>;

NextPlace Listed(const SearchSpace& space, Rng& rng) {
  auto places = std::make_shared<std::vector<Place>>();
  for (size_t s = 0; s < space.sketches().size(); ++s) {
    for (Point& point : EnumeratePoints(space.sketches()[s], INT64_MAX - 1)) {
      places->push_back({static_cast<int>(s), std::move(point)});
    }
  }
  return [places, &rng, next = size_t{0}]() mutable -> std::optional<Place> {
    if (next == places->size()) return std::nullopt;
    std::swap((*places)[next], (*places)[next + rng.Below(places->size() - next)]);
    return (*places)[next++];
  };
}

NextPlace Unlisted(const SearchSpace& space, std::vector<int64_t> counts, int64_t draws, Rng& rng) {
  int64_t sum = 0;
  // Sizes of derived sketches differ by powers of ten: by themselves the greatest would be all.
  for (int64_t& count : counts) {
    count = std::min(count, kCountMax);
    sum += count;
  }
  return [&space, counts = std::move(counts), sum, draws, &rng]() mutable -> std::optional<Place> {
    while (draws-- > 0) {
      auto at = static_cast<int64_t>(rng.Below(static_cast<uint64_t>(sum)));
      int sketch = 0;
      while (at >= counts[sketch]) at -= counts[sketch++];
      std::optional<Point> point = space.RandomPoint(sketch, rng);
      if (point.has_value()) return Place{sketch, *std::move(point)};
    }
    return std::nullopt;
  };
}

}  // namespace

absl::StatusOr<TableDraw> DrawTable(const std::string& workload, const SearchSpace& space,
                                    const DeviceModel& device, const TableDrawOptions& options) {
  ASSIGN_OR_RETURN(Program program, ParseProgram(workload));
  CandidateFeatureExtractor extractor(std::move(program), device, device.workers());
  TableDraw draw;
  std::vector<int64_t> counts;
  for (const Sketch& sketch : space.sketches()) {
    const PointCount count = CountPoints(sketch);
    counts.push_back(count.count);
    draw.space_count += count.count;
    draw.space_exact &= count.exact;
  }
  Rng rng(RngStream{.purpose = "search table", .task = Sha256Bytes(workload)});
  const bool is_listed = draw.space_exact && draw.space_count <= options.listed_max;
  const NextPlace next =
      is_listed ? Listed(space, rng)
                : Unlisted(space, std::move(counts), int64_t{10} * options.looked_max, rng);
  std::vector<DrawnPoint> looked;
  absl::flat_hash_set<std::string> seen;  // Lowered programs.
  while (static_cast<int>(looked.size()) < options.looked_max) {
    const std::optional<Place> place = next();
    if (!place.has_value()) break;
    ASSIGN_OR_RETURN(const Trace trace, Bind(space.sketches()[place->sketch], place->point));
    const absl::StatusOr<CandidateFeatures> features = extractor.Extract(trace);
    if (!features.ok() || !seen.insert(features->fingerprint).second) continue;
    ASSIGN_OR_RETURN(Proposal proposal, space.Propose(place->sketch, place->point));
    looked.push_back({.proposal = std::move(proposal),
                      .estimate_seconds = std::exp(features->features[kLogAnalyticSeconds])});
  }
  const auto uniform_end =
      looked.begin() + std::min<int64_t>(options.uniform_max, static_cast<int64_t>(looked.size()));
  std::sort(uniform_end, looked.end(), [](const DrawnPoint& a, const DrawnPoint& b) {
    // Equal estimates are common; the id makes the order total.
    return std::tie(a.estimate_seconds, a.proposal.candidate_id) <
           std::tie(b.estimate_seconds, b.proposal.candidate_id);
  });
  auto estimated = uniform_end;
  const auto estimated_end =
      estimated + std::min<int64_t>(options.estimated_max, looked.end() - estimated);
  const auto take_estimated = [&] {
    if (estimated == estimated_end) return;
    estimated->uniform = false;
    draw.points.push_back(std::move(*estimated++));
  };
  int uniform_count = 0;
  for (auto each = looked.begin(); each != uniform_end; ++each) {
    draw.points.push_back(std::move(*each));
    if (++uniform_count % options.uniform_per_estimated == 0) take_estimated();
  }
  while (estimated != estimated_end) take_estimated();
  return draw;
}

}  // namespace burnish
