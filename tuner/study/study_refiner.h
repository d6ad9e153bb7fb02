// `refine`: measures the best few candidates of every task again, inside the model, and has the
// records say who is best there. docs/adr/0002-refine-in-the-model-order.md has the reasons.
#ifndef TUNER_STUDY_STUDY_REFINER_H_
#define TUNER_STUDY_STUDY_REFINER_H_

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/record.h"
#include "tuner/refine/set_plan.h"
#include "tuner/refine/verdict.h"
#include "tuner/study/study_runner.h"

namespace burnish {

class StudyRefiner {
 public:
  // What the candidates of a task share, and the default of each algorithm (TaskTools).
  struct Task {
    std::shared_ptr<const MeasureTask> measure_task = nullptr;
    std::vector<std::string> default_traces = {};
  };
  // Of a task whose best inside the model is not the best alone.
  struct Winner {
    int task_index = 0;
    BestCandidate best = {};
  };

  // At most so many candidates of a task take part, defaults not counted.
  static constexpr int kCandidatesMax = 4;

  // The options outlive it; `network` and `model_order` are set.
  StudyRefiner(const StudyRunnerOptions& options, std::vector<Task> tasks)
      : options_(options), tasks_(std::move(tasks)) {}

  // `time_max`: what it may take, roughly. `stop`: asked about once a second; true ends it with
  // CANCELLED. Returns the winners of now and of earlier verdicts that hold; the records say so,
  // too. Nothing is stored but the verdict, all of it or none. Errors: the measurer's and the
  // store's; FAILED_PRECONDITION: a task has no candidate that runs.
  absl::StatusOr<std::vector<Winner>> Run(absl::Duration time_max,
                                          const std::function<bool()>& stop);

  // What the best of each task are worth: against what `compile` ships without a trial, in the
  // model, or where that is not known in a made-up one of the tasks alone. In the progress; stored
  // is only that default schedules are taken, where they are. Returns and errors as above.
  absl::StatusOr<std::vector<Winner>> MeasureGains(const std::function<bool()>& stop);

  const RefineProgress& progress() const { return progress_; }

 private:
  // A candidate that takes part. The incumbent is there twice.
  struct Entry {
    Record record = {};
    bool active = true;
    std::vector<ProcessLatencies> processes = {};
    Environment environment = {};
  };
  // Of a task.
  struct Contest {
    std::vector<Entry> entries = {};  // 0 and 1 are the incumbent; alone it is there once.
    // What `compile` takes where nothing is recorded; -1: it does not run, or may not be used.
    int untuned = -1;
  };
  // Whom the records shall name: an entry of the task, and its latency as a share of the
  // incumbent's.
  struct Choice {
    int entry = 0;
    double ratio = 1;
  };

  // With new contests, and again without whom an attempt has found wrong (ABORTED).
  absl::StatusOr<std::vector<Winner>> Repeat(
      absl::FunctionRef<absl::StatusOr<std::vector<Winner>>()> attempt);
  absl::StatusOr<std::vector<Winner>> Contend(absl::Duration time_max,
                                              const std::function<bool()>& stop);
  absl::StatusOr<std::vector<Winner>> CompareBest(const std::function<bool()>& stop);
  absl::StatusOr<Contest> ContestOf(int task_index) const;
  absl::StatusOr<std::vector<Record>> BestFew(int task_index) const;
  // Of a default schedule; none: not measured, failed, or not accurate enough.
  absl::StatusOr<std::optional<Record>> DefaultRecord(int task_index,
                                                      const std::string& trace) const;
  absl::Status RunContests(int block_count, const std::function<bool()>& stop);
  // One process, again without those that turn out not to build.
  absl::Status RunProcess(int process, int block_count, const std::function<bool()>& stop);
  NetworkRequest MakeRequest(int process, int block_count) const;
  // One process; a measurement of each candidate. ABORTED: somebody failed alone.
  absl::StatusOr<NetworkResult> MeasureAll(const NetworkRequest& request,
                                           const std::function<bool()>& stop) const;
  // ABORTED where there are any, which are in the records from now on; INTERNAL for one that is
  // the machine's doing.
  absl::Status RecordFailuresAlone(const NetworkRequest& request,
                                   const NetworkResult& result) const;
  // Takes out who cannot be built.
  absl::Status Drop(const NetworkResult& result);
  // True: somebody is still in the running.
  bool KeepContenders();
  // All chosen against all that `compile` takes where nothing is recorded, in whole passes. Where
  // those are faster, they are chosen.
  absl::Status CompareSets(int block_count, const std::function<bool()>& stop,
                           std::vector<Choice>& choices);
  // One process of that. `members`: by task, the candidates of the two sets. Returns what a pass of
  // the chosen takes of a pass of the others; adds to each task's gains.
  absl::StatusOr<double> CompareSetsOnce(NetworkRequest& request,
                                         absl::Span<const std::array<int, 2>> members,
                                         const SetPlan& plan, const std::function<bool()>& stop,
                                         std::vector<std::vector<double>>& gains);
  // The task of each step of the model; where that is not known, of a made-up one.
  std::vector<int> ModelOrderOrOwn() const;
  std::string ModelId() const;
  absl::Duration TimeoutOf(int64_t pass_count) const;
  double PassNs() const;  // By the latencies alone.
  std::vector<RefineTimes> Times() const;
  absl::StatusOr<std::vector<Winner>> Conclude(const std::vector<Choice>& choices);
  Winner WinnerOf(int task_index, const Record& record) const;
  BestOrigin OriginOf(int task_index, const Record& record) const;
  MeasurementEntry EntryFor(int task_index, const Entry& entry, double factor) const;
  MeasurementEntry EntryOf(int task_index, const std::string& trace, Measurement measurement) const;

  const StudyRunnerOptions& options_;
  const std::vector<Task> tasks_;
  std::vector<Contest> contests_;  // By task.
  RefineProgress progress_;
};

}  // namespace burnish

#endif  // TUNER_STUDY_STUDY_REFINER_H_
