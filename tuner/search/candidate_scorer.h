// What search asks before it suggests: how good are these candidates, as far as can be known
// without running them.
#ifndef TUNER_SEARCH_CANDIDATE_SCORER_H_
#define TUNER_SEARCH_CANDIDATE_SCORER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/measurement.h"
#include "tuner/search/proposal.h"

namespace burnish {

struct CandidateScore {
  bool valid = false;            // False: the trace does not apply; never to be suggested.
  float score = 0;               // Higher is faster; compares within one task only.
  std::string fingerprint = {};  // Equal: twins, one of which need not be timed. Empty: unknown.
};

// Not thread-safe. Asked for the same candidates again and again: what is costly and does not
// change with the model (lowering, features) it keeps.
class CandidateScorer {
 public:
  virtual ~CandidateScorer() = default;

  // One score per proposal, a function of the proposal and the snapshot.
  virtual absl::StatusOr<std::vector<CandidateScore>> Score(
      absl::Span<const Proposal> proposals) const = 0;

  // Up to `count` of the candidates, by place, that are best measured next, the most promising
  // first: none whose trace does not apply. Knows what was `measured` and what is `pending`, so
  // that a batch needs not be one guess many times. What equals in all goes by its place. By score,
  // unless a scorer knows better.
  virtual absl::StatusOr<std::vector<int>> Choose(absl::Span<const Proposal> candidates,
                                                  absl::Span<const Proposal> pending,
                                                  absl::Span<const Observation> measured,
                                                  int count) const;

  // As in CandidateScore, whatever the snapshot; empty also where the trace does not apply.
  virtual absl::StatusOr<std::string> Fingerprint(const Proposal& proposal) const = 0;
};

struct TrainingSample {
  Proposal proposal = {};
  Measurement measurement = {};
};

// A scorer that learns. Its snapshot depends on the samples and their order, not on how they were
// cut into calls; those of all tasks of a study where they share a model.
class TrainableScorer : public CandidateScorer {
 public:
  // Samples whose trace does not apply are passed over.
  virtual absl::Status Train(absl::Span<const TrainingSample> samples) = 0;

  // Names what was learned: equal ids give equal scores.
  virtual std::string snapshot_id() const = 0;
};

}  // namespace burnish

#endif  // TUNER_SEARCH_CANDIDATE_SCORER_H_
