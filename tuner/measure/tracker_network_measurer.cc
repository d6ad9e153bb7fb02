#include "tuner/measure/tracker_network_measurer.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "proto/protocol.h"
#include "tracker/tracker_client.h"
#include "tuner/measure/build_spec.h"
#include "tuner/measure/result_check.h"

namespace burnish {
namespace {

// How often `stop` is asked, as the interface promises.
constexpr absl::Duration kLookInterval = absl::Seconds(1);

std::string IdOf(const NetworkCandidate& candidate) {
  return CandidateIdOf(*candidate.task, candidate.trace);
}

// The tracker's own failure, a worker's fault, or a result that is none.
absl::Status NoResult(const JobOutcome& outcome) {
  if (const Failure* failure = std::get_if<Failure>(&outcome)) {
    return absl::InternalError(
        absl::StrCat(FailureKindName(failure->kind), ": ", failure->message));
  }
  if (const WorkerFault* fault = std::get_if<WorkerFault>(&outcome)) {
    return absl::InternalError(absl::StrCat("the worker reported a fault: ", fault->message));
  }
  return absl::InternalError("an artifact is missing");
}

}  // namespace

TrackerNetworkMeasurer::TrackerNetworkMeasurer(const TrackerNetworkMeasurerOptions& options)
    : options_(options) {
  CHECK(options_.client != nullptr && options_.clock != nullptr);
  // Jobs of an earlier run are wanted by nobody.
  options_.client->AllResubmitted();
}

std::string TrackerNetworkMeasurer::NextId() {
  // With the session: a further run must not be handed the times of an earlier one.
  return absl::StrCat(options_.study, "/refine/", options_.session, "/", job_count_++);
}

absl::StatusOr<NetworkResult> TrackerNetworkMeasurer::Measure(const NetworkRequest& request,
                                                              const std::function<bool()>& stop) {
  if (request.candidates.empty() || request.timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("got no candidate or no time limit");
  }
  for (int losses = 0;; ++losses) {
    RETURN_IF_ERROR(BuildAll(request, stop));
    NetworkResult result;
    bool all_built = true;
    for (const NetworkCandidate& candidate : request.candidates) {
      const BuildResult& built = built_.at(IdOf(candidate));
      Measurement& measurement = result.measurements.emplace_back();
      measurement.candidate_id = IdOf(candidate);
      measurement.environment.method_version = options_.method.version;
      // One that does not build leaves a hole in every pass of its task, so that nothing runs and
      // the caller decides without it.
      measurement.outcome =
          Failure{FailureKind::kCancelled, "another candidate was not built, or failed alone"};
      if (const Failure* failure = std::get_if<Failure>(&built.outcome)) {
        measurement.outcome = *failure;
        all_built = false;
      }
    }
    if (!all_built) return result;
    const JobSpec run = RunSpec(request);
    ASSIGN_OR_RETURN(const Outcomes outcomes, RunJobs({run}, stop));
    const JobOutcome& outcome = outcomes.at(run.id);
    if (const ArtifactMissing* missing = std::get_if<ArtifactMissing>(&outcome);
        missing != nullptr && losses < options_.artifact_losses_max) {
      // The content store has forgotten them: built again.
      std::erase_if(built_, [&](const auto& built) {
        const BuiltArtifact* artifact = std::get_if<BuiltArtifact>(&built.second.outcome);
        return artifact != nullptr &&
               std::find(missing->sha256.begin(), missing->sha256.end(),
                         artifact->build.artifact_sha256) != missing->sha256.end();
      });
      continue;
    }
    const std::string* payload = std::get_if<std::string>(&outcome);
    if (payload == nullptr) return NoResult(outcome);
    absl::StatusOr<RunResult> ran = CheckedRun(request, *payload);
    // Said by one worker, and perhaps not by the next.
    if (!ran.ok() && losses < options_.artifact_losses_max) continue;
    RETURN_IF_ERROR(ran.status());
    result.has_run = std::none_of(ran->measurements.begin(), ran->measurements.end(), FailedAlone);
    for (size_t i = 0; i < ran->measurements.size(); ++i) {
      // Those that never ran are left as above.
      if (result.has_run || FailedAlone(ran->measurements[i])) {
        result.measurements[i] = std::move(ran->measurements[i]);
      }
    }
    return result;
  }
}

absl::StatusOr<RunResult> TrackerNetworkMeasurer::CheckedRun(const NetworkRequest& request,
                                                             const std::string& payload) const {
  ASSIGN_OR_RETURN(RunResult ran, DecodeRunResult(payload));
  // The payload is a worker's. Counts are checked before anything is indexed by them.
  if (ran.measurements.size() != request.candidates.size()) {
    return absl::InternalError(absl::StrCat("got ", ran.measurements.size(), " measurements, want ",
                                            request.candidates.size()));
  }
  for (size_t i = 0; i < ran.measurements.size(); ++i) {
    const NetworkCandidate& candidate = request.candidates[i];
    const std::string id = IdOf(candidate);
    const bool is_alone = FailedAlone(ran.measurements[i]);
    RETURN_IF_ERROR(
        CheckRunResult(ran.measurements[i],
                       {.candidate_id = id,
                        .numerics = std::get<BuiltArtifact>(built_.at(id).outcome).numerics,
                        // One memory for all, filled by the first one's seed.
                        .seed = request.candidates[is_alone ? i : 0].task->input_seed,
                        .threads = candidate.task->target.threads,
                        // Its passes, in the one process.
                        .latency_count = request.order.pass_count(),
                        .method_version = options_.method.version,
                        .mode = is_alone ? MeasureMode::kIsolated : MeasureMode::kInNetwork}));
  }
  return ran;
}

absl::Status TrackerNetworkMeasurer::BuildAll(const NetworkRequest& request,
                                              const std::function<bool()>& stop) {
  for (int losses = 0;; ++losses) {
    absl::Status malformed;
    RETURN_IF_ERROR(BuildMissing(request, stop, malformed));
    // Said by one worker, and perhaps not by the next.
    if (malformed.ok() || losses >= options_.artifact_losses_max) return malformed;
  }
}

absl::Status TrackerNetworkMeasurer::BuildMissing(const NetworkRequest& request,
                                                  const std::function<bool()>& stop,
                                                  absl::Status& malformed) {
  std::vector<JobSpec> jobs;
  std::map<std::string, std::string> candidate_of_job;
  std::map<std::string, int32_t> epoch_of;  // By candidate.
  std::set<std::string> begun;
  for (const NetworkCandidate& candidate : request.candidates) {
    const std::string id = IdOf(candidate);
    if (options_.find_built != nullptr && looked_for_.insert(id).second) {
      std::optional<BuiltArtifact> found = options_.find_built(id);
      if (found.has_value()) built_[id] = {.candidate_id = id, .outcome = *std::move(found)};
    }
    // The incumbent is a candidate twice, and a build serves both.
    if (built_.contains(id) || !begun.insert(id).second) continue;
    jobs.push_back(MakeBuildSpec(*candidate.task, candidate.trace,
                                 {.id = NextId(),
                                  .study = options_.study,
                                  .priority = options_.priority,
                                  .build_timeout = options_.build_timeout}));
    candidate_of_job[jobs.back().id] = id;
    epoch_of[id] = candidate.task->codegen_epoch;
  }
  ASSIGN_OR_RETURN(const Outcomes outcomes, RunJobs(std::move(jobs), stop));
  for (const auto& [job_id, outcome] : outcomes) {
    const std::string* payload = std::get_if<std::string>(&outcome);
    if (payload == nullptr) return NoResult(outcome);
    const std::string& id = candidate_of_job.at(job_id);
    absl::StatusOr<BuildResult> result = DecodeBuildResult(*payload);
    absl::Status sound = result.status();
    if (sound.ok()) sound = CheckBuildResult(*result, id, epoch_of.at(id));
    if (sound.ok()) {
      built_[id] = *std::move(result);
    } else {
      malformed = std::move(sound);
    }
  }
  return absl::OkStatus();
}

JobSpec TrackerNetworkMeasurer::RunSpec(const NetworkRequest& request) {
  const Target& target = request.candidates[0].task->target;
  RunJob job = {.method = options_.method,
                .target = target.ToText(),
                .model_sha256 = request.model_id,
                .model_order = request.order};
  // The caller asks for each process by itself: between two of them losers leave.
  job.method.process_count = 1;
  job.method.cold_policy = ColdPolicy::kModelOrder;
  job.method.timeout = request.timeout;
  for (const NetworkCandidate& candidate : request.candidates) {
    const std::string id = IdOf(candidate);
    const auto& built = std::get<BuiltArtifact>(built_.at(id).outcome);
    job.candidates.push_back({.candidate_id = id,
                              .artifact_sha256 = built.build.artifact_sha256,
                              .workload = candidate.task->workload.text,
                              .contract = built.contract,
                              .seed = candidate.task->input_seed,
                              .numerics = built.numerics});
  }
  return {.id = NextId(),
          .kind = JobKind::kRun,
          .device_key = target.DeviceKey(),
          .study = options_.study,
          .priority = options_.priority,
          // Fairness between studies counts costs: a job that times forty candidates is not one
          // that times one.
          .cost = std::min<int32_t>(static_cast<int32_t>(job.candidates.size()), JobSpec::kCostMax),
          // As for a single run: the limit of the child is the runner's to report, the lease must
          // outlast it.
          .timeout = 3 * job.method.timeout + absl::Seconds(30),
          .payload = Encode(job)};
}

absl::StatusOr<TrackerNetworkMeasurer::Outcomes> TrackerNetworkMeasurer::RunJobs(
    std::vector<JobSpec> jobs, const std::function<bool()>& stop) {
  Outcomes outcomes;
  std::vector<std::string> open;
  for (const JobSpec& job : jobs) open.push_back(job.id);
  if (open.empty()) return outcomes;
  RETURN_IF_ERROR(options_.client->Submit(std::move(jobs)));
  // On every way out but the good one, whose Cancel() below disarms it.
  absl::Cleanup cancel = [&] {
    // Whoever cannot be told works in vain.
    options_.client->Cancel(open).IgnoreError();
    options_.client->Acknowledge(open);
  };
  absl::Time answered_at = options_.clock->SteadyNow();
  while (!open.empty()) {
    if (stop()) return absl::CancelledError("stopped");
    for (ResultEntry& result : options_.client->Collect(kLookInterval)) {
      const auto known = std::find(open.begin(), open.end(), result.job_id);
      if (known != open.end()) {
        open.erase(known);
        outcomes[result.job_id] = std::move(result.outcome);
      }
      // Also results of jobs that nobody waits for any more, or the tracker would send them again.
      options_.client->Acknowledge({result.job_id});
      answered_at = options_.clock->SteadyNow();
    }
    const absl::Status silent = WhySilent();
    if (IsFinalRefusal(silent)) return silent;
    // A farm that is well may be silent for as long as a long model takes.
    if (silent.ok()) answered_at = options_.clock->SteadyNow();
    if (options_.clock->SteadyNow() - answered_at >= options_.silence_max) return silent;
  }
  std::move(cancel).Cancel();
  return outcomes;
}

absl::Status TrackerNetworkMeasurer::WhySilent() const {
  const TrackerClientState state = options_.client->state();
  if (!state.refused.ok()) return state.refused;
  if (state.unreachable_since != absl::InfiniteFuture()) {
    return absl::UnavailableError(
        absl::StrCat("the tracker cannot be reached: ", state.last_error.ToString()));
  }
  if (state.unmatched.empty()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("no worker can do it: ", state.unmatched.front().reason));
}

}  // namespace burnish
