// Jobs whose leases end without a result, and when to give them up.
//
// Three kinds of ends. A *loss* (a worker's fault, its silence, a lease that outlasts the job's
// limit) may be the job's doing: some candidates do take down the machine that they run on. Three
// losses on three different workers, each of which does well otherwise, poison the job: nobody else
// is to suffer from it. An *interruption* (the worker was restarted or evicted, its connection
// closed, somebody killed what ran) comes from outside and is no evidence, however often it
// happens; but a process that ends over a job may be the job's doing, and the second of another
// worker parks it. A *refusal* says that the worker cannot do the job as it is asked to: its
// tuner's fault, so that the worker gets no pause. What nobody can decide is parked: given back
// without a verdict.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tracker/tracker_core.h"

namespace burnish {
namespace {

// A worker does well when at most one in kEndsPerLoss of its last leases for other jobs was lost.
// At that rate a good job meets three such losses once in 512 times; a worker that restarts every
// few jobs, or whose disk is full, loses far more. Chosen, not tuned.
constexpr int64_t kEndsPerLoss = 8;
// From which interruption on a job pauses: two come of any restart of a farm's worker.
constexpr int kInterruptionsFree = 3;

std::string Texts(const TrackedJob& job) {
  std::vector<std::string> texts;
  for (const TrackedJob::Loss& loss : job.losses) texts.push_back(loss.text);
  if (!job.last_interruption.empty()) texts.push_back(job.last_interruption);
  return absl::StrJoin(texts, "; ");
}

}  // namespace

void TrackerCore::Lose(absl::Time now, const TrackedJob::Place& place, const std::string& text,
                       bool timed_out) {
  WorkerState& worker = *place.worker;
  const SlotState& slot = worker.slots[place.slot_index];
  TrackedJob& job = *slot.job;
  worker.NoteEnd(job.spec.id, /*lost=*/true);
  // The epoch lets a worker that comes back take its loss back (Adopt).
  job.losses.push_back({.worker_id = worker.id,
                        .lease_epoch = slot.lease_epoch,
                        .worker_done_count = worker.done_count,
                        .text = text,
                        .timed_out = timed_out});
  job.ChangeLine();
  EndLease(place);
  job.places.empty() ? GoOn(now, job, /*was_lost=*/true) : OfferCopy(now, job);
}

void TrackerCore::Interrupt(absl::Time now, const TrackedJob::Place& place,
                            const std::string& text) {
  TrackedJob& job = *place.worker->slots[place.slot_index].job;
  ++counters_.interruptions;
  // As for the worker: one that is restarted again and again does not do well.
  place.worker->NoteEnd(job.spec.id, /*lost=*/true);
  job.last_interruption = text;
  if (++job.interruption_count >= kInterruptionsFree) {
    const int doublings = std::min(job.interruption_count - kInterruptionsFree, 20);
    job.paused_until = now + std::min(options_.interruption_pause_max,
                                      options_.interruption_pause_min * (int64_t{1} << doublings));
  }
  EndLease(place);
  job.places.empty() ? GoOn(now, job, /*was_lost=*/false) : OfferCopy(now, job);
}

void TrackerCore::Refuse(absl::Time now, const TrackedJob::Place& place, const std::string& text) {
  const SlotState& slot = place.worker->slots[place.slot_index];
  TrackedJob& job = *slot.job;
  ++counters_.refusals;
  job.losses.push_back({.worker_id = place.worker->id,
                        .lease_epoch = slot.lease_epoch,
                        .text = text,
                        .refused = true});
  job.ChangeLine();
  EndLease(place);
  job.places.empty() ? GoOn(now, job, /*was_lost=*/true) : OfferCopy(now, job);
}

void TrackerCore::GoOn(absl::Time now, TrackedJob& job, bool was_lost) {
  const int refuser_count = job.RefusersCount();
  if (job.LosersCount() >= options_.losses_max) {
    // The last of its workers has had no chance yet to show that it does well.
    undecided_[job.spec.id] = now + options_.verdict_timeout;
    Judge(now, job);
  } else if (job.DeadCount() >= options_.deaths_max) {
    Park(now, job, absl::StrCat("the processes of ", job.DeadCount(), " workers ended over it"));
  } else if (refuser_count >= options_.refusals_max ||
             (was_lost && refuser_count > 0 && !HasUntriedWorker(job.line))) {
    Park(now, job, absl::StrCat("refused by ", refuser_count, " workers"));
  } else if (was_lost && static_cast<int>(job.losses.size()) >= options_.losses_max &&
             !HasUntriedWorker(job.line)) {
    Park(now, job, "no further worker can try it");
  } else if (!was_lost && job.interruption_count >= options_.interruptions_max) {
    Park(now, job, absl::StrCat("interrupted ", job.interruption_count, " times"));
  } else if (now < job.paused_until) {
    Defer(job, job.paused_until);
  } else {
    Requeue(now, job);
  }
}

void TrackerCore::JudgeAll(absl::Time now) {
  // Ids first: a verdict takes the job out of the map.
  std::vector<std::string> ids;
  for (const auto& [id, verdict_at] : undecided_) ids.push_back(id);
  for (const std::string& id : ids) Judge(now, *book_.Find(id));
}

void TrackerCore::Judge(absl::Time now, TrackedJob& job) {
  std::set<std::string> witnesses;
  for (const TrackedJob::Loss& loss : job.losses) {
    if (!loss.refused && DoesWell(job, loss)) witnesses.insert(loss.worker_id);
  }
  if (static_cast<int>(witnesses.size()) >= options_.losses_max) {
    ++counters_.poisoned;
    std::string message =
        absl::StrCat("given up after ", job.losses.size(), " losses on ", witnesses.size(),
                     " workers that do well otherwise: ", Texts(job));
    Note(TrackerEvent::Kind::kGivenUp, job.spec.id,
         absl::StrCat("of study ", job.spec.study, " is poisoned: ", message));
    Finish(now, job, Failure{.kind = FailureKind::kPoisoned, .message = std::move(message)}, {});
  } else if (now >= undecided_.at(job.spec.id)) {
    Park(now, job, absl::StrCat("only ", witnesses.size(), " of its workers do well otherwise"));
  }
}

void TrackerCore::Park(absl::Time now, TrackedJob& job, absl::string_view why) {
  ++counters_.parked;
  std::string message = absl::StrCat("parked without a verdict, ", why,
                                     "; try it again when the farm is well: ", Texts(job));
  Note(TrackerEvent::Kind::kGivenUp, job.spec.id,
       absl::StrCat("of study ", job.spec.study, " is ", message));
  Finish(now, job, Failure{.kind = FailureKind::kParked, .message = std::move(message)}, {});
}

bool TrackerCore::DoesWell(const TrackedJob& job, const TrackedJob::Loss& loss) const {
  const auto entry = workers_.find(loss.worker_id);
  if (entry == workers_.end() || entry->second.lost) return false;
  const WorkerState& worker = entry->second;
  // It came back and finished another job: not the machine, but this job is what failed there.
  if (worker.done_count <= loss.worker_done_count) return false;
  int64_t other_count = 0, lost_count = 0;
  for (const LeaseEnd& end : worker.recent_ends) {
    if (end.job_id == job.spec.id) continue;
    ++other_count;
    lost_count += end.lost ? 1 : 0;
  }
  return lost_count * kEndsPerLoss <= other_count;
}

bool TrackerCore::HasUntriedWorker(const Line& line) const {
  return std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
    const WorkerState& worker = entry.second;
    return worker.TakesJobs() &&
           !std::binary_search(line.avoided.begin(), line.avoided.end(), worker.id) &&
           std::any_of(worker.slots.begin(), worker.slots.end(),
                       [&](const SlotState& slot) { return Meets(slot.info, line.demands); });
  });
}

}  // namespace burnish
