// One task of a running study: its search, what is pending, and how it stands. No I/O: the runner
// tells it what is stored already, so that the same calls give the same task again after a crash.
#ifndef TUNER_STUDY_TASK_SEARCH_H_
#define TUNER_STUDY_TASK_SEARCH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "db/record_store.h"
#include "tuner/measure/measurer.h"
#include "tuner/search/search_strategy.h"
#include "tuner/study/study_types.h"
#include "tuner/study/task_history.h"
#include "tuner/study/trial_id.h"
#include "tuner/task_scheduler/task_scheduler.h"

namespace burnish {

struct TaskSearchOptions {
  std::string study_id = {};
  int task_index = 0;
  StudyTaskSpec task = {};
  StudySpec spec = {};
  Target target = {};
  int32_t codegen_epoch = 0;
  TaskTools tools = {};
  TaskHistory history = {};
  int64_t enumerated_points_max = 512;
};

// A candidate with its place in the study.
struct Trial {
  std::string trial_id;
  int64_t number = kReferenceNumber;  // That of the id (trial_id.h).
  std::string trace;
  // As the search knows the candidate. Nullopt: from the study's log.
  std::optional<Proposal> proposal = std::nullopt;
};

// A stored result.
struct TrialResult {
  std::string trial_id;
  std::string trace;
  Measurement measurement;
};

// Not thread-safe.
class TaskSearch {
 public:
  // INVALID_ARGUMENT, INTERNAL: tools that do not fit together.
  static absl::StatusOr<std::unique_ptr<TaskSearch>> Create(TaskSearchOptions options);

  // Candidate 0 of the task, which is measured first and is no trial.
  Trial reference_trial() const;
  bool IsReference(const std::string& trial_id) const;
  // Told, successful or not: trials may begin.
  bool reference_told() const { return reference_told_; }

  const std::vector<std::string>& default_traces() const { return options_.tools.default_traces; }

  // What trials have in common; names the reference only if it runs.
  std::shared_ptr<const MeasureTask> measure_task() const { return measure_task_; }
  // Of the reference's own measurement and of the trials after it.
  int64_t incumbent_ns() const { return best_.latency_ns; }

  // Whether the first trial is still to come and would be of what `compile` takes without records,
  // which is not candidate 0 where an algorithm is faster by the analytic model.
  bool ShipsUnmeasured() const;

  // New trials, at most `count`, with the next free numbers; pure until Begin. Fewer: there are no
  // more, or none that is not pending.
  absl::StatusOr<std::vector<Trial>> Suggest(int count) const;

  // Suggested and stored: pending from now on. Also for the reference.
  void Begin(absl::Span<const Trial> trials);
  // No result will come.
  void Drop(absl::Span<const std::string> trial_ids);
  // Results in the order in which the search is to learn of them. What is not pending is passed
  // over.
  absl::Status Tell(absl::Span<const TrialResult> results);
  int64_t untrained_count() const { return static_cast<int64_t>(untrained_.size()); }
  int64_t trained_count() const { return trained_count_; }
  // Learns all that was told. The model's snapshot id is then `snapshot_id()`.
  absl::Status Train();
  std::string snapshot_id() const { return options_.tools.scorer->snapshot_id(); }

  // Pending trials, the reference included, by id.
  const std::map<std::string, Trial>& pending() const { return pending_; }
  void set_exhausted(bool exhausted) { progress_.exhausted = exhausted; }
  // What is reported as best from now on. For a task whose search is over.
  void set_best(BestCandidate best) { best_ = std::move(best); }

  // For the task scheduler.
  TaskProgress progress() const;
  const auto& least() const { return options_.tools.least; }
  TaskStatus status() const;

 private:
  explicit TaskSearch(TaskSearchOptions options) : options_(std::move(options)) {}

  absl::Status Init();
  absl::Status TellHistory();
  absl::Status TellReference(const TrialResult& result, Proposal proposal);
  // How a result is told to the strategy.
  absl::StatusOr<Observation> ObservationOf(const Proposal& proposal,
                                            const Measurement& measurement) const;
  // The rank latency; 0 where it failed or is not accurate enough.
  int64_t AcceptedNs(const Measurement& measurement) const;
  // Whether the trace is a default schedule's.
  bool NoteDefault(const std::string& trace, int64_t accepted_ns);
  // Of what `compile` takes without records: the first default that is accurate enough. Nullopt:
  // not measured yet; 0: none is.
  std::optional<int64_t> ShippedNs() const;
  // See TaskStatus.
  int64_t default_ns() const;

  TaskSearchOptions options_;
  AccuracyLimit accuracy_;
  std::shared_ptr<const SearchSpace> space_;
  std::unique_ptr<SearchStrategy> strategy_;
  std::shared_ptr<const MeasureTask> measure_task_;
  std::map<std::string, Trial> pending_;
  bool reference_told_ = false;
  int64_t next_number_ = 0;
  std::vector<TrainingSample> untrained_;
  int64_t trained_count_ = 0;
  int64_t reference_ns_ = 0;  // Of candidate 0; 0: not measured, or it fails.
  // Of each of the tools' default traces: nullopt: not measured; 0: it fails or is too inaccurate.
  std::vector<std::optional<int64_t>> shipped_ns_;
  // Trials that were measured ahead of the search (StudySession::BeginShipped).
  int64_t ahead_count_ = 0;
  BestCandidate best_;
  TaskProgress progress_;  // `pending_count` is not kept here.
};

}  // namespace burnish

#endif  // TUNER_STUDY_TASK_SEARCH_H_
