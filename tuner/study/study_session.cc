#include "tuner/study/study_session.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "proto/record.h"
#include "tuner/search/training_rule.h"
#include "tuner/study/gain_text.h"
#include "tuner/study/stop_rule.h"
#include "tuner/study/study_refiner.h"
#include "tuner/study/study_replay.h"
#include "tuner/study/task_history.h"
#include "tuner/study/time_sums.h"

namespace burnish {
namespace {

// Trials that are parked one after the other, after which no more begin: a farm that loses so many
// will lose the next ones, too. Half of what is in flight by default.
constexpr int kParkedInRowMax = 32;

// Trials of a task that may be under way: what is suggested before their results are there is
// suggested without them. A farm of one runner measures so many in a second; one of many gets more
// of a task when half as many results are known. On tables of measured points, 16 in flight instead
// of 64: after 64 trials 0.4 % above the best instead of 1.3 (tests/bench/search/README.md).
constexpr int64_t kUnknownMin = 16, kUnknownShare = 2;

bool EndedParked(const StudyEvent& event) { return event.kind == StudyEventKind::kParked; }

}  // namespace

absl::StatusOr<StopReason> StudySession::Start() {
  // The order of a start. Storage mends what a crash left. The state and the session's event say
  // that this run exists, before any of its trials does. Tasks are made from the same history as
  // the first time, the log is replayed over them, and only then open trials go out again: their
  // requests carry the incumbent that the replay has found.
  ASSIGN_OR_RETURN(storage_, StudyStorage::Open(options_.records, options_.studies,
                                                options_.study_id, options_.tasks));
  TaskSchedulerOptions scheduling = options_.scheduler;
  scheduling.early_stopping_trials = options_.spec.early_stopping_trials;
  // A user who names a number of trials gets them, also where little is to be expected.
  scheduling.stop_without_gain = options_.spec.trials_max == StudySpec::kTrialsUntilGain;
  ASSIGN_OR_RETURN(scheduler_, MakeTaskScheduler(options_.spec.task_scheduler, scheduling));
  RETURN_IF_ERROR(storage_->SetState(StudyState::kRunning, "", NowNs()));
  elapsed_before_ = storage_->ElapsedBefore();
  started_at_ = options_.clock->SteadyNow();
  const TimeAdder searching(*options_.clock, times_.search);
  RETURN_IF_ERROR(storage_->Append({{.kind = StudyEventKind::kSession, .number = NowNs()}}));
  RETURN_IF_ERROR(MakeTasks());
  RETURN_IF_ERROR(KeepClaim());
  RETURN_IF_ERROR(Replay());
  RETURN_IF_ERROR(SubmitOpen());
  RETURN_IF_ERROR(TellArrived());
  return StopReason::kNone;
}

absl::Status StudySession::KeepClaim() {
  return options_.claim == nullptr ? absl::OkStatus() : options_.claim->Keep();
}

absl::Status StudySession::WriteLastState(StudyState state, const std::string& detail) {
  const auto wait = [this](absl::Duration time) {
    // While the store cannot be written nobody takes the study; afterwards it may be another's.
    return KeepClaim().ok() && options_.retry_wait(time);
  };
  return WriteState(
      *options_.studies,
      {.study_id = options_.study_id, .state = state, .detail = detail, .now_ns = NowNs()},
      options_.retry_wait == nullptr ? RetryWait() : RetryWait(wait));
}

absl::Status StudySession::MakeTasks() {
  // History is read anew, but no further than it was read the first time. Later rows would give the
  // searches another beginning than the one that the log goes on from.
  std::map<int, int64_t> history_row_ids;  // By task: what earlier runs looked at.
  for (const StudyEvent& event : storage_->events()) {
    if (event.kind == StudyEventKind::kHistory) history_row_ids[event.task_index] = event.number;
  }
  ASSIGN_OR_RETURN(std::vector<TaskTools> tools,
                   options_.make_tools(options_.tasks, options_.target, options_.spec));
  if (tools.size() != options_.tasks.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("got the tools of ", tools.size(), " tasks, want ", options_.tasks.size()));
  }
  for (int i = 0; i < static_cast<int>(options_.tasks.size()); ++i) {
    const StudyTaskSpec& task = options_.tasks[i];
    TaskHistoryQuery query = {.target = options_.target,
                              .codegen_epoch = options_.codegen_epoch,
                              .method_version = options_.method_version};
    const auto known = history_row_ids.find(i);
    if (known != history_row_ids.end()) query.row_id_max = known->second;
    ASSIGN_OR_RETURN(TaskHistory history, ReadTaskHistory(*options_.records, task, query));
    if (known == history_row_ids.end()) {
      RETURN_IF_ERROR(storage_->Append(
          {{.kind = StudyEventKind::kHistory, .task_index = i, .number = history.last_row_id}}));
    }
    ASSIGN_OR_RETURN(tasks_.emplace_back(),
                     TaskSearch::Create({.study_id = options_.study_id,
                                         .task_index = i,
                                         .task = task,
                                         .spec = options_.spec,
                                         .target = options_.target,
                                         .codegen_epoch = options_.codegen_epoch,
                                         .tools = std::move(tools[i]),
                                         .history = std::move(history),
                                         .enumerated_points_max = options_.enumerated_points_max}));
  }
  waiting_.assign(tasks_.size(), false);
  return absl::OkStatus();
}

