// What a study is made of while it runs: what the caller brings, and what it is told.
#ifndef TUNER_STUDY_STUDY_TYPES_H_
#define TUNER_STUDY_STUDY_TYPES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "compiler/target/target.h"
#include "proto/calibration_row.h"
#include "proto/measurement.h"
#include "proto/study.h"
#include "proto/workload.h"
#include "tuner/search/candidate_scorer.h"
#include "tuner/sketch/sketch.h"

namespace burnish {

// One task of the study, as the model was cut.
struct StudyTaskSpec {
  std::string name = {};  // For people.
  Workload workload = {};
  std::string contract = {};
  double weight = 1;  // How often the model runs it; > 0.
};

// What a result of a worker may not be below; 0: nothing is known.
struct LeastTimes {
  int64_t of_any_ns = 0;     // Whoever measures, and whoever agrees with him.
  int64_t of_worker_ns = 0;  // By what this worker's machine measured of itself; >= of_any_ns.
};

// What it takes to search one task.
struct TaskTools {
  std::vector<Sketch> sketches = {};  // At least one.
  std::string default_trace = {};     // Candidate 0; canonical text, empty: the program as it is.
  // Further ones that deserve an early trial, as the default does: other algorithms.
  std::vector<std::string> seed_traces = {};
  // The default of each algorithm, fastest by the analytic model first, `default_trace` among them:
  // where nothing is recorded, `compile` takes the first that is accurate enough.
  std::vector<std::string> default_traces = {};
  int64_t bound_ns = 0;  // Roofline by the study's row, for people and shares; 0: not known.
  // By the row of the worker that measured, if it has one. Null: no result is doubted.
  std::function<LeastTimes(const std::optional<CalibrationRow>& row)> least = nullptr;
  std::unique_ptr<TrainableScorer> scorer = nullptr;  // Not null.
};

// Returns the tools of each task; their scorers may share a model, which no other call's share.
// Pure, so that a resumed study has the same tools. `no_default` and `cost_model` of the spec are
// the maker's to follow where it makes the scorers.
using TaskToolsMaker = std::function<absl::StatusOr<std::vector<TaskTools>>(
    absl::Span<const StudyTaskSpec> tasks, const Target& target, const StudySpec& spec)>;

enum class BestOrigin { kNone, kDefault, kHistory, kTrial };

// The fastest candidate that the search may use (no default where it is withheld).
struct BestCandidate {
  BestOrigin origin = BestOrigin::kNone;
  int64_t latency_ns = 0;  // Rank latency; 0: nothing runs.
  std::string trace = {};
  std::string candidate_id = {};
  std::string trial_id = {};  // Empty for kHistory.
  bool refined = false;       // Won inside the model; the latency is in proportion (record.proto).
};

struct TaskStatus {
  std::string name = {};
  double weight = 1;
  int64_t bound_ns = 0;
  // Of what `compile` ships without a trial: the first of the task's defaults that is accurate
  // enough; of candidate 0 as long as that is not measured. 0: not measured yet, or it fails.
  int64_t default_ns = 0;
  BestCandidate best = {};
  int64_t trial_count = 0;    // With a recorded result, failures included.
  int64_t pending_count = 0;  // Of trials only.
  bool exhausted = false;     // The search has no more candidates.
};

enum class StopReason {
  kNone,             // Goes on.
  kTrials,           // The budget is spent.
  kTime,             // --time.
  kGain,             // The predicted gain is under --until-gain.
  kNoTaskLeft,       // Every task is exhausted, at its bound, or without gain.
  kInterrupted,      // Ctrl-C; resumable.
  kCancelled,        // tuner cancel.
  kMeasurerSilent,   // No result for too long or ever, and the measurer says why; resumable.
  kNothingMeasured,  // All that was tried has failed: the study has.
  kParked,           // Candidates are left that the farm gives no result of; resumable.
};

// The trials are over, whatever became of them: by the budget, the time, or the search.
bool IsOver(StopReason reason);

// "trials", "time", ...: for people and JSON.
absl::string_view StopReasonName(StopReason reason);

// The measurements inside the model, when the trials are done.
struct RefineProgress {
  int process_count = 0;      // Fresh processes that have run.
  int process_count_max = 0;  // 0: it has not begun.
  int changed_count = 0;      // Tasks with another winner than alone.
  double gain = 0;            // Of the whole, by what was measured, as a fraction.
  // Time of the model with the best of each task over that with default schedules, whole passes in
  // turn; 0: not measured.
  double network_ratio = 0;
  double network_spread = 0;    // Between processes.
  bool defaults_taken = false;  // It was above 1 by more than the spread.
  // By task: time of what `compile` ships without a trial over that of the best, the two in turn
  // pass by pass in the same processes, the median of these; 1: they are the same. Empty: not
  // measured; 0: of this task there is nothing to compare with.
  std::vector<double> task_gains = {};
  // Nothing was refined: the passes are for the gains alone, in a made-up model where the real one
  // is not known.
  bool gains_only = false;
  std::string error = {};  // Why it ended without a verdict; empty: it did not.

