#include "tests/sim/study_watch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/sim/sim_worker.h"

namespace burnish::sim {
namespace {

// As study_session.h.
constexpr int kLossesMax = 3;
// As result_guard.cc.
constexpr int kImpossibleMax = 3;

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
  for (auto& [id, trial] : trials_) {
    trial.open = false;
    trial.loss_count = 0;
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
  for (const Attempt& attempt : trial.attempts) {
    if (attempt.is_refused) continue;
    (IsImpossible(attempt) ? impossible_count : possible_count) +=
        LatenciesOf(attempt.outcome) != nullptr;
    was_said |= attempt.worker == entry.measurement.environment.worker &&
                attempt.outcome == entry.measurement.outcome;
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
  // What was better than all that the search can have been told of.
  const auto best = best_ns_.try_emplace(entry.candidate.workload.id, latency_ns);
  const bool is_best = !best.second && latency_ns < best.first->second;
  best.first->second = std::min(best.first->second, latency_ns);
  if (options_.confirms && is_best && trial.request.incumbent_ns > 0 && possible_count < 2) {
    unconfirmed_.push_back(entry.trial_id);
  }
}

}  // namespace burnish::sim
