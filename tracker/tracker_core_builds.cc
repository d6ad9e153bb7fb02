// What builders deliver: bytes that workers will run. Only what is made under a lease of a build is
// taken, so that nobody but a builder of this farm has put what a runner fetches.
#include "absl/strings/str_format.h"
#include "tracker/tracker_core.h"

namespace burnish {

absl::Status TrackerCore::CheckBuildLease(absl::Time now, const std::string& worker_id,
                                          int64_t incarnation, const Lease& lease) const {
  const auto not_yet = [&] {
    return absl::UnavailableError(absl::StrFormat("worker %s has no lease of job %s yet; try again",
                                                  worker_id, lease.job_id));
  };
  const auto entry = workers_.find(worker_id);
  if (entry == workers_.end() || entry->second.incarnation != incarnation) {
    // Within the time of a lease whoever has one from the tracker before this one says so.
    if (now < started_at_ + options_.lease_duration) return not_yet();
  } else {
    const WorkerState& worker = entry->second;
    const TrackedJob* job = book_.Find(lease.job_id);
    const bool is_waiting =
        job != nullptr && (job->state == State::kQueued || job->state == State::kDeferred);
    for (const SlotState& slot : worker.slots) {
      if (slot.info.kind != JobKind::kBuild) continue;
      // It says that it executes a job which its tuner has not submitted to this tracker yet.
      const Orphan* orphan = slot.KeptOrphan();
      if (orphan != nullptr && orphan->lease == lease) return not_yet();
      if (job == nullptr || !MayHold(worker, slot.info, *job, lease)) continue;
      if (slot.job == job) return absl::OkStatus();
      // It has not said so yet, or was cut off: its next report may give it the job (again).
      if (is_waiting) return not_yet();
    }
  }
  return absl::PermissionDeniedError(
      absl::StrFormat("worker %s has no lease of a build under job %s: what is built without one "
                      "is not stored; drop it",
                      worker_id, lease.job_id));
}

}  // namespace burnish
