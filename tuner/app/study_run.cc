#include "tuner/app/study_run.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/measuring_files.h"
#include "base/secret.h"
#include "base/stand_aside.h"
#include "base/status_macros.h"
#include "compiler/codegen/codegen_epoch.h"
#include "compiler/ir/program.h"
#include "compiler/target/device_model.h"
#include "compiler/target/target.h"
#include "proto/calibrated.h"
#include "proto/calibration_row.h"
#include "proto/protocol.h"
#include "proto/run_job.h"
#include "tracker/tracker_client.h"
#include "tuner/app/database.h"
#include "tuner/app/device_peak.h"
#include "tuner/app/error.h"
#include "tuner/app/farm_client.h"
#include "tuner/app/least_time.h"
#include "tuner/app/take_claim.h"
#include "tuner/app/tuner_secret.h"
#include "tuner/measure/tracker_measurer.h"
#include "tuner/measure/tracker_network_measurer.h"
#include "tuner/sketch/sketch.h"
#include "tuner/study/study_claim.h"
#include "tuner/study/study_runner.h"
#include "tuner/study/task_tools.h"

namespace burnish {
namespace {

// Tools are made once a study; ResNet-50's take 6 s on two cores (docs/performance.md). The bound
// is for machines with many cores; not tuned.
constexpr int kMakeThreadsMax = 16;
// How late a cancellation from another process may be noticed. Each look is a read of the database.
constexpr absl::Duration kStateInterval = absl::Seconds(1);

// A state that cannot be written for so long is left as it was. Whoever looks at the study then
// sees that its process has ended.
constexpr absl::Duration kStoreWaitMax = absl::Hours(1);

// Of the machine whose row the study has; a table's clock is no bound of any machine. Without
// loads: no kernel is faster, so that no task ends early by it, and no good result is doubted.
std::function<double(const Program&)> MachinePeak(const Tuning& tuning) {
  if (!tuning.spec.calibration.has_value()) return nullptr;
  return [device = DeviceModelOf(tuning.target, tuning.spec.calibration),
          threads = tuning.target.threads](const Program& workload) {
    return PeakFlops(device, workload, threads, /*loads_per_operation=*/0);
  };
}

// What each worker's machine has measured of itself, as the tracker passes it on.
class WorkerRows {
 public:
  WorkerRows(const std::string& tracker, const Clock* clock)
      : client_(tracker, kAnswerMax), clock_(clock) {}

  std::optional<CalibrationRow> Find(const std::string& worker_id) {
    const absl::Time now = clock_->SteadyNow();
    const bool is_known = rows_.contains(worker_id);
    // A worker that nobody knows is asked for soon, a known one may have measured itself anew.
    if (now - asked_at_ >= (is_known ? kRefresh : kRetry)) {
      asked_at_ = now;
      const absl::StatusOr<std::vector<FarmWorker>> workers = client_.ListWorkers();
      if (workers.ok()) {
        for (const FarmWorker& worker : *workers) rows_[worker.id] = worker.calibration;
      }
    }
    const auto row = rows_.find(worker_id);
    return row == rows_.end() ? std::nullopt : row->second;
  }

 private:
  static constexpr absl::Duration kAnswerMax = absl::Seconds(1);
  static constexpr absl::Duration kRetry = absl::Seconds(10), kRefresh = absl::Minutes(5);

  const FarmClient client_;
  const Clock* const clock_;
  absl::Time asked_at_ = absl::InfinitePast();
  std::map<std::string, std::optional<CalibrationRow>> rows_;
};

MeasureMethod MethodFor(const Tuning& tuning) {
  // Above this ratio to the incumbent a candidate is not worth more repeats. A choice; nothing was
  // measured. It is far above the noise of a repeat (a few percent), and a candidate that is half
  // as slow again needs no exact time: it is neither best nor, with the other algorithms' defaults
  // within half as much again, a contender of refine (docs/adr/0002).
  constexpr double kEarlyStopRatio = 1.5;
  return {.early_stop_ratio = kEarlyStopRatio, .model_constant_bytes = tuning.constant_bytes};
}

ErrorCode SilenceCode(const absl::Status& health) {
  if (IsProtocolRefusal(health)) return ErrorCode::kTrackerProtocol;
  if (absl::IsPermissionDenied(health)) return ErrorCode::kTunerRefused;
  if (absl::IsUnauthenticated(health)) return ErrorCode::kPermission;
  return absl::IsFailedPrecondition(health) ? ErrorCode::kNoMatchingWorker
                                            : ErrorCode::kTrackerUnreachable;
}

// A study's own errors: another tuner's, or a store's.
absl::Status RunError(const absl::Status& status, const std::string& id,
                      const std::string& database_url) {
  if (absl::IsFailedPrecondition(status)) return WithError(status, ErrorCode::kStudyState, id);
  if (absl::IsInternal(status)) return WithError(status, ErrorCode::kInternal, id);
  return DatabaseError(status, database_url);
}

}  // namespace

class StudyRun::Impl {
 public:
  explicit Impl(StudyRunOptions options) : options_(std::move(options)) {}