absl::Status StudySession::Replay() {
  const std::vector<StudyEvent>& events = storage_->events();
  for (size_t i = 0; i < events.size(); ++i) {
    const int task_index = events[i].task_index;
    if (IsOfTask(events[i].kind) &&
        (task_index < 0 || task_index >= static_cast<int>(tasks_.size()))) {
      return absl::DataLossError(
          absl::StrCat("study ", options_.study_id, ": log entry ", i, " is of task ", task_index));
    }
    RETURN_IF_ERROR(ReplayEvent(*storage_, events[i], tasks_));
    if (events[i].kind == StudyEventKind::kSnapshot) {
      RETURN_IF_ERROR(tasks_[task_index]->Train());
    }
  }
  for (int i = 0; i < static_cast<int>(tasks_.size()); ++i) {
    for (const auto& [trial_id, trial] : tasks_[i]->pending()) {
      const auto stored = storage_->results().find(trial_id);
      if (stored == storage_->results().end()) {
        if (storage_->TraceOf(trial_id) == nullptr) {
          return absl::DataLossError(absl::StrCat("trial ", trial_id, " has been lost"));
        }
        task_of_open_[trial_id] = i;
        begun_count_ += !tasks_[i]->IsReference(trial_id);
      } else {
        arrived_.push_back({i, trial.number, stored->second.result});
      }
    }
  }
  resumption_ = static_cast<int>(std::count_if(events.begin(), events.end(), EndedParked));
  const std::set<std::string> lifted = LiftedTrials(events);
  for (const auto& [trial_id, stored] : storage_->results()) {
    if (lifted.contains(trial_id)) continue;
    const bool is_reference =
        std::any_of(tasks_.begin(), tasks_.end(),
                    [&id = trial_id](const auto& task) { return task->IsReference(id); });
    if (is_reference) continue;
    ++trial_count_;
    ++begun_count_;
    const Failure* failure = stored.result.measurement.failure();
    if (failure != nullptr) ++failure_counts_[failure->kind];
  }
  // In the order in which they were stored.
  std::sort(arrived_.begin(), arrived_.end(), [this](const Arrived& a, const Arrived& b) {
    const int64_t time_a = storage_->results().at(a.result.trial_id).recorded_ns;
    const int64_t time_b = storage_->results().at(b.result.trial_id).recorded_ns;
    return std::tie(time_a, a.task_index, a.number) < std::tie(time_b, b.task_index, b.number);
  });
  return absl::OkStatus();
}

absl::Status StudySession::SubmitOpen() {
  for (int i = 0; i < static_cast<int>(tasks_.size()); ++i) {
    std::vector<Trial> open;
    for (const auto& [trial_id, trial] : tasks_[i]->pending()) {
      if (task_of_open_.contains(trial_id)) open.push_back(trial);
    }
    RETURN_IF_ERROR(Submit(i, open, Submission::kAfterRestart));
  }
  // Also without any: the measurer keeps results of an earlier process for trials that may still
  // come, and this says that none will.
  options_.measurer->AllResubmitted();
  return absl::OkStatus();
}

