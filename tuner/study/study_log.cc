#include "tuner/study/study_log.h"

#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "db/damaged_study.h"

namespace burnish {
namespace {

constexpr int kPageEntries = 1000;

constexpr absl::string_view kSessionPrefix = "session/";
constexpr absl::string_view kHistoryPrefix = "history/";
constexpr absl::string_view kRoundPrefix = "round/";
constexpr absl::string_view kDropped = "dropped";
constexpr absl::string_view kLifted = "lifted";
constexpr absl::string_view kParked = "parked";
constexpr absl::string_view kPausedPrefix = "paused/";  // Then a time, a slash and a worker's id.

// The store knows three kinds of entries and this log needs nine: the further ones are phases,
// with a name in a column that a phase does not need otherwise. So no schema had to change. Phases
// are named by their snapshot id.
std::string PhaseName(const StudyEvent& event) {
  switch (event.kind) {
    case StudyEventKind::kSession:
      return absl::StrCat(kSessionPrefix, event.number);
    case StudyEventKind::kHistory:
      return absl::StrCat(kHistoryPrefix, event.number);
    case StudyEventKind::kRound:
      return absl::StrCat(kRoundPrefix, event.number);
    case StudyEventKind::kDropped:
      return std::string(kDropped);
    case StudyEventKind::kLifted:
      return std::string(kLifted);
    case StudyEventKind::kParked:
      return std::string(kParked);
    case StudyEventKind::kPaused:
      return absl::StrCat(kPausedPrefix, event.number, "/", event.worker_id);
    case StudyEventKind::kUpdate:
    case StudyEventKind::kSnapshot:
      return event.snapshot_id;
  }
  return "";
}

bool ParsePause(absl::string_view phase, StudyEvent& event) {
  if (!absl::ConsumePrefix(&phase, kPausedPrefix)) return false;
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(phase, absl::MaxSplits('/', 1));
  if (parts.second.empty() || !absl::SimpleAtoi(parts.first, &event.number)) return false;
  event.kind = StudyEventKind::kPaused;
  event.worker_id = std::string(parts.second);
  return true;
}

}  // namespace

bool IsOfTask(StudyEventKind kind) {
  return kind != StudyEventKind::kSession && kind != StudyEventKind::kParked &&
         kind != StudyEventKind::kPaused;
}

StudyLogEntry ToLog(const StudyEvent& event) {
  StudyLogKind kind = StudyLogKind::kPhase;
  if (event.kind == StudyEventKind::kUpdate) kind = StudyLogKind::kUpdate;
  if (event.kind == StudyEventKind::kSnapshot) kind = StudyLogKind::kSnapshot;
  return {.kind = kind,
          .task_index = event.task_index,
          .trial_ids = event.trial_ids,
          .snapshot_id = PhaseName(event)};
}

absl::StatusOr<StudyEvent> FromLog(const StudyLogEntry& entry) {
  StudyEvent event{.task_index = entry.task_index, .trial_ids = entry.trial_ids};
  switch (entry.kind) {
    case StudyLogKind::kUpdate:
      event.kind = StudyEventKind::kUpdate;
      return event;
    case StudyLogKind::kSnapshot:
      event.kind = StudyEventKind::kSnapshot;
      event.snapshot_id = entry.snapshot_id;
      return event;
    case StudyLogKind::kPhase:
      break;
  }
  if (entry.snapshot_id == kDropped) {
    event.kind = StudyEventKind::kDropped;
    return event;
  }
  if (entry.snapshot_id == kParked) {
    event.kind = StudyEventKind::kParked;
    return event;
  }
  if (entry.snapshot_id == kLifted) {
    // Version 0.1 had no word of its own for a run that ended with parked trials.
    event.kind = entry.trial_ids.empty() ? StudyEventKind::kParked : StudyEventKind::kLifted;
    return event;
  }
  if (ParsePause(entry.snapshot_id, event)) return event;
  const std::pair<absl::string_view, StudyEventKind> kinds[] = {
      {kSessionPrefix, StudyEventKind::kSession},
      {kHistoryPrefix, StudyEventKind::kHistory},
      {kRoundPrefix, StudyEventKind::kRound}};
  for (const auto& [prefix, kind] : kinds) {
    absl::string_view rest = entry.snapshot_id;
    if (!absl::ConsumePrefix(&rest, prefix) || !absl::SimpleAtoi(rest, &event.number)) continue;
    event.kind = kind;
    return event;
  }
  // To pass over what a later version wrote would replay another search than the one that ran.
  return absl::DataLossError(
      absl::StrCat("study log: got phase '", entry.snapshot_id, "', which is not known here"));
}

std::vector<PausedWorker> PausedWorkers(absl::Span<const StudyEvent> events, int64_t now_ns) {
  std::map<std::string, PausedWorker> paused;
  for (const StudyEvent& event : events) {
    if (event.kind == StudyEventKind::kSession) paused.clear();
    if (event.kind != StudyEventKind::kPaused) continue;
    PausedWorker& worker = paused[event.worker_id];
    worker.worker_id = event.worker_id;
    worker.until_ns = event.number;
    ++worker.count;
  }
  std::vector<PausedWorker> result;
  for (auto& [id, worker] : paused) {
    if (now_ns < worker.until_ns) result.push_back(std::move(worker));
  }
  return result;
}

absl::StatusOr<StudyLog> StudyLog::Open(StudyStore* store, const std::string& study_id) {
  StudyLog log(store, study_id);
  while (true) {
    const int64_t first = static_cast<int64_t>(log.events_.size());
    ASSIGN_OR_RETURN(const std::vector<StudyLogEntry> page,
                     store->ReadLog(study_id, first, kPageEntries));
    for (const StudyLogEntry& entry : page) {
      absl::StatusOr<StudyEvent> event = FromLog(entry);
      if (!event.ok()) return WithDamagedStudy(study_id, event.status());
      log.events_.push_back(*std::move(event));
    }
    if (static_cast<int>(page.size()) < kPageEntries) return log;
  }
}

absl::Status StudyLog::Append(const std::vector<StudyEvent>& events) {
  if (events.empty()) return absl::OkStatus();
  std::vector<StudyLogEntry> entries;
  for (const StudyEvent& event : events) entries.push_back(ToLog(event));
  RETURN_IF_ERROR(store_->AppendLog(study_id_, static_cast<int64_t>(events_.size()), entries));
  events_.insert(events_.end(), events.begin(), events.end());
  return absl::OkStatus();
}

}  // namespace burnish
