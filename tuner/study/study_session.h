// The steps of StudyRunner's loop, and the state between them. Everything that matters is stored
// before it takes effect, so that a run may end between any two writes.
#ifndef TUNER_STUDY_STUDY_SESSION_H_
#define TUNER_STUDY_STUDY_SESSION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tuner/study/result_guard.h"
#include "tuner/study/study_runner.h"
#include "tuner/study/study_storage.h"
#include "tuner/study/task_search.h"

namespace burnish {

// Not thread-safe.
class StudySession {
 public:
  // The options outlive the session.
  explicit StudySession(const StudyRunnerOptions& options) : options_(options) {}

  // Reads what is stored, rebuilds every task's search from it, and submits open trials again.
  // Returns kNone.
  absl::StatusOr<StopReason> Start();

  // Has the study stay this process's. FAILED_PRECONDITION: it is another's by now.
  absl::Status KeepClaim();

  // Begins as many trials as there should be. Returns why no more begin, kNone: there is no room,
  // or results have to be awaited.
  absl::StatusOr<StopReason> Fill();

  // Waits for results, stores them, and tells the searches. Returns how many came.
  absl::StatusOr<int> Collect(absl::Duration timeout);

  // Has open trials cancelled; those whose result comes first are stored.
  absl::Status CancelOpen(absl::Duration timeout);

  // Whether the trials, now that no more begin, are to be followed by Refine.
  bool MayRefine() const;
  // Whether what the best are worth is measured where nothing is refined.
  bool MayMeasureGains() const;
  // Measures the best few inside the model, or what the best are worth (study_refiner.h). An error
  // is in the progress: the
  // study has what it had. `stop`: asked about once a second; true ends it.
  void Refine(const std::function<bool()>& stop);

  // The reason why no trial is left, or that it was all for nothing.
  StopReason Judge(StopReason reason) const;
  // Stores how the run ended; returns what it says.
  absl::StatusOr<std::string> Finish(StopReason reason);
  // Says in the store that the study has failed, if the store still takes it.
  void Fail(const absl::Status& status);

  // Trials whose result is awaited, references included.
  int open_count() const { return static_cast<int>(task_of_open_.size() - parked_.size()); }
  // Steady time; InfiniteFuture: it is not up.
  absl::Time time_is_up_since() const { return time_is_up_since_; }
  StudyProgress Progress() const;

 private:
  absl::Status WriteLastState(StudyState state, const std::string& detail);
  absl::Status MakeTasks();
  absl::Status Replay();
  absl::Status SubmitOpen();

  // Begins candidate 0 of every task where that has not been done.
  absl::Status BeginReferences();
  // Whether some task's candidate 0 is still to be heard of.
  bool IsAnyUnheard() const;
  // Of `left` trials, those that a task may have of which nothing runs and nothing was tried, as
  // where candidate 0 is withheld: nothing says which of its like is heavy. All of any other.
  int64_t ShareOf(const TaskProgress& task, int64_t left) const;
  // Begins one trial of the next task of which it is not known what `compile` would take without
  // records: a budget that does not reach the task would else end with candidate 0 in its place.
  // False: there is none.
  absl::StatusOr<bool> BeginShipped();
  // Begins one batch of the task that is worth it most. False: no task has one now.
  absl::StatusOr<bool> BeginBatch();
  absl::Status Begin(int task_index, int asked, const std::vector<Trial>& trials);
  enum class Submission { kFirst, kAfterRestart, kAgain };
  absl::Status Submit(int task_index, absl::Span<const Trial> trials, Submission submission,
                      const std::vector<std::string>& avoid_workers = {});

  absl::Status RecordResults(std::vector<MeasureResult> results);
  MeasurementEntry EntryOf(int task_index, MeasureResult result) const;
  // What no store would take becomes a loss.
  static void RefuseMalformed(MeasurementEntry& entry);
  enum class Fate {
    kCounts,
    kTryAgain,  // It says nothing about the candidate, or it is not believed yet.
    kPark,      // Nor did those before it.
  };
  // Results that do not count, after which a trial is parked: the farm has tried a job on several
  // workers before each of them.
  static constexpr int kLossesMax = 3;
  // Of what says nothing about the candidate, and of what does.
  Fate FateOf(const MeasurementEntry& entry);
  // The same, with what is not taken at its word. kCounts: `entry` is what to record. kTryAgain:
  // it is submitted again.
  absl::StatusOr<Fate> Guard(int task_index, const Trial& trial, MeasurementEntry& entry);
  GuardQuestion QuestionOf(int task_index) const;
  // Says and stores that a worker is refused from now on.
  absl::Status NotePause(absl::Time now, const WorkerPause& pause);
  std::vector<PausedWorker> PausedNow() const;
  // Tells the searches what has arrived: at once, or with `deterministic` when all has.
  absl::Status TellArrived();
  // Whether enough was told since the model last learned.
  bool ShouldTrain() const;

  StopReason WhyStop() const;
  std::string WhyNothing() const;
  std::vector<TaskProgress> TaskProgresses() const;
  absl::Duration Elapsed() const;
  int64_t NowNs() const;

  const StudyRunnerOptions& options_;
  std::unique_ptr<StudyStorage> storage_;
  std::unique_ptr<TaskScheduler> scheduler_;
  std::vector<std::unique_ptr<TaskSearch>> tasks_;
  // A task that had nothing but what is pending: not asked again before it is told something.
  std::vector<bool> waiting_;
  std::map<std::string, int> task_of_open_;  // Trials without a stored result.
  // Those among them of which the farm has given no result: they stay open, for a run that has
  // more workers, and their places in the budget stay theirs.
  std::set<std::string> parked_;
  int resumption_ = 0;     // How often earlier runs ended with parked trials.
  std::string last_loss_;  // Why the last of them was.
  int parked_in_row_ = 0;  // Without a result in between.
  struct Arrived {
    int task_index;
    int64_t number;  // The trial's.
    TrialResult result;
  };
  std::vector<Arrived> arrived_;  // Stored, not told yet.
  std::map<std::string, int> loss_counts_;
  ResultGuard guard_;
  std::map<std::string, PausedWorker> paused_;  // By worker; also those that are not any more.
  bool cancelling_ = false;                     // Nothing is measured again.
  int64_t begun_count_ = 0;  // Of trials, without those dropped and without references.
  int64_t trial_count_ = 0;  // With a stored result.
  std::map<FailureKind, int64_t> failure_counts_;
  RefineProgress refine_;
  StudyTimes times_;
  absl::Duration elapsed_before_ = absl::ZeroDuration();
  absl::Time started_at_ = absl::InfiniteFuture();
  absl::Time time_is_up_since_ = absl::InfiniteFuture();
};

}  // namespace burnish

#endif  // TUNER_STUDY_STUDY_SESSION_H_
