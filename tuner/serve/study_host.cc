#include "tuner/serve/study_host.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/event_log.h"
#include "base/file.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "proto/workload.h"
#include "tuner/app/database.h"
#include "tuner/app/error.h"
#include "tuner/app/farm_client.h"
#include "tuner/app/study_view.h"
#include "tuner/app/target_text.h"
#include "tuner/app/tuning.h"
#include "tuner/study/state_writer.h"
#include "tuner/study/study_claim.h"

namespace burnish {
namespace {

constexpr size_t kEndedMax = 256;  // Studies whose end is remembered for those that watch.
constexpr int kStudiesPerPage = 1000;
// Once may be the machine's doing; a study of which two processes end alike ends the third as well.
constexpr int32_t kCrashesMax = 2;
// A line of the log holds so much: titles and errors have what clients wrote.
constexpr size_t kLineCharacters = 400;

// "40 of 40 trials, 3 failed, sum 4.103 ms, 21.0 % faster than with default schedules"
std::string StandText(const StudyProgress& progress) {
  std::string text = absl::StrCat(progress.trial_count);
  if (progress.trials_max > 0) absl::StrAppend(&text, " of ", progress.trials_max);
  text += " trials";
  int64_t failed = 0;
  for (const auto& [kind, count] : progress.failure_counts) failed += count;
  if (failed > 0) absl::StrAppend(&text, ", ", failed, " failed");
  double sum_ns = 0;
  bool is_whole = !progress.tasks.empty();
  for (const TaskStatus& task : progress.tasks) {
    is_whole = is_whole && task.best.latency_ns > 0;
    sum_ns += task.weight * static_cast<double>(task.best.latency_ns);
  }
  // A part of the model's sum would mislead.
  if (is_whole) absl::StrAppendFormat(&text, ", best %.3f ms", sum_ns * 1e-6);
  const std::string network = NetworkText(progress.refine);
  return network.empty() ? text : absl::StrCat(text, ", ", network);
}

// What became of it, as the first word of a line.
std::string EndText(const StudyNews& news) {
  const std::string stand =
      news.progress.has_value() ? absl::StrCat("; ", StandText(*news.progress)) : "";
  if (news.error.ok()) return absl::StrCat("done (", StopReasonName(news.reason), ")", stand);
  const bool is_parked = ErrorCodeOf(news.error) == ErrorCode::kStudyParked;
  return absl::StrCat(is_parked                               ? "parked: "
                      : news.reason == StopReason::kCancelled ? "cancelled: "
                                                              : "stopped: ",
                      news.error.message(), stand);
}

}  // namespace

StudyHost::StudyHost(const StudyHostOptions& options) : options_(options) {}

StudyHost::~StudyHost() { Stop(); }

absl::Status StudyHost::TakeUp() {
  const int64_t now_ns = absl::ToUnixNanos(options_.clock->WallNow());
  std::vector<std::string> ids;  // Newest first.
  StudyQuery query{.limit = kStudiesPerPage};
  while (true) {
    const absl::StatusOr<std::vector<StudySummary>> page = options_.database->studies->List(query);
    RETURN_IF_ERROR(DatabaseError(page.status(), options_.database->url));
    for (const StudySummary& summary : *page) {
      const Study& study = summary.study;
      if (study.state != StudyState::kRunning && study.state != StudyState::kQueued) continue;
      if (IsHeld(summary.lease, now_ns)) {
        LogWarning(absl::StrCat("study ", study.id, " is left to ", summary.lease.owner));
        continue;
      }
      ASSIGN_OR_RETURN(const StudySpec spec, ParseStudySpec(study));
      if (spec.served) ids.push_back(study.id);
    }
    if (page->size() < static_cast<size_t>(kStudiesPerPage)) break;
    query.after_id = page->back().study.id;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    Say("study taken up", *id, "taken up");
    Enqueue(*id);
  }
  return absl::OkStatus();
}

// Each model has a folder of its own, so that weights which a hostile one claims to have beside it
// are never another client's file.
absl::Status StudyHost::KeepModel(StudySpec& spec, absl::string_view model) const {
  if (Sha256Bytes(model) != spec.model_sha256) {
    return MakeError(ErrorCode::kModelChanged,
                     "the model's bytes do not have the hash that was said", spec.model_path,
                     "submit it again");
  }
  const std::filesystem::path folder =
      std::filesystem::path(options_.models_folder) / absl::BytesToHexString(spec.model_sha256);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return MakeError(ErrorCode::kOutputFile, error.message(), folder.string());
  }
  spec.model_path = (folder / "model.onnx").string();
  return WithError(WriteFileAtomically(spec.model_path, model), ErrorCode::kOutputFile,
                   spec.model_path);
}