  absl::StatusOr<StudyResult> Run() {
    ASSIGN_OR_RETURN(claim_, TakeClaim(*options_.database, *options_.clock, options_.study_id));
    absl::StatusOr<StudyResult> result = RunClaimed();
    claim_.reset();
    return result;
  }

  absl::StatusOr<StudyResult> RunClaimed() {
    const std::string& url = options_.database->url;
    if (options_.tuning->spec.trials_max == 0) return RunWithoutTrials();
    // By the clock, unlike the search's seed: two runs of one study must not share session and job
    // ids, and delays between attempts should differ between tuners.
    const auto seed = static_cast<uint64_t>(absl::ToUnixNanos(options_.clock->WallNow()));
    ASSIGN_OR_RETURN(const std::string secret, TunerSecret(url));
    TrackerClient client({.tracker = options_.tracker,
                          .tuner_id = options_.study_id,
                          .tuner_secret = SecretFor(secret, options_.study_id),
                          .seed = seed});
    TrackerMeasurer measurer({.client = &client,
                              .study = options_.study_id,
                              .session = absl::StrCat(seed),
                              .priority = options_.tuning->spec.priority,
                              .method = MethodFor(*options_.tuning)});
    // A client of its own, whose results are no trials'.
    const std::string network_id = absl::StrCat(options_.study_id, "/refine");
    TrackerClient network_client({.tracker = options_.tracker,
                                  .tuner_id = network_id,
                                  .tuner_secret = SecretFor(secret, network_id),
                                  .seed = seed + 1});
    TrackerNetworkMeasurer network({.client = &network_client,
                                    .clock = options_.clock,
                                    .study = options_.study_id,
                                    .session = absl::StrCat(seed),
                                    .priority = options_.tuning->spec.priority,
                                    .find_built =
                                        [&measurer](const std::string& candidate_id) {
                                          return measurer.FindBuilt(candidate_id);
                                        },
                                    .silence_max = options_.patience});
    StudyRunner runner(RunnerOptions(measurer, network));
    runner_ = &runner;
    // The interrupt may have come before there was a runner.
    if (interrupted_) runner.Interrupt();
    absl::StatusOr<StudyResult> result;
    // A worker may measure on this host, of this study or of another.
    RunStandingAside(DefaultMeasuringFolder(), [&] { result = runner.Run(); });
    {
      // runner_ is set back before `runner` goes out of scope.
      // An Interrupt that is under way must be done with the runner.
      const std::lock_guard<std::mutex> lock(mutex_);
      runner_ = nullptr;
    }
    if (!result.ok()) return RunError(result.status(), options_.study_id, url);
    return result;
  }

  void Interrupt() {
    const std::lock_guard<std::mutex> lock(mutex_);
    interrupted_ = true;
    if (StudyRunner* const runner = runner_; runner != nullptr) runner->Interrupt();
  }

 private:
  absl::StatusOr<StudyResult> RunWithoutTrials() {
    const int64_t now_ns = absl::ToUnixNanos(options_.clock->WallNow());
    // Through kRunning, so that a study without trials has the same history of states as any other,
    // and a study of another tuner is refused.
    for (const StudyState state : {StudyState::kRunning, StudyState::kDone}) {
      RETURN_IF_ERROR(RunError(options_.database->studies->SetState(options_.study_id, state,
                                                                    "default schedules", now_ns),
                               options_.study_id, options_.database->url));
    }
    return StudyResult{.reason = StopReason::kTrials, .progress = {.study_id = options_.study_id}};
  }

