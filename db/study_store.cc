#include "db/study_store.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace burnish {
namespace {

constexpr size_t kIdBytesMax = 128;
constexpr size_t kOwnerBytesMax = 256;

bool IdFits(absl::string_view id) { return !id.empty() && id.size() <= kIdBytesMax; }

}  // namespace

absl::Status ValidateStudy(const Study& study, absl::Span<const StudyTask> tasks) {
  if (!IdFits(study.id)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("study: got an id of %d bytes, want 1..%d", study.id.size(), kIdBytesMax));
  }
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].workload_id.size() != 32) {
      return absl::InvalidArgumentError(
          absl::StrFormat("study %s, task %d: got workload_id of %d bytes, want 32", study.id, i,
                          tasks[i].workload_id.size()));
    }
    if (!(tasks[i].weight > 0)) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "study %s, task %d: got weight %g, want > 0", study.id, i, tasks[i].weight));
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateJob(const OpenJob& job) {
  if (IdFits(job.job_id)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("job: got an id of %d bytes, want 1..%d", job.job_id.size(), kIdBytesMax));
}

absl::Status ValidateLease(const StudyLease& lease) {
  if (!lease.owner.empty() && lease.owner.size() <= kOwnerBytesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat("lease: got an owner of %d bytes, want 1..%d",
                                                    lease.owner.size(), kOwnerBytesMax));
}

bool MayTakeLease(const StudyLease& held, const StudyLease& wanted, int64_t now_ns,
                  absl::string_view dead_owner) {
  if (held.owner.empty() || held.owner == wanted.owner) return true;
  return held.expires_ns <= now_ns || held.owner == dead_owner;
}

absl::Status LeaseHeld(absl::string_view id, absl::string_view owner) {
  return absl::FailedPreconditionError(absl::StrCat("study '", id, "' is run by ", owner));
}

absl::Status StudyNotFound(absl::string_view id) {
  return absl::NotFoundError(
      absl::StrCat("study '", id, "' is not in this database; hint: `tuner list` shows what is"));
}

absl::Status StudyExists(absl::string_view id) {
  return absl::AlreadyExistsError(absl::StrCat("another study has the id '", id, "'"));
}

absl::Status StateCannotFollow(absl::string_view id, StudyState from, StudyState to) {
  return absl::FailedPreconditionError(absl::StrCat("study '", id, "' is ", StudyStateName(from),
                                                    " and cannot become ", StudyStateName(to)));
}

absl::Status LogConflict(absl::string_view id, int64_t sequence) {
  return absl::FailedPreconditionError(absl::StrCat("study '", id, "': log entry ", sequence,
                                                    " is there with other content; hint: another "
                                                    "tuner runs this study"));
}

absl::Status LogGap(absl::string_view id, int64_t first_sequence, int64_t log_length) {
  return absl::FailedPreconditionError(absl::StrCat("study '", id, "': got log entry ",
                                                    first_sequence, ", want at most ", log_length));
}

}  // namespace burnish
