// The order of what a study's search was told and asked, in the study store: with the seed it
// determines every suggestion. This file alone says how each event is written.
#ifndef TUNER_STUDY_STUDY_LOG_H_
#define TUNER_STUDY_STUDY_LOG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/study_store.h"

namespace burnish {

enum class StudyEventKind {
  kSession,   // A tuner began to run the study.
  kHistory,   // A task's search starts from the records up to a row id.
  kRound,     // Trials were suggested, for the first time.
  kUpdate,    // A task's search was told the results of trials.
  kSnapshot,  // A task's model learned all that the task was told so far.
  kDropped,   // Trials were cancelled: they will have no result.
  // Poisoned trials count for nothing any more: others are made in their place. Without trials:
  // those that this run has parked are taken up by the next one.
  kLifted,
};

struct StudyEvent {
  StudyEventKind kind = StudyEventKind::kSession;
  int task_index = -1;                      // -1: of kSession.
  std::vector<std::string> trial_ids = {};  // Of kRound, kUpdate, kDropped, kLifted.
  int64_t number = 0;  // kSession: its start, wall nanoseconds; kHistory: row id; kRound: how many
                       // trials were asked for, which may be more than were suggested.
  std::string snapshot_id = {};  // Of kSnapshot.

  bool operator==(const StudyEvent&) const = default;
};

// DATA_LOSS: an entry that is not known here; a replay without it would be wrong.
StudyLogEntry ToLog(const StudyEvent& event);
absl::StatusOr<StudyEvent> FromLog(const StudyLogEntry& entry);

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
