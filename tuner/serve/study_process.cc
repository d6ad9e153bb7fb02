#include "tuner/serve/study_process.h"

#include <csignal>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "proto/study_process.pb.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

constexpr absl::Duration kOrderTimeout = absl::Seconds(30);  // For a loaded machine.
constexpr absl::Duration kListenInterval = absl::Seconds(1);
// For a model of gigabytes on a busy machine; then it is killed as one that hangs. A guess.
constexpr absl::Duration kPrepareTimeout = absl::Minutes(15);
// After an interrupt. A run notices within a second, and then stores how it ended.
constexpr absl::Duration kEndTimeout = absl::Seconds(30);

// The last line that the process said before it crashed: a check that failed names itself there.
std::string LastLine(absl::string_view text) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n', absl::SkipWhitespace());
  constexpr size_t kBytesMax = 500;
  return lines.empty() ? "" : std::string(lines.back().substr(0, kBytesMax));
}

std::string CrashText(const ExitInfo& exit) {
  const std::string how =
      exit.signal != 0 ? absl::StrCat("signal ", exit.signal, " (", strsignal(exit.signal), ")")
                       : absl::StrCat("exit code ", exit.exit_code);
  const std::string line = LastLine(exit.stderr_bytes);
  return line.empty() ? how : absl::StrCat(how, ": ", line);
}

}  // namespace

absl::Status StudyProcess::Start(const std::string& order) {
  absl::StatusOr<std::unique_ptr<Child>> child =
      Child::Start({.program = program_.path, .args = program_.args});
  if (!child.ok()) return WithError(child.status(), ErrorCode::kProgramMissing, program_.path);
  // Met again as a process that ends without a word.
  (*child)->WriteFrame(order, kOrderTimeout).IgnoreError();
  const std::lock_guard<std::mutex> lock(mutex_);
  child_ = *std::move(child);
  if (interrupted_) child_->Kill(SIGTERM);
  return absl::OkStatus();
}

void StudyProcess::Interrupt() {
  const std::lock_guard<std::mutex> lock(mutex_);
  interrupted_ = true;
  if (child_ != nullptr) child_->Kill(SIGTERM);
}

void StudyProcess::PassOn(const std::string& name) {
  const std::string& said = child_->stderr_bytes();
  absl::string_view news = said;
  // Where the beginning was dropped meanwhile, a part is said again.
  if (absl::StartsWith(said, told_)) news.remove_prefix(told_.size());
  const size_t end = news.rfind('\n');
  if (end == absl::string_view::npos) return;
  news = news.substr(0, end + 1);
  for (const absl::string_view line : absl::StrSplit(news, '\n', absl::SkipWhitespace())) {
    LogWarning(absl::StrCat(name, ": ", std::string(line)));
  }
  told_ = said.substr(0, news.data() + news.size() - said.data());
}

std::string StudyProcess::Listen(const std::string& name,
                                 const std::function<void(const v1::StudyReport&)>& hear) {
  absl::Time kill_at = absl::InfiniteFuture();
  const absl::Time prepared_by = Clock::Real().SteadyNow() + kPrepareTimeout;
  bool prepared = false;
  while (true) {
    const absl::StatusOr<std::string> frame = child_->ReadFrame(kListenInterval);
    PassOn(name);
    v1::StudyReport report;
    if (frame.ok() && report.ParseFromString(*frame)) {
      prepared = true;  // It says nothing before.
      hear(report);
    }
    if (!frame.ok() && !absl::IsDeadlineExceeded(frame.status())) break;
    const absl::Time now = Clock::Real().SteadyNow();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (interrupted_ && kill_at == absl::InfiniteFuture()) kill_at = now + kEndTimeout;
    }
    if (now >= kill_at || (!prepared && now >= prepared_by)) child_->Kill();
  }
  // Its stdout is closed: it has ended, or is about to.
  absl::StatusOr<ExitInfo> exit = child_->Wait(kEndTimeout);
  if (!exit.ok()) {
    child_->Kill();
    exit = child_->Wait(kEndTimeout);
  }
  PassOn(name);
  if (!exit.ok()) return std::string(exit.status().message());
  if (exit->ok()) return "";
  const bool was_late = !prepared && Clock::Real().SteadyNow() >= prepared_by;
  return absl::StrCat(
      CrashText(*exit),
      was_late ? absl::StrCat(", not prepared within ", absl::FormatDuration(kPrepareTimeout))
               : "");
}

absl::StatusOr<std::string> StudyProcess::Create(const StudySpec& spec, const std::string& title) {
  v1::StudyOrder order;
  order.set_database(database_);
  *order.mutable_create()->mutable_spec() = ToProto(spec);
  order.mutable_create()->set_title(title);
  RETURN_IF_ERROR(Start(order.SerializeAsString()));
  absl::StatusOr<std::string> id = absl::UnknownError("");
  bool said = false;
  const std::string crash = Listen(absl::StrCat("preparing ", title), [&](const auto& report) {
    if (report.has_created()) id = report.created();
    if (report.has_end()) id = FromProto(report.end()).error;
    said = said || report.has_created() || report.has_end();
  });
  if (said) return id;
  return MakeError(ErrorCode::kInternal,
                   absl::StrCat("the process that prepared it crashed: ", crash), title,
                   "the daemon goes on; please report it with what was submitted");
}

absl::StatusOr<StudyProcessEnd> StudyProcess::Run(const std::string& id, const std::string& tracker,
                                                  const StudyProcessWatch& watch) {
  v1::StudyOrder order;
  order.set_database(database_);
  order.mutable_run()->set_study_id(id);
  order.mutable_run()->set_tracker(tracker);
  order.mutable_run()->set_cache(program_.cache);
  bool prepared = false;
  const auto note_prepared = [&] {
    if (!std::exchange(prepared, true) && watch.on_prepared != nullptr) watch.on_prepared();
  };
  if (const absl::Status started = Start(order.SerializeAsString()); !started.ok()) {
    note_prepared();
    return started;
  }
  StudyProcessEnd end;
  bool said = false;
  const std::string crash = Listen(absl::StrCat("study ", id), [&](const auto& report) {
    note_prepared();
    if (report.has_progress()) {
      absl::StatusOr<StudyProgress> progress = FromProto(report.progress());
      if (!progress.ok()) return;
      if (watch.on_progress != nullptr) watch.on_progress(*progress);
      end.progress = *std::move(progress);
    }
    if (!report.has_end()) return;
    said = true;
    end.ending = FromProto(report.end());
  });
  note_prepared();
  // What it has said is stored: how the process went afterwards is no matter of the study.
  if (!said) end.crash = crash.empty() ? "it ended without a word" : crash;
  return end;
}

}  // namespace burnish
