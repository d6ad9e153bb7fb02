#include "tests/sim/study_watch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/build_job.h"
#include "proto/run_job.h"
#include "tests/sim/sim_worker.h"
#include "tests/sim/tracker_model.h"

namespace burnish::sim {
namespace {

// As study_session.h and tracker_measurer.h.
constexpr int kLossesMax = 3;
constexpr int kArtifactLossesMax = 5;
// As result_guard.cc.
constexpr int kImpossibleMax = 3;

std::string TrialOf(const std::string& job_id) { return job_id.substr(0, job_id.rfind('#')); }

bool IsReferenceBuild(const std::string& job_id) { return absl::StartsWith(job_id, "ref/"); }

bool IsOfReference(const MeasureRequest& request) {
  return request.trace == request.task->reference_trace;
}

const Latencies* LatenciesOf(const std::variant<Latencies, Failure>& outcome) {
  return std::get_if<Latencies>(&outcome);
}

int64_t NsOf(const Latencies& latencies) { return latencies.processes[0].latency_ns[0]; }

bool Counts(const std::variant<Latencies, Failure>& outcome) {
  const auto* failure = std::get_if<Failure>(&outcome);
  return failure == nullptr || CountsAsTrial(failure->kind);
}

bool IsParked(const std::variant<Latencies, Failure>& outcome) {
  const auto* failure = std::get_if<Failure>(&outcome);
  return failure != nullptr && failure->kind == FailureKind::kParked;
}

}  // namespace

std::string CandidateOf(const MeasureTask& task, const std::string& trace) {
  return CandidateId(task.workload.id, task.target.ToText(), task.contract, trace,
                     task.codegen_epoch);
}

void StudyWatch::Begin(Measurer* measurer) {
  measurer_ = measurer;
  ++life_;
  waiting_.clear();
  handed_out_.clear();
  unconfirmed_.clear();
  paused_.clear();
  open_builds_.clear();
  build_counts_.clear();
  failed_references_.clear();
  for (auto& [id, trial] : trials_) {
    trial.open = false;
    trial.loss_count = 0;
    trial.builds_needed.clear();
  }
}

int StudyWatch::OpenCount() const {
  return static_cast<int>(std::count_if(trials_.begin(), trials_.end(),
                                        [](const auto& entry) { return entry.second.open; }));
}

bool StudyWatch::IsImpossible(const Attempt& attempt) {
  const Latencies* latencies = LatenciesOf(attempt.outcome);
  return latencies != nullptr && NsOf(*latencies) <= kImpossibleNsMax;
}

std::string StudyWatch::ReferenceOf(const MeasureTask& task) {
  return task.reference_trace.has_value() ? CandidateOf(task, *task.reference_trace) : "";
}

void StudyWatch::CheckFirst(const std::vector<MeasureRequest>& requests) {
  const auto count = static_cast<int>(
      std::count_if(requests.begin(), requests.end(), [](const MeasureRequest& request) {
        return !request.again && !request.resubmission && !IsOfReference(request);
      }));
  if (count == 0) return;
  const int open_count = OpenCount();
  if (options_.deterministic && open_count > 0) {
    Fail("a deterministic study has one batch at a time", requests[0].trial_id);
  }
  if (open_count + count > std::max(options_.in_flight_max, options_.task_count)) {
    Fail("a study has so many trials in flight", absl::StrCat(open_count, " and ", count));
  }
}

absl::Status StudyWatch::Submit(std::vector<MeasureRequest> requests) {
  CheckFirst(requests);
  for (const MeasureRequest& request : requests) {
    Trial& trial = trials_[request.trial_id];
    const bool is_of_before = trial.life != 0 && trial.life != life_;
    if (is_of_before && !request.resubmission) {
      Fail("what an earlier process has submitted is submitted as such", request.trial_id);
    }
    if (trial.open) Fail("a trial that is open is not submitted again", request.trial_id);
    for (const std::string& worker : paused_) {
      const std::vector<std::string>& avoided = request.avoid_workers;
      if (std::find(avoided.begin(), avoided.end(), worker) == avoided.end()) {
        Fail("a worker that is paused is avoided", absl::StrCat(request.trial_id, ": ", worker));
      }
    }
    const bool was_of_before = trial.life == life_ && trial.request.resubmission;
    trial.request = request;
    trial.request.resubmission |= was_of_before;
    trial.life = life_;
    trial.open = true;
    trial.missing_count = 0;
    trial.builds_needed.clear();
  }
  return measurer_->Submit(std::move(requests));
}

std::vector<MeasureResult> StudyWatch::Collect(absl::Duration timeout) {
  for (MeasureResult& result : measurer_->Collect(timeout)) waiting_.push_back(std::move(result));
  std::vector<MeasureResult> results;
  while (!waiting_.empty()) {
    MeasureResult& result = results.emplace_back(std::move(waiting_.front()));
    waiting_.erase(waiting_.begin());
    const std::string& worker = result.measurement.environment.worker;
    Trial& trial = trials_[result.trial_id];
    if (!trial.open) Fail("a trial that is submitted has one result", result.trial_id);
    trial.open = false;
    trial.attempts.push_back({.worker = worker,
                              .outcome = result.measurement.outcome,
                              .is_refused = paused_.contains(worker),
                              .life = life_});
    has_lies_ |= IsImpossible(trial.attempts.back());
    handed_out_.push_back(result.trial_id);
    const Failure* failure = result.measurement.failure();
    const bool is_farms = failure != nullptr && (failure->kind == FailureKind::kParked ||
                                                 failure->kind == FailureKind::kPoisoned);
    if (is_farms && trial.verdict != failure->kind) {
      Fail("only the farm gives a trial up", result.trial_id);
    }
    // One by one: a result may have the worker of the next one paused.
    if (has_lies_) break;
  }
  return results;
}

void StudyWatch::CheckProgress(const StudyProgress& progress) {
  if (progress.trial_count != recorded_count_) {
    Fail("a study knows how much it has done",
         absl::StrCat(progress.trial_count, " trials, recorded ", recorded_count_));
  }
  // Else what is recorded waits for the rest of its batch.
  if (options_.deterministic && OpenCount() > 0) return;
  std::set<int64_t> shown, recorded;
  for (const TaskStatus& task : progress.tasks) {
    if (task.best.latency_ns > 0) shown.insert(task.best.latency_ns);
  }
  for (const auto& [workload, latency_ns] : best_ns_) recorded.insert(latency_ns);
  if (shown != recorded) {
    Fail("a study knows the best that it has recorded",
         absl::StrCat(shown.size(), " tasks, recorded ", recorded.size()));
  }
}

void StudyWatch::CheckTaken(const StudyProgress& progress) {
  CheckPauses(progress);
  CheckProgress(progress);
  for (const std::string& id : std::exchange(handed_out_, {})) {
    Trial& trial = trials_[id];
    const Attempt& last = trial.attempts.back();
    const bool is_recorded = IsRecorded(id);
    if (is_recorded && trial.open) Fail("what is recorded is not measured again", id);
    if (!last.is_refused && Counts(last.outcome)) {
      if (!is_recorded && !trial.open) Fail("what counts is recorded, or measured again", id);
      if (trial.open && LatenciesOf(last.outcome) == nullptr) {
        Fail("a candidate's failure is recorded", id);
      }
      continue;
    }
    const bool may_try =
        ++trial.loss_count < kLossesMax && (last.is_refused || !IsParked(last.outcome));
    trial.was_given_up |= !may_try;
    has_given_up_ |= !may_try;
    if (may_try != trial.open) {
      Fail("what says nothing of a candidate is tried so often",
           absl::StrCat(id, " ", trial.loss_count));
    }
  }
  for (const std::string& id : std::exchange(unconfirmed_, {})) {
    // Else nobody has given a second result.
    if (!trials_[id].was_given_up) Fail("what looks best is measured once more", id);
  }
}

void StudyWatch::CheckPauses(const StudyProgress& progress) {
  for (const auto& [worker, count] : progress.guard.lies) {
    if (!paused_.insert(worker).second) continue;
    const bool has_lied = std::any_of(trials_.begin(), trials_.end(), [&](const auto& entry) {
      const std::vector<Attempt>& attempts = entry.second.attempts;
      return std::any_of(attempts.begin(), attempts.end(), [&](const Attempt& attempt) {
        return attempt.worker == worker && attempt.life == life_ && IsImpossible(attempt);
      });
    });
    if (!has_lied) Fail("only who has said what cannot be is paused", worker);
  }
  for (const std::string& id : handed_out_) {
    const std::vector<Attempt>& attempts = trials_[id].attempts;
    const Attempt& last = attempts.back();
    if (last.is_refused || LatenciesOf(last.outcome) == nullptr || IsImpossible(last)) continue;
    for (const Attempt& attempt : attempts) {
      const bool is_lie = attempt.life == life_ && !attempt.is_refused && IsImpossible(attempt) &&
                          attempt.worker != last.worker;
      if (is_lie && !paused_.contains(attempt.worker)) {
        Fail("who has said what another does not confirm is paused", attempt.worker);
      }
    }
  }
}

// ---- Jobs ----

void StudyWatch::CheckJob(const JobSpec& job, bool resubmission) {
  const auto found = trials_.find(TrialOf(job.id));
  Trial* trial = found == trials_.end() ? nullptr : &found->second;
  if ((trial == nullptr) != IsReferenceBuild(job.id) || job.study != options_.study_id ||
      job.timeout <= absl::ZeroDuration()) {
    return Fail("a job is of its trial", job.id);
  }
  if (trial != nullptr) {
    const std::vector<std::string>& avoided = trial->request.avoid_workers;
    const auto count = std::min<size_t>(avoided.size(), JobSpec::kAvoidedMax);
    if (!trial->open || resubmission != trial->request.resubmission ||
        job.avoid_workers !=
            std::vector<std::string>(avoided.end() - static_cast<int64_t>(count), avoided.end())) {
      Fail("a job is of its trial", job.id);
    }
  }
  if (job.kind == JobKind::kBuild) {
    CheckBuild(job, trial);
  } else if (trial != nullptr) {
    CheckRun(job, *trial);
  }
}

void StudyWatch::CheckBuild(const JobSpec& job, const Trial* trial) {
  const absl::StatusOr<BuildJob> build = DecodeBuildJob(job.payload);
  if (!build.ok()) return Fail("a job is of its trial", job.id);
  const std::string candidate_id = build->candidate_id;
  if (trial != nullptr && candidate_id != CandidateOf(*trial->request.task, trial->request.trace)) {
    Fail("a job is of its trial", job.id);
  }
  if (candidates_.try_emplace(job.id, candidate_id).first->second != candidate_id) {
    Fail("a job's id is of one job for ever", job.id);
  }
  const std::string artifact = Sha256Bytes(ArtifactOf(candidate_id));
  ++build_counts_[artifact];
  open_builds_[job.id] = artifact;
}

void StudyWatch::CheckRun(const JobSpec& job, Trial& trial) {
  const absl::StatusOr<RunJob> run = DecodeRunJob(job.payload);
  const MeasureTask& task = *trial.request.task;
  const std::string id = CandidateOf(task, trial.request.trace);
  if (!run.ok() || run->candidates.size() != 1) return Fail("a job is of its trial", job.id);
  const RunCandidate& candidate = run->candidates[0];
  const std::string reference_id = ReferenceOf(task);
  const bool may_lack = reference_id.empty() || failed_references_.contains(reference_id);
  const bool lacks = candidate.reference_artifact_sha256.empty();
  if (candidate.candidate_id != id || candidate.seed != task.input_seed ||
      candidate.incumbent_ns != trial.request.incumbent_ns ||
      job.device_key != task.target.DeviceKey() || (lacks && !may_lack) ||
      (!lacks && candidate.reference_artifact_sha256 != Sha256Bytes(ArtifactOf(reference_id)))) {
    Fail("a job is of its trial", job.id);
  }
  if (candidates_.try_emplace(job.id, id).first->second != id) {
    Fail("a job's id is of one job for ever", job.id);
  }
  for (const auto& [artifact, count] : std::exchange(trial.builds_needed, {})) {
    if (build_counts_[artifact] < count)
      Fail("what the store has forgotten is built again", job.id);
  }
}

void StudyWatch::NoteResult(const ResultEntry& result) {
  open_builds_.erase(result.job_id);
  const auto trial = trials_.find(TrialOf(result.job_id));
  if (const auto* failure = std::get_if<Failure>(&result.outcome); trial != trials_.end()) {
    trial->second.verdict =
        failure == nullptr ? std::nullopt : std::optional<FailureKind>(failure->kind);
  }
  if (IsReferenceBuild(result.job_id)) {
    const auto* payload = std::get_if<std::string>(&result.outcome);
    const absl::StatusOr<BuildResult> built =
        payload == nullptr ? absl::InvalidArgumentError("none") : DecodeBuildResult(*payload);
    const std::string& id = candidates_[result.job_id];
    if (!built.ok() || built->candidate_id != id) failed_references_.insert(id);
    return;
  }
  const auto* missing = std::get_if<ArtifactMissing>(&result.outcome);
  if (missing == nullptr || trial == trials_.end()) return;
  if (++trial->second.missing_count > kArtifactLossesMax) {
    trial->second.verdict = FailureKind::kParked;
    return;
  }
  for (const std::string& artifact : missing->sha256) {
    const bool is_under_way =
        std::any_of(open_builds_.begin(), open_builds_.end(),
                    [&](const auto& build) { return build.second == artifact; });
    trial->second.builds_needed[artifact] = build_counts_[artifact] + (is_under_way ? 0 : 1);
  }
}

// ---- Records ----

void StudyWatch::NoteRecord(const MeasurementEntry& entry) {
  const std::string id = entry.candidate.Id();
  recorded_.insert(entry.trial_id);
  recorded_count_ += entry.purpose == Purpose::kTrial ? 1 : 0;
  const Trial& trial = trials_[entry.trial_id];
  const Failure* failure = entry.measurement.failure();
  const std::string text =
      absl::StrCat(entry.trial_id, ": ", failure == nullptr ? "times" : failure->message);
  int64_t possible_count = 0, impossible_count = 0;
  bool was_said = false;
  int life = life_;  // That took it.
  for (const Attempt& attempt : trial.attempts) {
    if (attempt.is_refused) continue;
    (IsImpossible(attempt) ? impossible_count : possible_count) +=
        LatenciesOf(attempt.outcome) != nullptr;
    const bool is_said = attempt.worker == entry.measurement.environment.worker &&
                         attempt.outcome == entry.measurement.outcome;
    was_said |= is_said;
    if (is_said) life = attempt.life;
  }
  // Against its worker's machine, and no word of the candidate: three impossible times, and nobody
  // else to ask (result_guard.cc).
  if (failure != nullptr && failure->kind == FailureKind::kDeviceError) {
    if (impossible_count < kImpossibleMax) Fail("a record is what was measured", text);
    return;
  }
  if (!was_said) Fail("a record is what a worker said that is believed", text);
  // Whether it deserves to be, the tracker's model says.
  if (failure != nullptr && failure->kind == FailureKind::kPoisoned) return;
  const bool may_fail = entry.purpose != Purpose::kReference;
  const bool fails = may_fail && IsFailing(options_.seed, id);
  const bool kills = may_fail && IsKiller(options_.seed, id);
  if (failure != nullptr) {
    if (!fails || failure->kind != FailureKind::kWrongResult) {
      Fail("a record is what was measured", text);
    }
    return;
  }
  const int64_t latency_ns = NsOf(*entry.measurement.latencies());
  const Measurement& measurement = entry.measurement;
  if (fails || kills || latency_ns != TrueLatencyNs(options_.seed, id) ||
      measurement.candidate_id != id ||
      measurement.build.artifact_sha256 != Sha256Bytes(ArtifactOf(id)) ||
      measurement.numerics.kind != NumericsClass::kReassociated) {
    Fail("a record is what was measured", text);
  }
  // Attempts of one process of the study: the next one knows of none.
  const auto is_witness = [&](const Attempt& attempt) {
    return attempt.life == life && !attempt.is_refused && !IsImpossible(attempt) &&
           LatenciesOf(attempt.outcome) != nullptr &&
           TrackerModel::AddressOf(attempt.worker) != measurement.worker_address;
  };
  if (measurement.worker_address != TrackerModel::AddressOf(measurement.environment.worker) ||
      measurement.unconfirmed ==
          std::any_of(trial.attempts.begin(), trial.attempts.end(), is_witness)) {
    Fail("a record says whether another address has confirmed it", text);
  }
  // What was better than all that the search can have been told of.
  const auto best = best_ns_.try_emplace(entry.candidate.workload.id, latency_ns);
  const bool is_best = !best.second && latency_ns < best.first->second;
  best.first->second = std::min(best.first->second, latency_ns);
  if (options_.confirms && is_best && trial.request.incumbent_ns > 0 && possible_count < 2) {
    unconfirmed_.push_back(entry.trial_id);
  }
}

}  // namespace burnish::sim
