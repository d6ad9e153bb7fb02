#include "tuner/measure/tracker_measurer.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "tracker/job_client.h"
#include "tuner/measure/build_spec.h"
#include "tuner/measure/result_check.h"

namespace burnish {
namespace {

// How long a destructor may wait for the pump. Results wake it at once.
constexpr absl::Duration kPumpInterval = absl::Milliseconds(100);
// As the runner's bound of what a job may ask for (worker/runner/runner_executor.cc).
constexpr int64_t kRepeatCountMax = 10'000;

enum class Stage { kBuilding, kWaitingForReference, kRunning, kDone };

struct Trial {
  MeasureRequest request;
  std::string candidate_id;
  Stage stage = Stage::kBuilding;
  int build_count = 0;
  int run_count = 0;
  int loss_count = 0;
  BuiltArtifact built;
  std::vector<std::string> job_ids;  // Submitted for this trial, by this process.
  bool cancelled = false;
};

// Candidate 0 of a task.
struct Reference {
  Stage stage = Stage::kBuilding;
  int build_count = 0;
  int loss_count = 0;           // Builds that ended without a result that can be.
  std::string artifact_sha256;  // Empty when done: it does not build; runs go without.
  std::string contract;         // As built.
  MeasureRequest request;       // Whose trace is the reference's.
};

}  // namespace

class TrackerMeasurer::Impl {
 public:
  explicit Impl(const TrackerMeasurerOptions& options) : options_(options) {
    CHECK(options_.client != nullptr);
    // A thread, since the study's loop thinks for seconds between two looks, and a built candidate
    // would wait meanwhile with the runner idle.
    if (options_.has_thread) pump_ = std::thread([this] { Pump(); });
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    if (pump_.joinable()) pump_.join();
  }

  absl::Status Submit(std::vector<MeasureRequest> requests) {
    for (const MeasureRequest& request : requests) {
      if (request.trial_id.empty() || request.trial_id.size() > 100 || request.task == nullptr ||
          request.process_count < 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("got a malformed request for trial '", request.trial_id, "'"));
      }
    }
    const std::lock_guard lock(mutex_);
    for (MeasureRequest& request : requests) {
      auto [at, is_new] = trials_.try_emplace(request.trial_id);
      Trial& trial = at->second;
      // Open: it has a result to come. Done: its result did not count, and the trial begins anew.
      if (!is_new && trial.stage != Stage::kDone) continue;
      trial.candidate_id = CandidateIdOf(*request.task, request.trace);
      // An earlier process may have begun the trial anew as well, under the ids of the jobs to
      // come.
      request.resubmission |= trial.request.resubmission;
      trial.request = std::move(request);
      trial.cancelled = false;
      trial.loss_count = 0;
      // What was built is built, unless the store has forgotten it: then the run says so.
      const bool is_built = !trial.built.build.artifact_sha256.empty();
      trial.request.again&& is_built ? SubmitRun(trial) : SubmitBuild(trial);
    }
    return absl::OkStatus();
  }

  void AllResubmitted() {
    const std::lock_guard lock(mutex_);
    all_resubmitted_ = true;
    TellResubmitted();
  }

  std::vector<MeasureResult> Collect(absl::Duration timeout) {
    if (!options_.has_thread) {
      HandleAll(timeout);
      const std::lock_guard lock(mutex_);
      return std::exchange(results_, {});
    }
    std::unique_lock lock(mutex_);
    // The standard library's clocks overflow on infinite waits.
    const absl::Duration bounded = std::min(timeout, absl::Hours(24 * 365));
    arrived_.wait_for(lock, absl::ToChronoNanoseconds(bounded),
                      [this] { return !results_.empty(); });
    return std::exchange(results_, {});
  }

  void Acknowledge(absl::Span<const std::string> trial_ids) {
    std::vector<std::string> job_ids;
    {
      const std::lock_guard lock(mutex_);
      for (const std::string& id : trial_ids) {
        const auto found = trials_.find(id);
        // A trial that was begun anew in between is open again, and its jobs are still needed.
        if (found == trials_.end() || found->second.stage != Stage::kDone) continue;
        for (std::string& job : found->second.job_ids) {
          trial_of_job_.erase(job);
          job_ids.push_back(std::move(job));
        }
        trials_.erase(found);
      }
    }
    // Outside of the lock, as Cancel: the client has a lock of its own and calls the network.
    options_.client->Acknowledge(job_ids);
  }

