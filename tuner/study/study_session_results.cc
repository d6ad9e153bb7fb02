// What becomes of results on their way into the store: lost ones, those that are not taken at their
// word, and the others.
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "proto/record.h"
#include "tuner/measure/result_check.h"
#include "tuner/study/study_session.h"
#include "tuner/study/time_sums.h"

namespace burnish {

StudySession::Fate StudySession::FateOf(const MeasurementEntry& entry) {
  const Failure* failure = entry.measurement.failure();
  // A lost worker or a cancelled job says nothing about the candidate, however often it happens:
  // who condemns a candidate is the tracker, which knows how its workers do otherwise.
  if (failure == nullptr || CountsAsTrial(failure->kind)) return Fate::kCounts;
  // What the tracker parks it has tried for as long as there was hope.
  const bool is_parked = failure->kind == FailureKind::kParked;
  if (++loss_counts_[entry.trial_id] < kLossesMax && !is_parked) return Fate::kTryAgain;
  last_loss_ = absl::StrCat(FailureKindName(failure->kind), ": ", failure->message);
  return Fate::kPark;
}

MeasurementEntry StudySession::EntryOf(int task_index, MeasureResult result) const {
  const TaskSearch& task = *tasks_[task_index];
  const StudyTaskSpec& spec = options_.tasks[task_index];
  MeasurementEntry entry{
      .study_id = options_.study_id,
      .trial_id = result.trial_id,
      .purpose = task.IsReference(result.trial_id) ? Purpose::kReference : Purpose::kTrial,
      .recorded_ns = NowNs(),
      .candidate = {.workload = spec.workload,
                    .target = options_.target,
                    .contract = spec.contract,
                    .trace = task.pending().at(result.trial_id).trace,
                    .codegen_epoch = options_.codegen_epoch},
      .measurement = std::move(result.measurement)};
  // Records of one method version compare, failures too.
  entry.measurement.environment.method_version = options_.method_version;
  return entry;
}

void StudySession::RefuseMalformed(MeasurementEntry& entry) {
  const Failure* failure = entry.measurement.failure();
  if (failure != nullptr && !CountsAsTrial(failure->kind)) return;
  // The store would refuse the whole batch for one malformed entry, and the study would end.
  const absl::Status valid = ValidateEntry(entry);
  if (valid.ok()) return;
  // All of it goes: what else is wrong with it nobody knows. No failure of the candidate.
  const std::string worker = entry.measurement.environment.worker.substr(0, 128);
  entry.measurement = {.outcome = MalformedResult(worker, valid)};
}

absl::Status StudySession::NotePause(absl::Time now, const WorkerPause& pause) {
  const int64_t until_ns = NowNs() + absl::ToInt64Nanoseconds(pause.until - now);
  paused_[pause.worker_id] = {
      .worker_id = pause.worker_id, .until_ns = until_ns, .count = pause.count};
  LogWarning(absl::StrCat("study ", options_.study_id, ": worker ", pause.worker_id,
                          " is paused for ", absl::FormatDuration(pause.until - now),
                          ": faster than its device can be, and not confirmed by another worker; ",
                          pause.count, pause.count == 1 ? " time so far" : " times so far"));
  return storage_->Append(
      {{.kind = StudyEventKind::kPaused, .number = until_ns, .worker_id = pause.worker_id}});
}

std::vector<PausedWorker> StudySession::PausedNow() const {
  std::vector<PausedWorker> paused;
  for (const auto& [id, worker] : paused_) {
    if (NowNs() < worker.until_ns) paused.push_back(worker);
  }
  return paused;
}

GuardQuestion StudySession::QuestionOf(int task_index) const {
  const TaskSearch& task = *tasks_[task_index];
  // What was told: with `deterministic` it is the same for a whole batch, so that the order of
  // results decides nothing.
  return {.least =
              [this, &task](const std::string& worker_id) {
                const auto& least = task.least();
                if (least == nullptr) return LeastTimes();
                return least(options_.worker_row == nullptr ? std::nullopt
                                                            : options_.worker_row(worker_id));
              },
          .incumbent_ns = task.incumbent_ns(),
          .confirms = options_.confirm_best};
}

absl::StatusOr<StudySession::Fate> StudySession::Guard(int task_index, const Trial& trial,
                                                       MeasurementEntry& entry) {
  const absl::Time now = options_.clock->SteadyNow();
  const std::string worker = entry.measurement.environment.worker;
  const bool is_paused = guard_.IsPaused(now, worker);
  if (is_paused) {
    entry.measurement.outcome =
        Failure{FailureKind::kWorkerLost, absl::StrCat("worker ", worker, " is paused")};
  }
  const Fate fate = FateOf(entry);
  if (fate == Fate::kPark) {
    // The attempts at a second measurement: the first one stands, if it can be.
    std::optional<Measurement> first = guard_.GiveUp(trial.trial_id, QuestionOf(task_index));
    if (!first.has_value()) return fate;
    entry.measurement = *std::move(first);
    return Fate::kCounts;
  }
  std::vector<std::string> avoid;
  if (fate == Fate::kCounts) {
    GuardAnswer answer = guard_.Ask(now, trial.trial_id, entry.measurement, QuestionOf(task_index));
    for (const WorkerPause& pause : answer.pauses) RETURN_IF_ERROR(NotePause(now, pause));
    if (answer.taken.has_value()) {
      entry.measurement = *std::move(answer.taken);
      return Fate::kCounts;
    }
    avoid = std::move(answer.avoid);
  } else if (!worker.empty() && !is_paused) {
    // Whose doing it was, where somebody is named. Paused ones are avoided in any case.
    avoid.push_back(worker);
  }
  if (!cancelling_) RETURN_IF_ERROR(Submit(task_index, {trial}, Submission::kAgain, avoid));
  return Fate::kTryAgain;
}

absl::Status StudySession::RecordResults(std::vector<MeasureResult> results) {
  std::vector<MeasurementEntry> entries;
  std::vector<Arrived> arrived;
  std::vector<std::string> trial_ids, unknown_ids;
  for (MeasureResult& result : results) {
    const auto open = task_of_open_.find(result.trial_id);
    const bool twice =
        std::find(trial_ids.begin(), trial_ids.end(), result.trial_id) != trial_ids.end();
    if (open == task_of_open_.end() || twice) {
      if (!twice) unknown_ids.push_back(result.trial_id);  // Stored by an earlier run, or dropped.
      continue;
    }
    const int task_index = open->second;
    const Trial& trial = tasks_[task_index]->pending().at(result.trial_id);
    MeasurementEntry entry = EntryOf(task_index, std::move(result));
    RefuseMalformed(entry);
    ASSIGN_OR_RETURN(const Fate fate, Guard(task_index, trial, entry));
    if (fate == Fate::kTryAgain) continue;
    if (fate == Fate::kPark) {
      parked_.insert(entry.trial_id);
      ++parked_in_row_;
      continue;
    }
    arrived.push_back(
        {task_index, trial.number, {entry.trial_id, entry.candidate.trace, entry.measurement}});
    trial_ids.push_back(entry.trial_id);
    entries.push_back(std::move(entry));
  }
  if (!unknown_ids.empty()) options_.measurer->Acknowledge(unknown_ids);
  if (entries.empty()) return absl::OkStatus();
  // Stored, then acknowledged, then told. A crash after the first leaves a second copy, which is
  // recognized; the other way round a result would be lost with nobody left who has it.
  RETURN_IF_ERROR(storage_->Record(entries));
  options_.measurer->Acknowledge(trial_ids);
  for (const MeasurementEntry& entry : entries) {
    task_of_open_.erase(entry.trial_id);
    parked_.erase(entry.trial_id);
    parked_in_row_ = 0;
    AddEffort(entry.measurement, times_);
    if (entry.purpose != Purpose::kTrial) continue;
    ++trial_count_;
    const Failure* failure = entry.measurement.failure();
    if (failure != nullptr) ++failure_counts_[failure->kind];
  }
  arrived_.insert(arrived_.end(), std::make_move_iterator(arrived.begin()),
                  std::make_move_iterator(arrived.end()));
  return absl::OkStatus();
}

}  // namespace burnish