absl::Status StudySession::Submit(int task_index, absl::Span<const Trial> trials,
                                  Submission submission,
                                  const std::vector<std::string>& avoid_workers) {
  if (trials.empty()) return absl::OkStatus();
  const TaskSearch& task = *tasks_[task_index];
  std::vector<std::string> avoid = guard_.Paused(options_.clock->SteadyNow());
  avoid.insert(avoid.end(), avoid_workers.begin(), avoid_workers.end());
  std::vector<MeasureRequest> requests;
  for (const Trial& trial : trials) {
    requests.push_back({.trial_id = trial.trial_id,
                        .task = task.measure_task(),
                        .trace = trial.trace,
                        .incumbent_ns = task.incumbent_ns(),
                        .resubmission = submission == Submission::kAfterRestart,
                        .resumption = resumption_,
                        .again = submission == Submission::kAgain,
                        .avoid_workers = avoid});
  }
  return options_.measurer->Submit(std::move(requests));
}

absl::Status StudySession::Begin(int task_index, int asked, const std::vector<Trial>& trials) {
  // Durable first. A trial that the tracker knows and the store does not would be measured for
  // nobody after a crash, and its number given to another candidate.
  RETURN_IF_ERROR(storage_->Begin(task_index, asked, trials));
  tasks_[task_index]->Begin(trials);
  for (const Trial& trial : trials) {
    task_of_open_[trial.trial_id] = task_index;
    begun_count_ += !tasks_[task_index]->IsReference(trial.trial_id);
  }
  return Submit(task_index, trials, Submission::kFirst);
}

absl::Status StudySession::BeginReferences() {
  for (int i = 0; i < static_cast<int>(tasks_.size()); ++i) {
    const Trial reference = tasks_[i]->reference_trial();
    if (tasks_[i]->reference_told() || tasks_[i]->pending().contains(reference.trial_id)) continue;
    RETURN_IF_ERROR(Begin(i, /*asked=*/0, {reference}));
  }
  return absl::OkStatus();
}

absl::StatusOr<StopReason> StudySession::Fill() {
  const TimeAdder searching(*options_.clock, times_.search);
  RETURN_IF_ERROR(BeginReferences());
  while (true) {
    const StopReason reason = WhyStop();
    if (reason == StopReason::kTime && time_is_up_since_ == absl::InfiniteFuture()) {
      time_is_up_since_ = options_.clock->SteadyNow();
    }
    if (reason != StopReason::kNone) return reason;
    if (parked_in_row_ >= kParkedInRowMax) return StopReason::kParked;
    const bool has_pending = open_count() > 0 || !arrived_.empty();
    // With `deterministic` one batch at a time: what is suggested next then depends on results
    // alone and not on which of them came first.
    if (has_pending && (options_.spec.deterministic || open_count() >= options_.in_flight_max)) {
      return StopReason::kNone;
    }
    ASSIGN_OR_RETURN(const bool begun, BeginBatch());
    if (!begun) return open_count() > 0 ? StopReason::kNone : StopReason::kNoTaskLeft;
  }
}

bool StudySession::IsAnyUnheard() const {
  return std::any_of(tasks_.begin(), tasks_.end(), [this](const auto& task) {
    return !task->reference_told() && !parked_.contains(task->reference_trial().trial_id);
  });
}

int64_t StudySession::ShareOf(const TaskProgress& task, int64_t left) const {
  const auto is_blank = [](const TaskProgress& one) {
    return one.latency_ns() == 0 && one.trial_count() + one.pending_count == 0 && !one.exhausted;
  };
  if (!is_blank(task)) return left;
  const std::vector<TaskProgress> all = TaskProgresses();
  const int64_t blank_count = std::count_if(all.begin(), all.end(), is_blank);
  return std::max<int64_t>(1, left / std::max<int64_t>(1, blank_count));
}

absl::StatusOr<bool> StudySession::BeginShipped() {
  for (int i = 0; i < static_cast<int>(tasks_.size()); ++i) {
    if (!tasks_[i]->reference_told() || !tasks_[i]->ShipsUnmeasured()) continue;
    ASSIGN_OR_RETURN(const std::vector<Trial> trials, tasks_[i]->Suggest(1));
    if (trials.empty()) continue;
    RETURN_IF_ERROR(Begin(i, /*asked=*/1, trials));
    return true;
  }
  return false;
}