  absl::Status Cancel(absl::Span<const std::string> trial_ids) {
    std::vector<std::string> job_ids;
    {
      const std::lock_guard lock(mutex_);
      for (const std::string& id : trial_ids) {
        const auto found = trials_.find(id);
        if (found == trials_.end() || found->second.stage == Stage::kDone) continue;
        Trial& trial = found->second;
        // The tracker may answer with the build's result all the same, which came first. Then
        // SubmitRun meets the flag and ends the trial there.
        trial.cancelled = true;
        if (trial.stage == Stage::kWaitingForReference) {
          Finish(trial, Failure{FailureKind::kCancelled, "cancelled"});
        } else {
          job_ids.push_back(trial.job_ids.back());
        }
      }
    }
    if (job_ids.empty()) return absl::OkStatus();
    return options_.client->Cancel(job_ids);
  }

  absl::Status health() const {
    const TrackerClientState state = options_.client->state();
    if (!state.refused.ok()) return state.refused;
    if (state.unreachable_since != absl::InfiniteFuture()) {
      return absl::UnavailableError(
          absl::StrCat("the tracker cannot be reached: ", state.last_error.ToString()));
    }
    // Second: while the tracker is away its last word on queues is old.
    if (!state.unmatched.empty()) {
      const UnmatchedQueue& queue = state.unmatched.front();
      return absl::FailedPreconditionError(
          absl::StrCat("no worker can do ", queue.job_count, " jobs: ", queue.reason));
    }
    return absl::OkStatus();
  }

  std::optional<BuiltArtifact> FindBuilt(const std::string& candidate_id) const {
    const std::lock_guard lock(mutex_);
    const auto found = built_.find(candidate_id);
    if (found == built_.end()) return std::nullopt;
    return found->second;
  }

 private:
  void Pump() {
    while (true) {
      {
        const std::lock_guard lock(mutex_);
        if (stopping_) return;
      }
      HandleAll(kPumpInterval);
    }
  }

  void HandleAll(absl::Duration timeout) {
    for (const ResultEntry& result : options_.client->Collect(timeout)) {
      const std::lock_guard lock(mutex_);
      Handle(result);
    }
  }

  // With the lock held, like all that follow. A trial's run is submitted when its build is done, so
  // the last trial that an earlier process submitted must have come to its end.
  void TellResubmitted() {
    if (!all_resubmitted_ || told_resubmitted_) return;
    for (const auto& [id, trial] : trials_) {
      if (trial.request.resubmission && trial.stage != Stage::kDone) return;
    }
    told_resubmitted_ = true;
    options_.client->AllResubmitted();
  }

  void Handle(const ResultEntry& result) {
    if (const auto found = reference_of_job_.find(result.job_id);
        found != reference_of_job_.end()) {
      HandleReference(found->second, result);
      // Of this session alone: nobody will ask for it again.
      options_.client->Acknowledge({result.job_id});
      return;
    }
    const auto found = trial_of_job_.find(result.job_id);
    if (found == trial_of_job_.end()) return;  // Acknowledged, or of another session.
    Trial& trial = trials_.at(found->second);
    // Results come at least once and late ones come too. Only the trial's latest job moves it on.
    if (trial.stage == Stage::kDone || result.job_id != trial.job_ids.back()) return;
    if (const Failure* failure = std::get_if<Failure>(&result.outcome)) {
      Finish(trial, *failure);
    } else if (const ArtifactMissing* missing = std::get_if<ArtifactMissing>(&result.outcome)) {
      HandleMissing(trial, *missing, result.worker_id);
    } else if (const std::string* payload = std::get_if<std::string>(&result.outcome)) {
      if (trial.stage == Stage::kBuilding) {
        HandleBuilt(trial, *payload, result.worker_id);
      } else {
        HandleRun(trial, *payload, result);
      }
    } else {
      // A worker's fault is not the candidate's: a kind that does not count, so that the session
      // tries again.
      Finish(trial, Failure{FailureKind::kWorkerLost, "the worker reported a fault"},
             result.worker_id);
    }
  }

  // A result that cannot be is the worker's fault: the session tries the trial again.
  void FinishMalformed(Trial& trial, const std::string& worker_id, const absl::Status& status) {
    Finish(trial, MalformedResult(worker_id, status), worker_id);
  }

  void HandleBuilt(Trial& trial, const std::string& payload, const std::string& worker_id) {
    absl::StatusOr<BuildResult> result = CheckedBuild(trial.request, trial.candidate_id, payload);
    if (!result.ok()) {
      FinishMalformed(trial, worker_id, result.status());
    } else if (const Failure* failure = std::get_if<Failure>(&result->outcome)) {
      Finish(trial, *failure);
    } else {
      trial.built = std::get<BuiltArtifact>(std::move(result->outcome));
      // Kept for the session's life, for refine: a few hundred bytes a candidate, the artifact
      // itself is with the content store.
      built_[trial.candidate_id] = trial.built;
      SubmitRun(trial);
    }
  }

