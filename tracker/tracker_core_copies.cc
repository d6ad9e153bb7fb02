// Second leases. A worker that is stopped, or whose host swaps, keeps its connection and says
// nothing: its jobs would stand still until its leases end, and whoever waits for one of them with
// them. So a job of such a worker is leased once more, as a copy, to a slot that has nothing else
// to do. The first result stands, and the other slot is told to stop.
//
// Sources: backup tasks (Dean and Ghemawat, "MapReduce", OSDI 2004, section 3.6) and LATE (Zaharia
// et al., "Improving MapReduce Performance in Heterogeneous Environments", OSDI 2008): few copies,
// never in the place of a first execution, and not where the first one failed. Those guess from
// progress who lags, since their nodes do report; here only silence counts. How long a candidate
// takes says nothing of its worker.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tracker/tracker_core.h"

namespace burnish {
namespace {

// How many jobs a slot looks at for one that it may copy.
constexpr int kCopiesSeenMax = 64;

}  // namespace

void TrackerCore::NoteSilence(absl::Time now, WorkerState& worker) {
  if (worker.lost || worker.silent || now - worker.answered_at < options_.copy_silence) return;
  worker.silent = true;
  Note(TrackerEvent::Kind::kSilent, worker.id,
       absl::StrCat("does not call again: silent for ",
                    absl::FormatDuration(now - worker.answered_at)));
  for (const SlotState& slot : worker.slots) {
    if (slot.job != nullptr) OfferCopy(now, *slot.job);
  }
}

void TrackerCore::NoteSpeech(WorkerState& worker) {
  if (worker.silent) Note(TrackerEvent::Kind::kSpoke, worker.id, "calls again");
  worker.silent = false;
  for (SlotState& slot : worker.slots) {
    slot.copied = false;
    // A copy that has begun goes on: nobody knows which of the two is further.
    if (slot.job != nullptr) copyable_.erase(slot.job->queued.order);
  }
}

void TrackerCore::OfferCopy(absl::Time now, TrackedJob& job) {
  if (job.state != State::kLeased || job.places.size() != 1) return;
  const TrackedJob::Place& place = job.places[0];
  // One copy for each time that the worker falls silent: a job that ends whoever tries it is not to
  // go through the farm meanwhile.
  if (!place.worker->silent || place.worker->slots[place.slot_index].copied) return;
  copyable_[job.queued.order] = &job;
  // For a tick when its pause ends.
  if (now < job.paused_until) deferred_.emplace(job.paused_until, job.spec.id);
}

TrackedJob* TrackerCore::NextCopy(absl::Time now, const WorkerState& worker,
                                  const SlotInfo& slot) const {
  int seen_count = 0;
  for (const auto& [order, job] : copyable_) {
    if (++seen_count > kCopiesSeenMax) return nullptr;
    // Another slot of the silent worker would be as silent.
    if (job->places[0].worker == &worker || !Meets(slot, job->line.demands)) continue;
    // As a job that waits: it may have to pause, or to await its verdict.
    const bool may_go = now >= job->paused_until && job->LosersCount() < options_.losses_max &&
                        job->DeadCount() < options_.deaths_max;
    if (may_go && !job->Avoids(worker.id) && !IsHeld(*job)) return job;
  }
  return nullptr;
}

bool TrackerCore::IsHeld(const TrackedJob& job) const {
  return std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
    const WorkerState& worker = entry.second;
    return std::any_of(worker.slots.begin(), worker.slots.end(), [&](const SlotState& slot) {
      return std::any_of(slot.held.begin(), slot.held.end(), [&](const HeldState& held) {
        // Also of what was said before anybody had asked for the job.
        return held.lease.job_id == job.spec.id && !held.is_fault && !held.is_withheld &&
               !held.is_foreign && MayHold(worker, slot.info, job, held.lease);
      });
    });
  });
}

}  // namespace burnish
