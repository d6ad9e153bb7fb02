#include "tuner/app/local_run.h"

#include <utility>

#include "base/status_macros.h"
#include "compiler/target/target.h"
#include "tuner/app/target_text.h"

namespace burnish {

absl::StatusOr<std::unique_ptr<LocalRun>> LocalRun::Start(const LocalRunOptions& options) {
  std::unique_ptr<LocalRun> local(new LocalRun());
  RunObserver* const observer = options.observer;
  StudyRunOptions run{
      .study_id = options.study_id,
      .tuning = options.tuning,
      .database = options.database,
      .clock = options.clock,
      .tracker = options.tracker,
      .cache = options.cache,
      .on_progress = [observer](const StudyProgress& progress) { observer->OnProgress(progress); },
      .patience = options.patience};
  if (options.tracker.empty() && options.tuning->spec.trials_max != 0) {
    const auto on_failure = [&now = *local] {
      const std::lock_guard<std::mutex> lock(now.mutex_);
      now.farm_failed_ = true;
      if (now.run_ != nullptr) now.run_->Interrupt();
    };
    // The user's word, where this machine can stand for the target; else no worker takes the jobs.
    const Target& target = options.tuning->target;
    const absl::StatusOr<Target> host = ResolveTarget("host", 0);
    const bool runs_here = host.ok() && target.RunsOn(*host);
    ASSIGN_OR_RETURN(
        local->farm_,
        EmbeddedFarm::Start(
            {.target = runs_here ? target.ToText() : "",
             .calibration = options.calibration,
             .on_restart = [observer](absl::string_view text) { observer->OnFarmRestart(text); },
             .on_failure = on_failure}));
    run.tracker = local->farm_->tracker();
  }
  const std::lock_guard<std::mutex> lock(local->mutex_);
  local->run_ = std::make_unique<StudyRun>(std::move(run));
  if (local->farm_failed_) local->run_->Interrupt();
  return local;
}

absl::StatusOr<StudyResult> LocalRun::Run() {
  absl::StatusOr<StudyResult> result = run_->Run();
  if (farm_ == nullptr) return result;
  const absl::Status farm_status = farm_->status();
  farm_.reset();
  RETURN_IF_ERROR(farm_status);
  return result;
}

void LocalRun::Interrupt() { run_->Interrupt(); }

}  // namespace burnish
