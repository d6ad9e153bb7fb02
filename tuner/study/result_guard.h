// Which results of a study are taken as they come, which are measured again first, and whose word
// is not taken any more. Of one run of a study: what is not decided when it ends is open still, and
// is measured anew by the next run. Logs know nothing of it.
#ifndef TUNER_STUDY_RESULT_GUARD_H_
#define TUNER_STUDY_RESULT_GUARD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "proto/measurement.h"
#include "tuner/study/study_types.h"

namespace burnish {

// Whose results are refused from now on.
struct WorkerPause {
  std::string worker_id;
  absl::Time until;   // Steady.
  int64_t count = 0;  // How often it was paused, with this time.
};

// Of a trial, when its result arrives.
struct GuardQuestion {
  // What each worker's results may not be below. Null: nothing is held.
  std::function<LeastTimes(const std::string& worker_id)> least = nullptr;
  // Best of the task so far; 0: none.
  int64_t incumbent_ns = 0;
  // A result below the incumbent's is to be confirmed.
  bool confirms = true;
};

struct GuardAnswer {
  // What is to be recorded; nullopt: measure the trial again, on none of `avoid` if there is
  // another worker.
  std::optional<Measurement> taken;
  std::vector<std::string> avoid;
  // Whose impossible result another worker did not confirm.
  std::vector<std::string> liars;
  std::vector<WorkerPause> pauses;  // What ResultGuard::Ask made of `liars`.
};

// The attempts of one trial, oldest first, without lost ones; at least one. Pure.
GuardAnswer JudgeAttempts(absl::Span<const Measurement> attempts, const GuardQuestion& question);

// Not thread-safe.
class ResultGuard {
 public:
  // Adds an attempt. `now`: steady time. What a paused worker says becomes a loss.
  GuardAnswer Ask(absl::Time now, const std::string& trial_id, const Measurement& measurement,
                  const GuardQuestion& question);
  // No further attempt will come: the trial was lost too often, or is dropped. What is believed of
  // the earlier ones; nullopt: nothing.
  std::optional<Measurement> GiveUp(const std::string& trial_id, const GuardQuestion& question);

  // Whether this worker's results are refused now; they are to be measured again elsewhere.
  bool IsPaused(absl::Time now, const std::string& worker_id) const;
  std::vector<std::string> Paused(absl::Time now) const;

  const GuardCounts& counts() const { return counts_; }

 private:
  // Others at the same addresses, who would be no second witness.
  void AvoidNeighbours(absl::Span<const Measurement> attempts,
                       std::vector<std::string>& avoid) const;

  std::map<std::string, std::set<std::string>> workers_at_;   // By address.
  std::map<std::string, std::vector<Measurement>> attempts_;  // By trial; undecided ones.
  std::map<std::string, absl::Time> paused_until_;            // By worker.
  GuardCounts counts_;
};

}  // namespace burnish

#endif  // TUNER_STUDY_RESULT_GUARD_H_