absl::StatusOr<bool> StudySession::BeginBatch() {
  const int64_t left = TrialBudget(options_.spec) - begun_count_;
  // A budget that has no batch for each is nobody's before all are heard: the task whose candidate
  // 0 is back first would have all of it.
  const auto batch_each = options_.batch_size * static_cast<int64_t>(tasks_.size());
  if (left < batch_each) {
    if (IsAnyUnheard()) return false;
    ASSIGN_OR_RETURN(const bool begun, BeginShipped());
    if (begun) return true;
  }
  while (true) {
    const std::optional<int> picked = scheduler_->Pick(TaskProgresses());
    if (!picked.has_value()) return false;
    TaskSearch& task = *tasks_[*picked];
    const int room = std::max(1, options_.in_flight_max - open_count());
    const TaskProgress progress = task.progress();
    const int64_t unknown_max = std::max(kUnknownMin, progress.trial_count() / kUnknownShare);
    const auto asked =
        static_cast<int>(std::min<int64_t>({options_.batch_size, room, ShareOf(progress, left),
                                            unknown_max - progress.pending_count}));
    if (asked <= 0) {
      waiting_[*picked] = true;
      continue;
    }
    ASSIGN_OR_RETURN(const std::vector<Trial> trials, task.Suggest(asked));
    if (!trials.empty()) {
      RETURN_IF_ERROR(Begin(*picked, asked, trials));
      return true;
    }
    // Nothing is suggested and nothing is pending: no result can change that, so the search is
    // over. With pending trials it may only be that all candidates of today's batch are among them.
    if (task.pending().empty()) {
      task.set_exhausted(true);
    } else {
      waiting_[*picked] = true;
    }
  }
}

std::vector<TaskProgress> StudySession::TaskProgresses() const {
  std::vector<TaskProgress> progresses;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    TaskProgress progress = tasks_[i]->progress();
    // Not now, rather than never: these are asked again when there is something new.
    if (waiting_[i] || !tasks_[i]->reference_told()) progress.exhausted = true;
    progresses.push_back(std::move(progress));
  }
  return progresses;
}

StopReason StudySession::WhyStop() const {
  double gain = 1;
  // While there are tasks that wait for their first result, nobody knows what there is to gain.
  const bool all_told = std::all_of(tasks_.begin(), tasks_.end(),
                                    [](const auto& task) { return task->reference_told(); });
  if (all_told) {
    std::vector<TaskProgress> progresses;
    for (const auto& task : tasks_) progresses.push_back(task->progress());
    gain = scheduler_->PredictedGain(progresses);
  }
  return ShouldStop(options_.spec, {.begun_count = begun_count_,
                                    .elapsed = Elapsed(),
                                    .predicted_gain = gain,
                                    .refines = MayRefine()});
}

absl::StatusOr<int> StudySession::Collect(absl::Duration timeout) {
  std::vector<MeasureResult> results = [&] {
    const TimeAdder waiting(*options_.clock, times_.wait);
    return options_.measurer->Collect(timeout);
  }();
  const TimeAdder searching(*options_.clock, times_.search);
  const int count = static_cast<int>(results.size());
  RETURN_IF_ERROR(RecordResults(std::move(results)));
  RETURN_IF_ERROR(TellArrived());
  return count;
}

absl::Status StudySession::TellArrived() {
  if (arrived_.empty()) return absl::OkStatus();
  if (options_.spec.deterministic) {
    if (open_count() > 0) return absl::OkStatus();
    // The order of arrival depends on the workers, that of the trials does not.
    std::sort(arrived_.begin(), arrived_.end(), [](const Arrived& a, const Arrived& b) {
      return std::tie(a.task_index, a.number) < std::tie(b.task_index, b.number);
    });
  }
  std::map<int, std::vector<TrialResult>> by_task;
  for (Arrived& one : arrived_) by_task[one.task_index].push_back(std::move(one.result));
  arrived_.clear();
  std::vector<StudyEvent> events;
  for (const auto& [task_index, results] : by_task) {
    StudyEvent update{.kind = StudyEventKind::kUpdate, .task_index = task_index};
    for (const TrialResult& result : results) update.trial_ids.push_back(result.trial_id);
    events.push_back(std::move(update));
    RETURN_IF_ERROR(tasks_[task_index]->Tell(results));
    waiting_[task_index] = false;
  }
  if (ShouldTrain()) {
    for (int i = 0; i < static_cast<int>(tasks_.size()); ++i) {
      if (tasks_[i]->untrained_count() == 0) continue;
      RETURN_IF_ERROR(tasks_[i]->Train());
      events.push_back({.kind = StudyEventKind::kSnapshot,
                        .task_index = i,
                        .snapshot_id = tasks_[i]->snapshot_id()});
    }
  }
  return storage_->Append(events);
}

