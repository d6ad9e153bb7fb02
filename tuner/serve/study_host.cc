#include "tuner/serve/study_host.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "proto/workload.h"
#include "tuner/app/database.h"
#include "tuner/app/error.h"
#include "tuner/app/model_source.h"
#include "tuner/app/new_study.h"
#include "tuner/app/study_view.h"
#include "tuner/app/tuning.h"

namespace burnish {
namespace {

constexpr size_t kEndedMax = 256;  // Studies whose end is remembered for those that watch.
constexpr int kStudiesPerPage = 1000;

}  // namespace

StudyHost::StudyHost(const StudyHostOptions& options) : options_(options) {}

StudyHost::~StudyHost() { Stop(); }

absl::Status StudyHost::TakeUp() {
  std::vector<std::string> ids;  // Newest first.
  StudyQuery query{.limit = kStudiesPerPage};
  while (true) {
    const absl::StatusOr<std::vector<StudySummary>> page = options_.database->studies->List(query);
    RETURN_IF_ERROR(DatabaseError(page.status(), options_.database->url));
    for (const StudySummary& summary : *page) {
      const Study& study = summary.study;
      if (study.state != StudyState::kRunning && study.state != StudyState::kQueued) continue;
      ASSIGN_OR_RETURN(const StudySpec spec, ParseStudySpec(study));
      if (spec.served) ids.push_back(study.id);
    }
    if (page->size() < static_cast<size_t>(kStudiesPerPage)) break;
    query.after_id = page->back().study.id;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    LogInfo(absl::StrCat("taking up study ", *id));
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

absl::StatusOr<std::string> StudyHost::Submit(StudySpec spec, absl::string_view model) {
  RETURN_IF_ERROR(CheckShapes(spec.shapes));
  const std::string title = TitleOf(spec);
  spec.out_path.clear();
  spec.served = true;
  Tuning tuning;
  {
    const std::lock_guard<std::mutex> lock(preparing_);
    if (!spec.model_path.empty()) RETURN_IF_ERROR(KeepModel(spec, model));
    ASSIGN_OR_RETURN(tuning, PrepareTuning(spec));
    tuning.graph = {};  // The weights: a study needs the tasks alone.
  }
  // Not the client's: its machine is not the one that measures.
  ASSIGN_OR_RETURN(MachineRow row, FindMachineRow(options_.row, tuning.target));
  if (!row.trouble.ok()) {
    LogWarning(absl::StrCat("study without a calibration row: ", row.trouble.message()));
  }
  tuning.spec.calibration = std::move(row.row);
  ASSIGN_OR_RETURN(const std::string id,
                   StoreNewStudy(*options_.database, *options_.clock, tuning, title));
  const std::lock_guard<std::mutex> lock(mutex_);
  Enqueue(id);
  return id;
}

absl::Status StudyHost::Resume(const std::string& id) {
  const absl::StatusOr<StudySummary> summary = options_.database->studies->Get(id);
  RETURN_IF_ERROR(DatabaseError(summary.status(), options_.database->url));
  if (summary->study.state == StudyState::kDone) {
    return MakeError(ErrorCode::kStudyState, absl::StrCat(id, " is done"), id,
                     "submit again for more trials");
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto run = runs_.find(id); run != runs_.end() && !run->second.news.ended) {
    return absl::OkStatus();
  }
  // From now on this daemon's, or its successor's.
  SetState(id, StudyState::kQueued, "waits for its turn");
  Enqueue(id);
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
  const auto run = [&]() -> absl::StatusOr<StudyResult> {
    const absl::StatusOr<StudySummary> summary = options_.database->studies->Get(id);
    RETURN_IF_ERROR(DatabaseError(summary.status(), options_.database->url));
    if (summary->study.state == StudyState::kCancelled) {
      return StudyResult{.reason = StopReason::kCancelled};
    }
    ASSIGN_OR_RETURN(const StudySpec spec, ParseStudySpec(summary->study));
    absl::StatusOr<Tuning> tuning;
    {
      const std::lock_guard<std::mutex> lock(preparing_);
      tuning = PrepareTuning(spec);
      if (tuning.ok()) tuning->graph = {};  // The weights: a run needs the tasks alone.
    }
    if (!tuning.ok()) {
      SetState(id, StudyState::kFailed, tuning.status().message());
      return tuning.status();
    }
    return RunPrepared(id, *tuning);
  };
  End(id, run());
}

absl::StatusOr<StudyResult> StudyHost::RunPrepared(const std::string& id, const Tuning& tuning) {
  StudyRun* run = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    runs_[id].run = std::make_unique<StudyRun>(
        StudyRunOptions{.study_id = id,
                        .tuning = &tuning,
                        .database = options_.database,
                        .clock = options_.clock,
                        .tracker = options_.tracker,
                        .idle = options_.idle,
                        .on_progress =
                            [this, id](const StudyProgress& progress) {
                              const std::lock_guard<std::mutex> lock(mutex_);
                              StudyNews& news = runs_[id].news;
                              ++news.version;
                              news.progress = progress;
                              changed_.notify_all();
                            },
                        // A daemon outlives its farm's absences.
                        .patience = absl::InfiniteDuration()});
    run = runs_[id].run.get();
    if (stopping_) run->Interrupt();
  }
  absl::StatusOr<StudyResult> result = run->Run();
  const std::lock_guard<std::mutex> lock(mutex_);
  runs_[id].run.reset();
  return result;
}

void StudyHost::End(const std::string& id, const absl::StatusOr<StudyResult>& result) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (stopping_ && result.ok() && result->reason == StopReason::kInterrupted) {
    SetState(id, StudyState::kQueued, "its daemon was stopped");
  }
  StudyNews& news = runs_[id].news;
  ++news.version;
  news.ended = true;
  news.error = result.status();
  if (result.ok()) {
    news.reason = result->reason;
    news.error = StopError(*result, id);
    news.progress = result->progress;
  }
  LogInfo(absl::StrCat("study ", id, " ended: ",
                       news.error.ok() ? std::string(StopReasonName(news.reason))
                                       : std::string(news.error.message())));
  ended_.push_back(id);
  --running_count_;
  Forget();
  StartWaiting();
  changed_.notify_all();
}

void StudyHost::SetState(const std::string& id, StudyState state, absl::string_view detail) const {
  const absl::Status status = options_.database->studies->SetState(
      id, state, detail, absl::ToUnixNanos(options_.clock->WallNow()));
  if (!status.ok()) {
    LogWarning(absl::StrCat("study ", id, " keeps its state: ", std::string(status.message())));
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
      if (run.run != nullptr) run.run->Interrupt();
      if (run.thread.joinable()) threads.push_back(std::move(run.thread));
    }
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace burnish