  static absl::StatusOr<BuildResult> CheckedBuild(const MeasureRequest& request,
                                                  const std::string& candidate_id,
                                                  const std::string& payload) {
    ASSIGN_OR_RETURN(BuildResult result, DecodeBuildResult(payload));
    RETURN_IF_ERROR(CheckBuildResult(result, candidate_id, request.task->codegen_epoch));
    return result;
  }

  absl::StatusOr<Measurement> CheckedRun(const Trial& trial, const std::string& payload,
                                         const std::string& worker_id) const {
    ASSIGN_OR_RETURN(RunResult result, DecodeRunResult(payload));
    if (result.measurements.size() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("got ", result.measurements.size(), " measurements, want 1"));
    }
    RETURN_IF_ERROR(
        CheckRunResult(result.measurements[0], {.candidate_id = trial.candidate_id,
                                                .worker_id = worker_id,
                                                .numerics = trial.built.numerics,
                                                .seed = trial.request.task->input_seed,
                                                .threads = trial.request.task->target.threads,
                                                .process_count = trial.request.process_count,
                                                .latency_count = kRepeatCountMax,
                                                .method_version = options_.method.version}));
    return std::move(result.measurements[0]);
  }

  void HandleRun(Trial& trial, const std::string& payload, const ResultEntry& result) {
    absl::StatusOr<Measurement> checked = CheckedRun(trial, payload, result.worker_id);
    if (!checked.ok()) return FinishMalformed(trial, result.worker_id, checked.status());
    Measurement measurement = *std::move(checked);
    // Where the runner left it open.
    measurement.environment.method_version = options_.method.version;
    measurement.build = trial.built.build;
    // The runner measures the error, the builder knows the class.
    // Only where the runner left it open.
    if (measurement.numerics.kind == NumericsClass::kUnknown) {
      const double error = measurement.numerics.error;
      measurement.numerics = trial.built.numerics;
      measurement.numerics.error = error;
    }
    if (measurement.environment.worker.empty()) measurement.environment.worker = result.worker_id;
    measurement.worker_address = result.worker_address;
    FinishWith(trial, std::move(measurement));
  }

  // The content store has forgotten something: it is built again, under a new job id.
  void HandleMissing(Trial& trial, const ArtifactMissing& missing, const std::string& worker_id) {
    if (trial.stage == Stage::kBuilding) {
      return FinishMalformed(trial, worker_id,
                             absl::InvalidArgumentError("got a build that misses an artifact"));
    }
    if (++trial.loss_count > options_.artifact_losses_max) {
      Finish(trial, Failure{FailureKind::kParked,
                            absl::StrCat("its artifact was lost ", trial.loss_count, " times")});
      return;
    }
    bool own = false;
    for (const std::string& sha256 : missing.sha256) {
      // The reference may be lost, or the candidate, or both. Trials that wait for the same
      // reference do not build it twice: the first one has set its stage back.
      own |= sha256 == trial.built.build.artifact_sha256;
      for (auto& [id, reference] : references_) {
        if (reference.stage == Stage::kDone && reference.artifact_sha256 == sha256) {
          SubmitReferenceBuild(id, reference);
        }
      }
    }
    own ? SubmitBuild(trial) : SubmitRun(trial);
  }

  void HandleReference(const std::string& id, const ResultEntry& result) {
    Reference& reference = references_.at(id);
    absl::StatusOr<BuildResult> built = absl::InvalidArgumentError("got no build");
    if (const std::string* payload = std::get_if<std::string>(&result.outcome)) {
      built = CheckedBuild(reference.request, id, *payload);
    }
    // The next builder may do better. Not for ever: trials wait for it.
    if (!built.ok() && ++reference.loss_count <= options_.artifact_losses_max) {
      return SubmitReferenceBuild(id, reference);
    }
    reference.stage = Stage::kDone;
    // Before the result is looked at: whatever it is, the stage is done, and an empty hash lets the
    // runs go without a reference instead of waiting for ever.
    reference.artifact_sha256.clear();
    if (built.ok()) {
      if (const BuiltArtifact* artifact = std::get_if<BuiltArtifact>(&built->outcome)) {
        reference.artifact_sha256 = artifact->build.artifact_sha256;
        reference.contract = artifact->contract;
      }
    }
    for (auto& [trial_id, trial] : trials_) {
      // Of all tasks: those of other references find theirs unbuilt and wait on.
      if (trial.stage == Stage::kWaitingForReference) SubmitRun(trial);
    }
  }

  JobSpec BuildSpec(const MeasureRequest& request, const std::string& job_id) const {
    JobSpec spec = MakeBuildSpec(*request.task, request.trace,
                                 {.id = job_id,
                                  .study = options_.study,
                                  .priority = options_.priority,
                                  .build_timeout = options_.build_timeout});
    spec.avoid_workers = AvoidedBy(request);
    return spec;
  }

  // As many as a job may name. The session names the latest last.
  static std::vector<std::string> AvoidedBy(const MeasureRequest& request) {
    const std::vector<std::string>& all = request.avoid_workers;
    const size_t count = std::min<size_t>(all.size(), JobSpec::kAvoidedMax);
    return {all.end() - static_cast<int64_t>(count), all.end()};
  }

  static std::string JobId(const Trial& trial, absl::string_view kind, int count) {
    const int resumption = trial.request.resumption;
    return absl::StrCat(trial.request.trial_id, "#", kind,
                        resumption > 0 ? absl::StrCat(resumption, ".") : "", count);
  }

  void SubmitBuild(Trial& trial) {
    trial.stage = Stage::kBuilding;
    // Before the trial's own: behind the builds of all trials in flight, no run could begin until
    // the last of those is done.
    if (trial.request.trace != trial.request.task->reference_trace) FindReference(trial);
    // Numbered within the trial: a tracker that has a result for an id gives that result again, so
    // that a second build needs a second id. Another process counts the same way and meets the
    // first one's jobs.
    const std::string job_id = JobId(trial, "b", ++trial.build_count);
    Own(trial, job_id);
    const absl::Status submitted =
        options_.client->Submit({BuildSpec(trial.request, job_id)}, trial.request.resubmission);
    if (!submitted.ok()) FinishUnsubmitted(trial, FailureKind::kBuildError, submitted);
  }

  // The client refuses what no tracker would take. The usual reason is a job that is too large: of
  // a huge workload, or of what a builder has said. That is the candidate's end and nobody else's.
  void FinishUnsubmitted(Trial& trial, FailureKind kind, const absl::Status& status) {
    Finish(trial, Failure{kind, absl::StrCat("cannot be a job: ", status.message())});
  }

  void SubmitReferenceBuild(const std::string& id, Reference& reference) {
    reference.stage = Stage::kBuilding;
    // A hash keeps the id within the tracker's limit, and the session within it apart from other
    // processes': their artifacts may be forgotten.
    const std::string job_id = absl::StrCat("ref/",
                                            absl::BytesToHexString(Sha256Bytes(absl::StrCat(
                                                options_.study, "\n", options_.session, "\n", id))),
                                            "#b", ++reference.build_count);
    reference_of_job_[job_id] = id;
    if (options_.client->Submit({BuildSpec(reference.request, job_id)}).ok()) return;
    // As one that does not build: trials go without it.
    reference_of_job_.erase(job_id);
    reference.stage = Stage::kDone;
    reference.artifact_sha256.clear();
  }

  // Null: there is none. Else it may not be built yet.
  const Reference* FindReference(const Trial& trial) {
    const MeasureTask& task = *trial.request.task;
    if (!task.reference_trace.has_value()) return nullptr;
    const std::string id = CandidateIdOf(task, *task.reference_trace);
    auto [at, is_new] = references_.try_emplace(id);
    if (is_new) {
      at->second.request = trial.request;
      at->second.request.trace = *task.reference_trace;
      SubmitReferenceBuild(id, at->second);
    }
    return &at->second;
  }

  // Or has the trial wait for its reference.
  void SubmitRun(Trial& trial) {
    if (trial.cancelled) {
      Finish(trial, Failure{FailureKind::kCancelled, "cancelled"});
      return;
    }
    const MeasureTask& task = *trial.request.task;
    std::string reference_sha256, reference_contract;
    if (trial.request.trace == task.reference_trace) {
      reference_sha256 = trial.built.build.artifact_sha256;
      reference_contract = trial.built.contract;
      // The others' reference: nothing of it needs to be built again.
      references_.try_emplace(trial.candidate_id, Reference{.stage = Stage::kDone,
                                                            .artifact_sha256 = reference_sha256,
                                                            .contract = reference_contract,
                                                            .request = trial.request});
    } else if (const Reference* reference = FindReference(trial)) {
      if (reference->stage != Stage::kDone) {
        trial.stage = Stage::kWaitingForReference;
        return;
      }
      reference_sha256 = reference->artifact_sha256;
      reference_contract = reference->contract;
    }
    RunJob job = {.method = options_.method, .target = task.target.ToText()};
    job.method.process_count = trial.request.process_count;
    job.candidates.push_back({.candidate_id = trial.candidate_id,
                              .artifact_sha256 = trial.built.build.artifact_sha256,
                              .workload = task.workload.text,
                              .contract = trial.built.contract,
                              .reference_artifact_sha256 = reference_sha256,
                              .seed = task.input_seed,
                              .numerics = trial.built.numerics,
                              .incumbent_ns = trial.request.incumbent_ns,
                              .reference_contract = reference_contract});
    trial.stage = Stage::kRunning;
    const std::string job_id = JobId(trial, "r", ++trial.run_count);
    Own(trial, job_id);
    const absl::Status submitted = options_.client->Submit(
        {{.id = job_id,
          .kind = JobKind::kRun,
          .device_key = task.target.DeviceKey(),
          .study = options_.study,
          .priority = options_.priority,
          // The lease. With one process the runner's own limits (loading, timing, candidate 0's
          // run) sum to three, and each reports before this ends; 30 s are for artifacts and for
          // the measuring lock. A lease that ended early would give the job to a second worker.
          .timeout = (job.method.process_count + 2) * job.method.timeout + absl::Seconds(30),
          .payload = Encode(job),
          .avoid_workers = AvoidedBy(trial.request)}},
        trial.request.resubmission);
    if (!submitted.ok()) FinishUnsubmitted(trial, FailureKind::kRunError, submitted);
  }

  void Own(Trial& trial, const std::string& job_id) {
    trial.job_ids.push_back(job_id);
    trial_of_job_[job_id] = trial.request.trial_id;
  }

  // `worker_id`: whose doing the failure is; empty: nobody's or not known.
  void Finish(Trial& trial, const Failure& failure, const std::string& worker_id = "") {
    Measurement measurement;
    measurement.outcome = failure;
    measurement.candidate_id = trial.candidate_id;
    measurement.environment.worker = worker_id;
    measurement.environment.method_version = options_.method.version;
    // A trial that is built again still has the first build's facts, which are not this failure's.
    if (trial.stage != Stage::kBuilding) {
      measurement.build = trial.built.build;
      measurement.numerics = trial.built.numerics;
    }
    FinishWith(trial, std::move(measurement));
  }

  void FinishWith(Trial& trial, Measurement measurement) {
    trial.stage = Stage::kDone;
    results_.push_back({trial.request.trial_id, std::move(measurement)});
    arrived_.notify_all();
    TellResubmitted();
  }

  const TrackerMeasurerOptions options_;
  // std::mutex and not Abseil's, which ThreadSanitizer cannot see into (Debian's library).
  mutable std::mutex mutex_;         // For all below but the thread.
  std::condition_variable arrived_;  // Results.
  bool stopping_ = false;
  bool all_resubmitted_ = false;                     // Says the caller.
  bool told_resubmitted_ = false;                    // To the client.
  std::map<std::string, Trial> trials_;              // By trial id.
  std::map<std::string, Reference> references_;      // By candidate id.
  std::map<std::string, std::string> trial_of_job_;  // By job id.
  std::map<std::string, BuiltArtifact> built_;       // By candidate id.
  std::map<std::string, std::string> reference_of_job_;
  std::vector<MeasureResult> results_;
  std::thread pump_;
};

TrackerMeasurer::TrackerMeasurer(const TrackerMeasurerOptions& options)
    : impl_(std::make_unique<Impl>(options)) {}
TrackerMeasurer::~TrackerMeasurer() = default;

absl::Status TrackerMeasurer::Submit(std::vector<MeasureRequest> requests) {
  return impl_->Submit(std::move(requests));
}
void TrackerMeasurer::AllResubmitted() { impl_->AllResubmitted(); }
std::vector<MeasureResult> TrackerMeasurer::Collect(absl::Duration timeout) {
  return impl_->Collect(timeout);
}
void TrackerMeasurer::Acknowledge(absl::Span<const std::string> trial_ids) {
  impl_->Acknowledge(trial_ids);
}
absl::Status TrackerMeasurer::Cancel(absl::Span<const std::string> trial_ids) {
  return impl_->Cancel(trial_ids);
}
absl::Status TrackerMeasurer::health() const { return impl_->health(); }
std::optional<BuiltArtifact> TrackerMeasurer::FindBuilt(const std::string& candidate_id) const {
  return impl_->FindBuilt(candidate_id);
}

}  // namespace burnish
