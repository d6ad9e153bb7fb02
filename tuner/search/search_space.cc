#include "tuner/search/search_space.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/schedule/trace.h"
#include "db/stored_trace.h"
#include "proto/record.h"

namespace burnish {
namespace {

// Of the combinations of ResNet-50's decisions at least half are not valid, so that a few draws
// meet a point. The bound is for a sketch that has next to none: a choice, not tuned.
constexpr int kRandomTriesMax = 1000;

// Position of `value` in a decision's values.
int64_t PositionOf(const Decision& decision, int64_t value) {
  return std::lower_bound(decision.values.begin(), decision.values.end(), value) -
         decision.values.begin();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const SearchSpace>> SearchSpace::Create(SearchSpaceOptions options) {
  if (options.sketches.empty()) {
    return absl::InvalidArgumentError("search space: got no sketch, want at least one");
  }
  if (options.points.has_value() && options.points->size() != options.sketches.size()) {
    return absl::InvalidArgumentError(absl::StrCat("search space: got points of ",
                                                   options.points->size(), " sketches, want ",
                                                   options.sketches.size()));
  }
  std::shared_ptr<SearchSpace> space(new SearchSpace(std::move(options)));
  if (space->options_.points.has_value()) {
    for (const std::vector<Point>& points : *space->options_.points) {
      space->listed_.emplace_back(points.begin(), points.end());
    }
  }
  RETURN_IF_ERROR(space->Enumerate());
  return space;
}

absl::Status SearchSpace::Enumerate() {
  int64_t product = 0;
  for (size_t s = 0; s < options_.sketches.size(); ++s) {
    const int64_t size = options_.points.has_value()
                             ? static_cast<int64_t>((*options_.points)[s].size())
                             : SpaceSize(options_.sketches[s]);
    product = size > kProductMax ? size : product + size;
    // Cheap refusal first. Whether a point is valid is asked point by point, and this runs before
    // the first trial of every task.
    if (product > kProductMax) return absl::OkStatus();
  }
  std::vector<Proposal> proposals;
  absl::flat_hash_set<std::string> seen;  // Traces: points may differ in what no step names.
  for (int s = 0; s < static_cast<int>(options_.sketches.size()); ++s) {
    const int64_t left = options_.enumerated_points_max - static_cast<int64_t>(proposals.size());
    // One more than there is room for tells "too many" from "exactly as many".
    const std::vector<Point> points = options_.points.has_value()
                                          ? (*options_.points)[s]
                                          : EnumeratePoints(options_.sketches[s], left + 1);
    if (static_cast<int64_t>(points.size()) > left) return absl::OkStatus();
    for (const Point& point : points) {
      ASSIGN_OR_RETURN(Proposal proposal, Propose(s, point));
      // The trace is the candidate's identity. Two points with one trace would have one id, and the
      // second could never be suggested.
      if (seen.insert(proposal.trace).second) proposals.push_back(std::move(proposal));
    }
  }
  enumerated_ = std::move(proposals);
  return absl::OkStatus();
}

absl::StatusOr<Proposal> SearchSpace::Propose(int sketch_index, const Point& point) const {
  ASSIGN_OR_RETURN(const Trace trace, Bind(options_.sketches.at(sketch_index), point));
  Proposal proposal{.sketch_index = sketch_index, .point = point, .trace = PrintTrace(trace)};
  proposal.candidate_id = CandidateId(options_.workload_id, options_.target, options_.contract,
                                      proposal.trace, options_.codegen_epoch);
  return proposal;
}

Proposal SearchSpace::Recognize(absl::string_view trace) const {
  Proposal proposal{.trace = std::string(trace)};
  proposal.candidate_id = CandidateId(options_.workload_id, options_.target, options_.contract,
                                      proposal.trace, options_.codegen_epoch);
  const absl::StatusOr<Trace> steps = ParseStoredTrace(trace);
  // Records may hold traces of a later version of this program. The candidate keeps its id, so that
  // its measurement is known; it only has no point.
  if (!steps.ok()) return proposal;
  for (int s = 0; s < static_cast<int>(options_.sketches.size()); ++s) {
    std::optional<Point> point = burnish::Recognize(options_.sketches[s], *steps);
    // A point that a sketch can say, but that its constraints exclude today, is no parent: its
    // children would start outside of the space.
    if (!point.has_value() || !Contains(s, *point)) continue;
    proposal.sketch_index = s;
    proposal.point = *std::move(point);
    break;
  }
  return proposal;
}

bool SearchSpace::Contains(int sketch_index, const Point& point) const {
  if (options_.points.has_value()) return listed_.at(sketch_index).contains(point);
  return IsValid(options_.sketches.at(sketch_index), point);
}

std::optional<Point> SearchSpace::RandomPoint(int sketch_index, Rng& rng) const {
  if (options_.points.has_value()) {
    const std::vector<Point>& points = options_.points->at(sketch_index);
    if (points.empty()) return std::nullopt;
    return points[rng.Below(points.size())];
  }
  const Sketch& sketch = options_.sketches.at(sketch_index);
  Point point(sketch.decisions.size());
  for (int attempt = 0; attempt < kRandomTriesMax; ++attempt) {
    for (size_t d = 0; d < point.size(); ++d) {
      const std::vector<int64_t>& values = sketch.decisions[d].values;
      point[d] = values[rng.Below(values.size())];
    }
    // Rejection keeps the draw uniform over the valid points, which choosing decision by decision
    // among what is still possible would not.
    if (IsValid(sketch, point)) return point;
  }
  return std::nullopt;
}

absl::StatusOr<std::optional<Proposal>> SearchSpace::RandomProposal(Rng& rng) const {
  const int sketch = static_cast<int>(rng.Below(sketches().size()));
  const std::optional<Point> point = RandomPoint(sketch, rng);
  if (!point.has_value()) return std::nullopt;
  return Propose(sketch, *point);
}

std::vector<Point> SearchSpace::Neighbours(int sketch_index, const Point& point) const {
  const Sketch& sketch = options_.sketches.at(sketch_index);
  std::vector<std::tuple<int64_t, size_t, Point>> found;  // Distance, decision, point.
  for (size_t d = 0; d < point.size(); ++d) {
    const Decision& decision = sketch.decisions[d];
    const int64_t position = PositionOf(decision, point[d]);
    for (int64_t v = 0; v < static_cast<int64_t>(decision.values.size()); ++v) {
      if (v == position) continue;
      Point changed = point;
      changed[d] = decision.values[v];
      if (!Contains(sketch_index, changed)) continue;
      // Distance in positions, not in values: from 8 the values 4 and 16 are equally near. Choices
      // are all as near.
      const int64_t distance = decision.kind == DecisionKind::kSize ? std::abs(v - position) : 1;
      found.emplace_back(distance, d, std::move(changed));
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<Point> neighbours;
  for (auto& [distance, decision, neighbour] : found) neighbours.push_back(std::move(neighbour));
  return neighbours;
}

}  // namespace burnish