absl::StatusOr<std::string> StudyHost::Submit(StudySpec spec) {
  const std::string title = TitleOf(spec);
  spec.out_path.clear();
  spec.served = true;
  // Not the client's: its machine is not the one that measures.
  ASSIGN_OR_RETURN(const Target target, ResolveTarget(spec.target, 0));
  // A farm that is away may be there when the study's turn comes.
  if (spec.trials_max != 0) {
    const auto workers = FarmClient(options_.tracker).ListWorkers();
    if (workers.ok()) RETURN_IF_ERROR(CheckThreads(*workers, target));
  }
  ASSIGN_OR_RETURN(MachineRow row, FindMachineRow(options_.row, target));
  if (!row.trouble.ok()) {
    LogWarning(absl::StrCat("study without a calibration row: ", row.trouble.message()));
  }
  spec.calibration = std::move(row.row);
  std::string id;
  {
    creating_.acquire();
    const absl::Cleanup done = [this] { creating_.release(); };
    StudyProcess process(options_.program, options_.database->url);
    ASSIGN_OR_RETURN(id, process.Create(spec, title));
  }
  Say("study submitted", id,
      absl::StrCat("submitted: ", title, ", ",
                   spec.trials_max < 0 ? "trials while they gain"
                                       : absl::StrCat("at most ", spec.trials_max, " trials"),
                   ", ", target.threads, " threads of ", target.arch));
  const std::lock_guard<std::mutex> lock(mutex_);
  Enqueue(id);
  return id;
}

absl::Status StudyHost::Resume(const std::string& id) {
  const absl::StatusOr<StudySummary> summary = options_.database->studies->Get(id);
  RETURN_IF_ERROR(DatabaseError(summary.status(), options_.database->url));
  if (summary->study.state == StudyState::kDone) {
    return MakeError(ErrorCode::kStudyState, absl::StrCat(id, " is done"), id,
                     "resume with --trials +100 for a hundred more");
  }
  const auto runs_here = [&] {
    const auto run = runs_.find(id);
    return run != runs_.end() && !run->second.news.ended;
  };
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (runs_here()) return absl::OkStatus();
  }
  if (IsHeld(summary->lease, absl::ToUnixNanos(options_.clock->WallNow()))) {
    return WithError(LeaseHeld(id, summary->lease.owner), ErrorCode::kStudyOwned, id);
  }
  // Whoever resumes it says that it may crash as often again.
  const absl::Status counted = options_.database->studies->SetCrashCount(id, 0);
  RETURN_IF_ERROR(DatabaseError(counted, options_.database->url));
  // From now on this daemon's, or its successor's.
  SetState(id, StudyState::kQueued, "waits for its turn");
  Say("study resumed", id, "resumed");
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!runs_here()) Enqueue(id);
  return absl::OkStatus();
}

void StudyHost::Enqueue(const std::string& id) {
  Run& run = runs_[id];
  if (run.thread.joinable())
    run.thread.join();  // It has ended: the last thing it did was to say so.
  run.news = {.version = run.news.version + 1};
  std::erase(ended_, id);
  waiting_.push_back(id);
  changed_.notify_all();
  StartWaiting();
}

void StudyHost::StartWaiting() {
  while (!stopping_ && running_count_ < options_.running_max && !waiting_.empty()) {
    const std::string id = waiting_.front();
    waiting_.pop_front();
    ++running_count_;
    runs_[id].thread = std::thread([this, id] { RunStudy(id); });
  }
}

void StudyHost::RunStudy(const std::string& id) {
  while (true) {
    absl::StatusOr<StudyProcessEnd> end = RunInProcess(id);
    if (!end.ok()) end = StudyProcessEnd{.ending = {.error = end.status()}};
    const bool again = Settle(id, *end);
    if (!again) return End(id, *end);
  }
}

absl::StatusOr<StudyProcessEnd> StudyHost::RunInProcess(const std::string& id) {
  const absl::StatusOr<StudySummary> summary = options_.database->studies->Get(id);
  RETURN_IF_ERROR(DatabaseError(summary.status(), options_.database->url));
  if (summary->study.state == StudyState::kCancelled) {
    return StudyProcessEnd{
        .ending = {.reason = StopReason::kCancelled,
                   .error = MakeError(ErrorCode::kInterrupted, "the study was cancelled", id)}};
  }
  const auto process = std::make_shared<StudyProcess>(options_.program, options_.database->url);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    runs_[id].process = process;
    if (stopping_) process->Interrupt();
    Say("study starts", id,
        absl::StrCat("starts; ", running_count_, " run, ", waiting_.size(), " wait"));
  }
  starting_.acquire();
  return process->Run(
      id, options_.tracker,
      {.on_prepared = [this] { starting_.release(); },
       .on_progress = [this, &id](const StudyProgress& progress) { NoteProgress(id, progress); }});
}