bool StudySession::ShouldTrain() const {
  int64_t trained = 0, untrained = 0;
  for (const auto& task : tasks_) {
    trained += task->trained_count();
    untrained += task->untrained_count();
  }
  return IsTimeToTrain(untrained, trained);
}

absl::Status StudySession::CancelOpen(absl::Duration timeout) {
  std::vector<std::string> open;
  for (const auto& [trial_id, task_index] : task_of_open_) open.push_back(trial_id);
  cancelling_ = true;
  // Also where the farm cannot be told: its results will find nobody.
  const absl::Status told = options_.measurer->Cancel(open);
  const absl::Time deadline = options_.clock->SteadyNow() + timeout;
  for (size_t left = open.size(); told.ok() && left > 0;) {
    const absl::Duration wait = deadline - options_.clock->SteadyNow();
    if (wait <= absl::ZeroDuration()) break;
    std::vector<MeasureResult> results = options_.measurer->Collect(wait);
    if (results.empty()) break;
    left -= std::min(left, results.size());
    results.erase(std::remove_if(results.begin(), results.end(),
                                 [](const MeasureResult& result) {
                                   const Failure* failure = result.measurement.failure();
                                   return failure != nullptr && !CountsAsTrial(failure->kind);
                                 }),
                  results.end());
    RETURN_IF_ERROR(RecordResults(std::move(results)));
  }
  std::map<int, std::vector<std::string>> dropped;
  for (const auto& [trial_id, task_index] : task_of_open_) dropped[task_index].push_back(trial_id);
  for (const auto& [task_index, trial_ids] : dropped) {
    RETURN_IF_ERROR(storage_->Drop(task_index, trial_ids));
    tasks_[task_index]->Drop(trial_ids);
    for (const std::string& id : trial_ids) {
      task_of_open_.erase(id);
      parked_.erase(id);
      begun_count_ -= !tasks_[task_index]->IsReference(id);
    }
    options_.measurer->Acknowledge(trial_ids);
  }
  return TellArrived();
}

bool StudySession::MayRefine() const {
  return options_.network != nullptr &&
         ShouldRefine(options_.spec, trial_count_, static_cast<int>(tasks_.size()),
                      static_cast<int>(options_.model_order.size()));
}

bool StudySession::MayMeasureGains() const {
  // Under a limit of time nobody has planned for it.
  return options_.network != nullptr && !options_.spec.no_refine && !options_.spec.no_default &&
         options_.spec.time_max_ns == 0 && trial_count_ > 0;
}

void StudySession::Refine(const std::function<bool()>& stop) {
  const TimeAdder refining(*options_.clock, times_.refine);
  std::vector<StudyRefiner::Task> tasks;
  for (const auto& task : tasks_) {
    tasks.push_back({task->measure_task(), task->default_traces()});
  }
  StudyRefiner refiner(options_, std::move(tasks));
  const auto stop_or_go_on = [&] {
    refine_ = refiner.progress();
    // Whose claim is lost has nothing to refine any more; the end says so.
    return !KeepClaim().ok() || stop();
  };
  absl::StatusOr<std::vector<StudyRefiner::Winner>> winners;
  if (MayRefine()) {
    winners = refiner.Run(kRefineShare * Elapsed(), stop_or_go_on);
  } else {
    winners = refiner.MeasureGains(stop_or_go_on);
  }
  refine_ = refiner.progress();
  if (!winners.ok()) {
    if (!absl::IsCancelled(winners.status())) refine_.error = winners.status().ToString();
    return;
  }
  for (const StudyRefiner::Winner& winner : *winners) {
    tasks_[winner.task_index]->set_best(winner.best);
  }
}

