// What one task's search may suggest: the points of its sketches. Immutable; strategies share it.
#ifndef TUNER_SEARCH_SEARCH_SPACE_H_
#define TUNER_SEARCH_SEARCH_SPACE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/rng.h"
#include "tuner/search/proposal.h"
#include "tuner/sketch/sketch.h"

namespace burnish {

struct SearchSpaceOptions {
  std::vector<Sketch> sketches = {};  // At least one.
  std::string workload_id = {};       // 32 raw bytes; this and the next three make candidate ids.
  std::string target = {};            // Canonical text.
  std::string contract = {};
  int32_t codegen_epoch = 0;
  // A space with at most this many valid points is ranked whole: no more than what evolution looks
  // at, since features of thousands of candidates cost more than measuring a few.
  int64_t enumerated_points_max = 512;
  // Of each sketch: the space has these points alone, such as those that were measured for a
  // replay. Nullopt: every valid one.
  std::optional<std::vector<std::vector<Point>>> points = std::nullopt;
};

class SearchSpace {
 public:
  // INVALID_ARGUMENT: no sketch, or lists of points that are not of all sketches. INTERNAL: a
  // sketch that cannot be bound.
  static absl::StatusOr<std::shared_ptr<const SearchSpace>> Create(SearchSpaceOptions options);

  absl::Span<const Sketch> sketches() const { return options_.sketches; }

  // INVALID_ARGUMENT: a value that is none of its decision's.
  absl::StatusOr<Proposal> Propose(int sketch_index, const Point& point) const;

  // From a trace from elsewhere (a record, the log of a study that goes on), with the first sketch
  // that can say it at a valid point. Candidates of a running search carry theirs.
  Proposal Recognize(absl::string_view trace) const;

  // Every valid point, each trace once; null: too many.
  const std::vector<Proposal>* enumerated() const {
    return enumerated_.has_value() ? &*enumerated_ : nullptr;
  }

  // Valid, and of `points` where the space is made of these. `point`: a value of each decision.
  bool Contains(int sketch_index, const Point& point) const;

  // Uniform over the sketches and their values; nullopt: no valid point was met in a thousand.
  std::optional<Point> RandomPoint(int sketch_index, Rng& rng) const;

  // Such a point of a sketch that is uniform, too. Errors: Propose's.
  absl::StatusOr<std::optional<Proposal>> RandomProposal(Rng& rng) const;

  // Valid points that differ in exactly one decision: nearest values first, then by decision.
  std::vector<Point> Neighbours(int sketch_index, const Point& point) const;

 private:
  explicit SearchSpace(SearchSpaceOptions options) : options_(std::move(options)) {}

  // A product of sizes over which the constraints are not even asked for every point.
  static constexpr int64_t kProductMax = 1 << 20;

  absl::Status Enumerate();

  SearchSpaceOptions options_;
  std::vector<absl::flat_hash_set<Point>> listed_;  // Of options_.points.
  std::optional<std::vector<Proposal>> enumerated_;
};

}  // namespace burnish

#endif  // TUNER_SEARCH_SEARCH_SPACE_H_