  StudyRunnerOptions RunnerOptions(Measurer& measurer, NetworkMeasurer& network) {
    const Tuning& tuning = *options_.tuning;
    TaskToolsOptions tools{.peak_flops = MachinePeak(tuning),
                           .least =
                               [](const Program& workload, const Target& target, double saving_max,
                                  const std::optional<CalibrationRow>& row) {
                                 return LeastTimesOf(target, workload, saving_max, row);
                               },
                           .make_threads = std::min(tuning.target.threads, kMakeThreadsMax)};
    if (const CompileCache* const cache = options_.cache; cache != nullptr) {
      tools.defaults = [cache](const Program& workload, const Target& target,
                               const std::optional<CalibrationRow>& calibration,
                               const SketchOptions& sketches) {
        return cache->Defaults(workload, target, calibration, sketches);
      };
    }
    return {
        .study_id = options_.study_id,
        .spec = tuning.spec,
        .target = tuning.target,
        .tasks = tuning.tasks,
        .codegen_epoch = kCodegenEpoch,
        .make_tools =
            [tools](absl::Span<const StudyTaskSpec> tasks, const Target& target,
                    const StudySpec& spec) { return MakeTaskTools(tools, tasks, target, spec); },
        .worker_row = [rows = std::make_shared<WorkerRows>(options_.tracker, options_.clock)](
                          const std::string& worker_id) { return rows->Find(worker_id); },
        .records = options_.database->records.get(),
        .studies = options_.database->studies.get(),
        .measurer = &measurer,
        .clock = options_.clock,
        .claim = claim_.get(),
        .retry_wait = [this](absl::Duration time) { return WaitForStore(time); },
        .network = &network,
        .model_order = tuning.model_order,
        .on_progress = [this](const StudyProgress& progress) { OnProgress(progress); },
        .scheduler = {},
        .silence_max = options_.patience};
  }

  // Until somebody who has interrupted the run does so again, and that ends the process.
  bool WaitForStore(absl::Duration time) {
    std::this_thread::sleep_for(absl::ToChronoNanoseconds(time));
    waited_ += time;
    return waited_ < kStoreWaitMax;
  }

  void OnProgress(const StudyProgress& progress) {
    if (options_.on_progress != nullptr) options_.on_progress(progress);
    const absl::Time now = options_.clock->SteadyNow();
    // Progress comes with every change, up to many times a second.
    if (now - state_seen_ < kStateInterval) return;
    state_seen_ = now;
    // Whoever cancels it in another process says so in the database.
    const absl::StatusOr<StudySummary> summary = options_.database->studies->Get(options_.study_id);
    if (summary.ok() && summary->study.state == StudyState::kCancelled) runner_.load()->Cancel();
  }

  const StudyRunOptions options_;
  std::mutex mutex_;  // Held while another thread uses the runner.
  std::atomic<bool> interrupted_ = false;
  std::atomic<StudyRunner*> runner_ = nullptr;  // While it runs.
  absl::Time state_seen_ = absl::InfinitePast();
  std::unique_ptr<StudyClaim> claim_;
  absl::Duration waited_ = absl::ZeroDuration();  // For the store, at the end.
};

StudyRun::StudyRun(StudyRunOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
StudyRun::~StudyRun() = default;

absl::StatusOr<StudyResult> StudyRun::Run() { return impl_->Run(); }
void StudyRun::Interrupt() { impl_->Interrupt(); }

absl::Status StopError(const StudyResult& result, const std::string& study_id) {
  switch (result.reason) {
    case StopReason::kInterrupted:
      return MakeError(ErrorCode::kInterrupted, "interrupted; nothing that was measured is lost",
                       study_id);
    case StopReason::kCancelled:
      return MakeError(ErrorCode::kInterrupted, "the study was cancelled", study_id);
    case StopReason::kMeasurerSilent:
      return MakeError(SilenceCode(result.progress.health), result.progress.health.message(),
                       study_id);
    case StopReason::kParked:
      return MakeError(ErrorCode::kStudyParked, result.detail, study_id);
    case StopReason::kNothingMeasured:
      return MakeError(ErrorCode::kNothingMeasured, result.detail, study_id);
    default:
      return absl::OkStatus();
  }
}

}  // namespace burnish
