// The store of studies: what was submitted, its state, and what a tuner needs to go on after a
// crash as if nothing had happened. What was measured is in the RecordStore.
#ifndef DB_STUDY_STORE_H_
#define DB_STUDY_STORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/study.h"

namespace burnish {

struct Study {
  std::string id;      // 1..128 bytes.
  std::string title;   // For people: the model's name.
  std::string target;  // Canonical text.
  StudyState state = StudyState::kQueued;
  std::string spec;        // A serialised v1.StudySpec; opaque to the store.
  std::string detail;      // Why it is in its state, for people; may be empty.
  int64_t created_ns = 0;  // Wall time, nanoseconds since 1970.
  int64_t updated_ns = 0;

  bool operator==(const Study&) const = default;
};

struct StudyTask {
  std::string workload_id;  // 32 raw bytes.
  std::string name;         // For people, such as "conv2d 14x14 256-256 3x3".
  double weight = 1;        // How often the model runs it.

  bool operator==(const StudyTask&) const = default;
};

// A job that was submitted to the tracker and whose result is not recorded yet.
struct OpenJob {
  std::string job_id;  // 1..128 bytes.
  std::string trial_id;
  int32_t task_index = 0;
  std::string payload;  // Opaque: what it takes to submit the job again.

  bool operator==(const OpenJob&) const = default;
};

// Who runs a study, and until when nobody else may. Wall time, since owners are processes, of
// whatever machine has the store.
struct StudyLease {
  std::string owner;  // 1..256 bytes; empty: nobody has run it, or whoever did gave it back.
  int64_t expires_ns = 0;

  bool operator==(const StudyLease&) const = default;
};

struct StudySummary {
  Study study;
  int32_t task_count = 0;
  int64_t log_length = 0;
  int64_t open_job_count = 0;
  StudyLease lease = {};
  int32_t crash_count = 0;  // Processes that ended while they ran it, since somebody resumed it.

  bool operator==(const StudySummary&) const = default;
};

struct StudyQuery {
  std::optional<StudyState> state;
  std::string after_id;  // Cursor: empty starts; then the last id of the page before.
  int limit = 100;       // 1..10000
};

// Thread-safe. Errors of all calls as in RecordStore, and NOT_FOUND for a study that is not there.
// Every call may be repeated: a change that was made already is OK.
class StudyStore {
 public:
  virtual ~StudyStore() = default;

  // ALREADY_EXISTS: another study has that id.
  virtual absl::Status Create(const Study& study, absl::Span<const StudyTask> tasks) = 0;

  virtual absl::StatusOr<StudySummary> Get(absl::string_view id) const = 0;
  virtual absl::StatusOr<std::vector<StudyTask>> Tasks(absl::string_view id) const = 0;

  // Newest first.
  virtual absl::StatusOr<std::vector<StudySummary>> List(const StudyQuery& query) const = 0;

  // FAILED_PRECONDITION: a state that cannot follow the present one (CanFollow).
  virtual absl::Status SetState(absl::string_view id, StudyState state, absl::string_view detail,
                                int64_t now_ns) = 0;

  // Another specification from now on, and the study waits for a tuner, also one that was done:
  // both or nothing. `detail`: as for SetState.
  virtual absl::Status Requeue(absl::string_view id, absl::string_view spec,
                               absl::string_view detail, int64_t now_ns) = 0;

  // Takes the lease, or renews it. It is another's until it has expired at `now_ns`, or its owner
  // is `dead_owner`, of which the caller knows that it will never write again. FAILED_PRECONDITION:
  // another's; then nothing was changed.
  virtual absl::Status TakeLease(absl::string_view id, const StudyLease& lease, int64_t now_ns,
                                 absl::string_view dead_owner) = 0;
  // Gives it back; OK where it is another's by now, or nobody's.
  virtual absl::Status ReleaseLease(absl::string_view id, absl::string_view owner) = 0;
  virtual absl::Status SetCrashCount(absl::string_view id, int32_t count) = 0;

  // The order of updates and snapshot switches. `first_sequence`: the number of the first entry,
  // counted from 0. Entries that are there already must be the same, and no number may be left
  // out; else FAILED_PRECONDITION: another tuner runs this study.
  virtual absl::Status AppendLog(absl::string_view id, int64_t first_sequence,
                                 absl::Span<const StudyLogEntry> entries) = 0;
  // At most `limit` entries from number `first_sequence` on; empty at the end.
  virtual absl::StatusOr<std::vector<StudyLogEntry>> ReadLog(absl::string_view id,
                                                             int64_t first_sequence,
                                                             int limit) const = 0;

  // A job of the same id is replaced.
  virtual absl::Status PutJobs(absl::string_view id, absl::Span<const OpenJob> jobs) = 0;
  // Ids that are not there are passed over.
  virtual absl::Status RemoveJobs(absl::string_view id, absl::Span<const std::string> job_ids) = 0;
  // By job id.
  virtual absl::StatusOr<std::vector<OpenJob>> OpenJobs(absl::string_view id) const = 0;
};

// Whether whoever asks for `wanted` may have it, where `held` is the lease that is there.
bool MayTakeLease(const StudyLease& held, const StudyLease& wanted, int64_t now_ns,
                  absl::string_view dead_owner);

// What every store refuses, and how it says so.
absl::Status ValidateStudy(const Study& study, absl::Span<const StudyTask> tasks);
absl::Status ValidateJob(const OpenJob& job);
absl::Status ValidateLease(const StudyLease& lease);
absl::Status StudyNotFound(absl::string_view id);
absl::Status StudyExists(absl::string_view id);
absl::Status StateCannotFollow(absl::string_view id, StudyState from, StudyState to);
absl::Status LeaseHeld(absl::string_view id, absl::string_view owner);
absl::Status LogConflict(absl::string_view id, int64_t sequence);
absl::Status LogGap(absl::string_view id, int64_t first_sequence, int64_t log_length);

}  // namespace burnish

#endif  // DB_STUDY_STORE_H_
