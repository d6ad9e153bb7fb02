// The loop of one study: picks a task, has its search suggest candidates, has them measured, stores
// the results and tells the search, until there is reason to stop.
#ifndef TUNER_STUDY_STUDY_RUNNER_H_
#define TUNER_STUDY_STUDY_RUNNER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "db/record_store.h"
#include "db/study_store.h"
#include "tuner/measure/measurer.h"
#include "tuner/measure/network_measurer.h"
#include "tuner/study/state_writer.h"
#include "tuner/study/study_claim.h"
#include "tuner/study/study_types.h"
#include "tuner/task_scheduler/task_scheduler.h"

namespace burnish {

struct StudyRunnerOptions {
  std::string study_id = {};  // Of a study that was created (study_storage.h).
  StudySpec spec = {};        // As it was created with.
  Target target = {};
  std::vector<StudyTaskSpec> tasks = {};  // As it was created with, in that order.
  int32_t codegen_epoch = 0;
  int32_t method_version = kMeasureMethodVersion;  // The measurer's.
  TaskToolsMaker make_tools = nullptr;
  // What a worker's machine has measured of itself; nothing: not known. Its results are held
  // against it, and nobody else's. Null: no worker's is known.
  std::function<std::optional<CalibrationRow>(const std::string& worker_id)> worker_row = nullptr;
  RecordStore* records = nullptr;  // These four are not null and outlive the runner.
  StudyStore* studies = nullptr;
  Measurer* measurer = nullptr;
  const Clock* clock = nullptr;
  // That no other process runs the study; outlives the runner. Null: nobody else can.
  StudyClaim* claim = nullptr;
  // How the last state of a run waits for a store that cannot be written (state_writer.h).
  RetryWait retry_wait = nullptr;
  // Measures the best few of each task inside the model, in the end. Null: nothing does. Outlives
  // the runner.
  NetworkMeasurer* network = nullptr;
  // The task of each step of the model, in its order: task i in as many as its weight. Empty: not
  // known, and nothing is measured inside it.
  std::vector<int> model_order = {};
  // Called from Run: after every change, and at least about once a second. May be null.
  std::function<void(const StudyProgress&)> on_progress = nullptr;

  // A new best of a task is measured a second time before it counts (result_guard.h).
  bool confirm_best = true;
  int batch_size = 8;  // Trials that a task gets at a time.
  // Trials that are open at the same time: enough to keep builders and runners busy while the
  // search thinks. With `deterministic` one batch is.
  int in_flight_max = 64;
  int64_t enumerated_points_max = 512;  // See SearchSpaceOptions.
  // `early_stopping_trials` comes from the spec.
  TaskSchedulerOptions scheduler = {};
  // After its time is up a study waits so long for trials that are open.
  absl::Duration drain_timeout = absl::Seconds(30);
  // A measurer that is not healthy and gives no result for this long ends the run.
  absl::Duration silence_max = absl::Minutes(5);
};

class StudyRunner {
 public:
  explicit StudyRunner(StudyRunnerOptions options);
  ~StudyRunner();

  // Runs a new study, or goes on with one that was interrupted, killed, cancelled or has failed:
  // nothing that is stored is measured again. At most once a runner.
  // FAILED_PRECONDITION: the study is done, its tasks are others, or another tuner runs it: then
  // its state is that tuner's to say.
  // Other errors are the stores', the tools' or the search's; then the study has failed, and may be
  // resumed. That candidates fail, or that the measurer is silent, is no error; nor is whatever
  // happens to the measurements inside the model, which cost no more than their verdict.
  absl::StatusOr<StudyResult> Run();

  // Both from any thread and from signal handlers, at any time. Run returns within about a second.
  // Open trials stay open: a resumed study meets them again.
  void Interrupt();
  // Open trials are cancelled and count for nothing.
  void Cancel();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace burnish

#endif  // TUNER_STUDY_STUDY_RUNNER_H_