void StudyHost::NoteProgress(const std::string& id, const StudyProgress& progress) {
  const std::lock_guard<std::mutex> lock(mutex_);
  StudyNews& news = runs_[id].news;
  ++news.version;
  news.progress = progress;
  changed_.notify_all();
}

bool StudyHost::Settle(const std::string& id, StudyProcessEnd& end) {
  bool stopping = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping = stopping_;
  }
  if (!end.crash.empty()) {
    // One that was killed because it did not end in time has crashed as little.
    if (!stopping) return SettleCrash(id, end);
    end.ending.reason = StopReason::kInterrupted;
  }
  if (stopping && end.ending.reason == StopReason::kInterrupted) {
    SetState(id, StudyState::kQueued, "its daemon was stopped");
    return false;
  }
  // A run that was refused is another process's study; one that ran has said itself how it ended.
  const ErrorCode code =
      end.ending.error.ok() ? ErrorCode::kStudyOwned : ErrorCodeOf(end.ending.error);
  if (end.ending.reason != StopReason::kNone || code == ErrorCode::kStudyOwned ||
      code == ErrorCode::kStudyState) {
    return false;
  }
  SetState(id, StudyState::kFailed, end.ending.error.message());
  return false;
}

bool StudyHost::SettleCrash(const std::string& id, StudyProcessEnd& end) {
  StudyStore& studies = *options_.database->studies;
  const absl::StatusOr<StudySummary> summary = studies.Get(id);
  const int32_t count = (summary.ok() ? summary->crash_count : 0) + 1;
  // A count that cannot be written makes for one more attempt, after the next start.
  const absl::Status counted = studies.SetCrashCount(id, count);
  LogError(absl::StrCat("study ", id, ": its process crashed: ", end.crash, " (", count, " of ",
                        kCrashesMax, ")"));
  if (count < kCrashesMax && counted.ok()) {
    SetState(id, StudyState::kQueued,
             absl::StrCat("its process crashed: ", end.crash, "; it is tried once more"));
    return true;
  }
  const std::string why = absl::StrCat("its process crashed ", count, " times, the last time by ",
                                       end.crash, "; `tuner resume ", id, "` goes on with it");
  SetState(id, StudyState::kParked, why);
  end.ending.error = MakeError(ErrorCode::kStudyParked, why, id);
  return false;
}

void StudyHost::End(const std::string& id, const StudyProcessEnd& end) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Run& run = runs_[id];
  run.process.reset();
  --running_count_;
  StudyNews& news = run.news;
  ++news.version;
  news.ended = true;
  news.reason = end.ending.reason;
  news.error = end.ending.error;
  if (end.progress.has_value()) news.progress = end.progress;
  Say("study ended", id, EndText(news));
  ended_.push_back(id);
  Forget();
  StartWaiting();
  changed_.notify_all();
}

void StudyHost::Say(absl::string_view kind, const std::string& id, absl::string_view text) {
  log_.Add(options_.clock->SteadyNow(), LogLevel::kInfo, kind,
           absl::StrCat("study ", id, " ", LogPiece(text, kLineCharacters)));
}

bool StudyHost::WaitOrStop(absl::Duration time) {
  std::unique_lock<std::mutex> lock(mutex_);
  return !changed_.wait_for(lock, absl::ToChronoNanoseconds(time), [this] { return stopping_; });
}

void StudyHost::SetState(const std::string& id, StudyState state, absl::string_view detail) {
  const absl::Status status = WriteState(*options_.database->studies,
                                         {.study_id = id,
                                          .state = state,
                                          .detail = std::string(detail),
                                          .now_ns = absl::ToUnixNanos(options_.clock->WallNow())},
                                         [this](absl::Duration time) { return WaitOrStop(time); });
  if (!status.ok()) {
    LogError(absl::StrCat("study ", id, " keeps its state: ", std::string(status.message())));
  }
}

void StudyHost::Forget() {
  // Not the newest: its thread is the one that is here, and cannot be joined by itself.
  while (ended_.size() > kEndedMax) {
    const auto run = runs_.find(ended_.front());
    if (run->second.thread.joinable()) run->second.thread.join();
    runs_.erase(run);
    ended_.pop_front();
  }
}

StudyNews StudyHost::Wait(const std::string& id, int64_t seen, absl::Duration timeout) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto version = [&] {
    const auto run = runs_.find(id);
    return run == runs_.end() ? int64_t{0} : run->second.news.version;
  };
  changed_.wait_for(lock, absl::ToChronoNanoseconds(timeout),
                    [&] { return stopping_ || version() != seen; });
  const auto run = runs_.find(id);
  return run == runs_.end() ? StudyNews() : run->second.news;
}

void StudyHost::Stop() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    for (auto& [id, run] : runs_) {
      if (run.process != nullptr) run.process->Interrupt();
      if (run.thread.joinable()) threads.push_back(std::move(run.thread));
    }
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace burnish