StopReason StudySession::Judge(StopReason reason) const {
  if (!IsOver(reason)) return reason;
  if (!parked_.empty()) return StopReason::kParked;
  // A study without trials measures candidate 0 of each task, or was asked for nothing.
  const auto& results = storage_->results();
  const bool measured = std::any_of(results.begin(), results.end(), [](const auto& stored) {
    return stored.second.result.measurement.latencies() != nullptr;
  });
  return measured ? reason : StopReason::kNothingMeasured;
}

// The first failure in words: of forty that failed alike it is the one to look at.
std::string StudySession::WhyNothing() const {
  const StoredResult* first = nullptr;
  for (const auto& [trial_id, stored] : storage_->results()) {
    if (first == nullptr || stored.recorded_ns < first->recorded_ns) first = &stored;
  }
  if (first == nullptr) return ": no result came";
  const Failure& failure = *first->result.measurement.failure();
  return absl::StrCat(": all ", storage_->results().size(), " candidates failed, ",
                      first->result.trial_id, " first: ", FailureKindName(failure.kind), ": ",
                      failure.message);
}

absl::StatusOr<std::string> StudySession::Finish(StopReason reason) {
  StudyState state = StudyState::kDone;
  if (reason == StopReason::kInterrupted) state = StudyState::kInterrupted;
  if (reason == StopReason::kCancelled) state = StudyState::kCancelled;
  std::string detail(StopReasonName(reason));
  if (reason == StopReason::kMeasurerSilent) {
    state = StudyState::kInterrupted;
    absl::StrAppend(&detail, ": ", options_.measurer->health().message());
  }
  if (const std::string guard = GuardText(guard_.counts()); !guard.empty()) {
    absl::StrAppend(&detail, "; ", guard);
  }
  if (reason == StopReason::kParked) {
    state = StudyState::kParked;
    RETURN_IF_ERROR(storage_->Append({{.kind = StudyEventKind::kParked}}));
    absl::StrAppend(&detail, ": ", parked_.size(), " candidates had no result in ", kLossesMax,
                    " attempts each, the last: ", last_loss_, "; `tuner resume ", options_.study_id,
                    "` tries them again when there are more workers");
  }
  if (reason == StopReason::kNothingMeasured) {
    state = StudyState::kFailed;
    detail += WhyNothing();
  }
  const std::string gain = GainText(refine_);
  if (!gain.empty()) absl::StrAppend(&detail, "; ", gain);
  if (!refine_.error.empty()) {
    absl::StrAppend(
        &detail, refine_.gains_only ? "; gain not measured: " : "; not refined: ", refine_.error);
  }
  RETURN_IF_ERROR(KeepClaim());
  RETURN_IF_ERROR(WriteLastState(state, detail));
  return detail;
}

void StudySession::Fail(const absl::Status& status) {
  // Before it ran there is nothing to say: it may be done, or somebody else's.
  if (started_at_ == absl::InfiniteFuture() || !KeepClaim().ok()) return;
  // Whoever is told of `status` hears of this one from the log.
  WriteLastState(StudyState::kFailed, status.ToString()).IgnoreError();
}

StudyProgress StudySession::Progress() const {
  StudyProgress progress{.study_id = options_.study_id,
                         .trial_count = trial_count_,
                         .trials_max = options_.spec.trials_max,
                         .pending_count = begun_count_ - trial_count_,
                         .failure_counts = failure_counts_,
                         .elapsed = Elapsed(),
                         .health = options_.measurer->health(),
                         .refine = refine_,
                         .times = times_,
                         .guard = guard_.counts(),
                         .paused = PausedNow()};
  std::vector<TaskProgress> progresses;
  for (const auto& task : tasks_) {
    progresses.push_back(task->progress());
    progress.tasks.push_back(task->status());
  }
  progress.predicted_gain = scheduler_->PredictedGain(progresses);
  return progress;
}

absl::Duration StudySession::Elapsed() const {
  return elapsed_before_ + (options_.clock->SteadyNow() - started_at_);
}

int64_t StudySession::NowNs() const { return absl::ToUnixNanos(options_.clock->WallNow()); }

}  // namespace burnish
