// The order of what a study's search was told and asked, in the study store: with the seed it
// determines every suggestion. This file alone says how each event is written.
#ifndef TUNER_STUDY_STUDY_LOG_H_
#define TUNER_STUDY_STUDY_LOG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "db/study_store.h"
#include "tuner/study/study_types.h"

namespace burnish {

enum class StudyEventKind {
  kSession,   // A tuner began to run the study.
  kHistory,   // A task's search starts from the records up to a row id.
  kRound,     // Trials were suggested, for the first time.
  kUpdate,    // A task's search was told the results of trials.
  kSnapshot,  // A task's model learned all that the task was told so far.
  kDropped,   // Trials were cancelled: they will have no result.
  kLifted,    // Poisoned trials count for nothing any more: others are made in their place.
  kParked,    // The run ended with parked trials, which the next one takes up.
  // A worker lied: its results are refused until a time. For people, and only while the session
  // lasts: no search is told of it, and a later run begins without it.
  kPaused,
};

// Of one task; the others are of the whole study.
bool IsOfTask(StudyEventKind kind);

struct StudyEvent {
  StudyEventKind kind = StudyEventKind::kSession;
  int task_index = -1;                      // -1: of the whole study.
  std::vector<std::string> trial_ids = {};  // Of kRound, kUpdate, kDropped, kLifted.
  int64_t number = 0;  // kSession: its start, wall nanoseconds; kHistory: row id; kRound: how many
                       // trials were asked for, which may be more than were suggested; kPaused:
                       // until when, wall nanoseconds.
  std::string snapshot_id = {};  // Of kSnapshot.
  std::string worker_id = {};    // Of kPaused.

  bool operator==(const StudyEvent&) const = default;
};

// DATA_LOSS: an entry that is not known here; a replay without it would be wrong.
StudyLogEntry ToLog(const StudyEvent& event);
absl::StatusOr<StudyEvent> FromLog(const StudyLogEntry& entry);

// By the log, whom the study's last run refuses at `now_ns`, wall time; by worker.
std::vector<PausedWorker> PausedWorkers(absl::Span<const StudyEvent> events, int64_t now_ns);

// The log of one study, of which this process is the only writer.
class StudyLog {
 public:
  // `store` outlives the log. Reads everything.
  static absl::StatusOr<StudyLog> Open(StudyStore* store, const std::string& study_id);

  // As read and appended.
  const std::vector<StudyEvent>& events() const { return events_; }

  // All or none are on the disk. FAILED_PRECONDITION: another process writes this log too.
  absl::Status Append(const std::vector<StudyEvent>& events);

 private:
  StudyLog(StudyStore* store, std::string study_id)
      : store_(store), study_id_(std::move(study_id)) {}

  StudyStore* store_;
  std::string study_id_;
  std::vector<StudyEvent> events_;
};

}  // namespace burnish

#endif  // TUNER_STUDY_STUDY_LOG_H_