  bool operator==(const RefineProgress&) const = default;
};

// What tuning is worth to the whole model, for people; empty: not measured.
std::string NetworkText(const RefineProgress& refine);

// Where the time of a run went. The first three are parts of its wall time; workers' times are sums
// over the results that this run got, of workers that work side by side.
struct StudyTimes {
  absl::Duration search = absl::ZeroDuration();  // Suggesting, learning, storing; no wait.
  absl::Duration wait = absl::ZeroDuration();    // For results, with nothing else to do.
  absl::Duration refine = absl::ZeroDuration();  // Inside the model, in the end.
  absl::Duration build = absl::ZeroDuration();   // Of builders.
  absl::Duration check = absl::ZeroDuration();   // Of runners: comparing outputs.
  absl::Duration run = absl::ZeroDuration();     // Of runners: running and timing.
  absl::Duration queue = absl::ZeroDuration();   // Of runners: for others on the same CPUs.

  bool operator==(const StudyTimes&) const = default;
};

// What was not taken at its word (result_guard.h), in this run.
struct GuardCounts {
  int64_t held = 0;       // Results faster than the device can be.
  int64_t confirmed = 0;  // Trials that were measured more than once, and then recorded.
  std::map<std::string, int64_t> lies = {};  // By worker: how often it was paused for them.

  bool operator==(const GuardCounts&) const = default;
};

// A worker whose results a study refuses for a while, since another did not confirm them.
struct PausedWorker {
  std::string worker_id = {};
  int64_t until_ns = 0;  // Wall time.
  int64_t count = 0;     // How often, in this run.

  bool operator==(const PausedWorker&) const = default;
};

// For people: which workers were paused, and why; empty: none.
std::string GuardText(const GuardCounts& counts);

struct StudyProgress {
  std::string study_id = {};
  int64_t trial_count = 0;    // Recorded by all runs of the study.
  int64_t trials_max = 0;     // -1: until the gain is small.
  int64_t pending_count = 0;  // Trials that were suggested and have no result.
  std::map<FailureKind, int64_t> failure_counts = {};
  absl::Duration elapsed = absl::ZeroDuration();  // Of all runs of the study.
  double predicted_gain = 0;  // Of the next window of trials, as a fraction of the whole.
  absl::Status health;        // The measurer's.
  RefineProgress refine = {};
  StudyTimes times = {};  // Of this run.
  GuardCounts guard = {};
  std::vector<PausedWorker> paused = {};  // Now.
  std::vector<TaskStatus> tasks = {};
};

struct StudyResult {
  StopReason reason = StopReason::kNone;
  std::string detail = {};  // As stored: the reason, and what there is to say about it.
  StudyProgress progress = {};
};

}  // namespace burnish

#endif  // TUNER_STUDY_STUDY_TYPES_H_
