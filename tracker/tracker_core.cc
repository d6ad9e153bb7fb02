// The side of the tuners, and what time alone changes. The side of the workers is in
// tracker_core_workers.cc, what people see in tracker_core_status.cc.
#include "tracker/tracker_core.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "tracker/retry_after.h"

namespace burnish {
namespace {

// Bounds of a guess: a tracker that has just started knows no rate and would send everybody away
// for minutes. Not tuned.
constexpr absl::Duration kRetryAfterMin = absl::Milliseconds(100);
constexpr absl::Duration kRetryAfterMax = absl::Seconds(2);
// Only a hint of where to look, so it may be forgotten; this bounds it.
constexpr size_t kMaybeOrphansMax = 1 << 18;

}  // namespace

TrackerCore::TrackerCore(const TrackerOptions& options, absl::Time now)
    : options_(options),
      started_at_(now),
      next_epoch_(options.first_epoch),
      book_({.all = {.jobs = options.jobs_max,
                     .bytes = options.job_bytes_max,
                     .results = options.results_max,
                     .result_bytes = options.result_bytes_max,
                     .lanes = options.lanes_max},
             .share_min = {.jobs = options.share_jobs_min,
                           .bytes = options.share_bytes_min,
                           .results = options.share_jobs_min,
                           .result_bytes = options.share_bytes_min,
                           .lanes = options.share_lanes_min},
             .tuners = options.tuners_max,
             .tuners_share_min = options.share_tuners_min,
             .acknowledged = options.acknowledged_memory}),
      queues_(options.queue_quantum) {
  CHECK_GT(options.first_epoch, 0);
  CHECK_GT(options.losses_max, 0);
}

absl::Status TrackerCore::FullError(int64_t excess) {
  ++counters_.refused_full;
  absl::Status status = absl::ResourceExhaustedError(absl::StrFormat(
      "the tracker is full, or this tuner's share of it is: %d jobs too many", excess));
  // When the jobs in excess will be done at the present rate.
  const double rate = std::max(finished_rate_.per_second(), 1e-3);
  const absl::Duration wait = absl::Seconds(static_cast<double>(excess) / rate);
  SetRetryAfter(std::clamp(wait, kRetryAfterMin, kRetryAfterMax), status);
  return status;
}

absl::StatusOr<int64_t> TrackerCore::Submit(absl::Time now, const std::string& tuner_id,
                                            std::vector<JobSpec> jobs, bool resubmission,
                                            const std::string& client) {
  const bool is_known = book_.FindTuner(tuner_id) != nullptr;
  // Refused before anything is changed: a call that is refused must leave nothing behind, since the
  // tuner sends the same jobs again.
  if (!is_known && !book_.HasRoomForTuner(client)) return FullError(1);
  for (const JobSpec& spec : jobs) {
    const TrackedJob* known = book_.Find(spec.id);
    if (known == nullptr || known->tuner_id == tuner_id) continue;
    // Whoever may submit it again has its result.
    return absl::PermissionDeniedError(absl::StrFormat(
        "job %s is another tuner's; give each tuner's jobs ids of their own", spec.id));
  }
  if (const int64_t excess = book_.Excess(tuner_id, client, jobs); excess > 0)
    return FullError(excess);
  Tuner& tuner = Meet(now, tuner_id, client);
  for (JobSpec& spec : jobs) {
    // At least once, by design: after a lost answer or a restart the tuner sends all that is open.
    // What is known keeps its place, its worker and its losses.
    if (TrackedJob* known = book_.Find(spec.id)) {
      ++counters_.resubmitted;
      book_.Renew(*known);
      if (resubmission) NoteFromBefore(now, *known);
      // Its result has a new number (Renew), so a hanging Collect may have something to say.
      if (known->state == State::kDone) NudgeTuner(tuner);
      // Else a message that was long under way.
    } else if (!book_.IsAcknowledgedBy(tuner_id, spec.id)) {
      ++counters_.submitted;
      TrackedJob& job = book_.Add(tuner, std::move(spec));
      job.from_before = resubmission;
      PlaceNew(now, job, resubmission);
    }
  }
  Dispatch(now);
  return tuner.session;
}

Tuner& TrackerCore::Meet(absl::Time now, const std::string& tuner_id, const std::string& client) {
  const bool is_known = book_.FindTuner(tuner_id) != nullptr;
  if (!is_known) {
    Note(TrackerEvent::Kind::kMet, tuner_id,
         client.empty() ? "is here" : absl::StrCat("is here, from ", client));
  }
  return book_.Meet(now, tuner_id, is_known ? 0 : NewEpoch(), client);
}

void TrackerCore::PlaceNew(absl::Time now, TrackedJob& job, bool resubmission) {
  job.state = State::kDeferred;  // Nowhere yet.
  if (maybe_orphans_.erase(job.spec.id) > 0) {
    const bool is_taken_over = TakeOverFromWorker(now, job);
    // One is enough. The others, or one that cannot have the job, would keep their slots from work.
    DropOrphansOf(job.spec.id);
    if (is_taken_over) return;
  }
  // After a restart of the tracker workers still execute jobs that only they know of. A job that
  // was there before waits for their first reports; else a second worker would begin what the first
  // has nearly finished.
  if (resubmission && now < started_at_ + options_.recovery_period) {
    Defer(job, started_at_ + options_.recovery_period);
    return;
  }
  Requeue(now, job);
}

void TrackerCore::NoteFromBefore(absl::Time now, TrackedJob& job) {
  if (std::exchange(job.from_before, true)) return;
  // A submission that was long under way came here first, as if nobody had seen the job. What a
  // worker has said of the job since may be true after all.
  if (maybe_orphans_.erase(job.spec.id) == 0) return;
  for (auto& [id, worker] : workers_) {
    for (SlotState& slot : worker.slots) {
      for (HeldState& held : slot.held) {
        if (held.lease.job_id == job.spec.id) held.is_foreign = false;
      }
    }
  }
  // Else somebody is at it already, or its verdict is due.
  if (job.state == State::kQueued) TakeOverFromWorker(now, job);
}

void TrackerCore::DropOrphansOf(const std::string& job_id) {
  for (auto& [id, worker] : workers_) {
    for (SlotState& slot : worker.slots) {
      if (!slot.orphan.has_value() || slot.orphan->lease.job_id != job_id) continue;
      slot.orphan.reset();
      Nudge(worker);  // It is told to stop.
    }
  }
}

// A worker executes the job, or has its result, from before this tracker was started. The job waits
// for somebody.
bool TrackerCore::TakeOverFromWorker(absl::Time now, TrackedJob& job) {
  // All workers: this happens only after a restart, for ids that a worker has reported.
  for (auto& [id, worker] : workers_) {
    for (size_t i = 0; i < worker.slots.size(); ++i) {
      SlotState& slot = worker.slots[i];
      const Orphan* orphan = slot.KeptOrphan();
      if (orphan != nullptr && orphan->lease.job_id == job.spec.id &&
          MayHold(worker, slot.info, job, orphan->lease)) {
        Adopt(now, worker, static_cast<int>(i), job, Lease(orphan->lease));
        return true;
      }
      for (const HeldState& held : slot.held) {
        // A fault is no result, nor is what does not come. The job is tried elsewhere.
        if (held.lease.job_id != job.spec.id || held.is_fault || held.is_withheld) continue;
        if (!MayHold(worker, slot.info, job, held.lease)) continue;
        // The worker has told an earlier tracker and keeps the outcome until it may discard it. The
        // job must not be queued meanwhile, and its payload is asked for.
        Fetch(now, worker, static_cast<int>(i), job);
        Nudge(worker);
        return true;
      }
    }
  }
  return false;
}

void TrackerCore::Fetch(absl::Time now, WorkerState& worker, int slot_index, TrackedJob& job) {
  Detach(job);
  job.state = State::kFetching;
  job.places = {{.worker = &worker, .slot_index = slot_index}};
  worker.slots[slot_index].fetching.emplace(job.spec.id, now);
}

Collected TrackerCore::Collect(absl::Time now, const CollectRequest& request) {
  Tuner& tuner = Meet(now, request.tuner_id, request.client);
  // First, as it makes room, and so that no result goes out again that this very call says is safe.
  std::set<std::string> workers;
  for (const std::string& job_id : request.acknowledged) Acknowledge(tuner, job_id, workers);
  TellDiscards(workers);
  // Numbers of another session say nothing here.
  const bool is_same_session = request.session == tuner.session;
  // Numbers begin anew with a tracker, sessions tell two of them apart. From another session all is
  // sent again; the tuner knows duplicates by their ids.
  const int64_t seen = is_same_session ? request.seen_number : 0;
  for (const int64_t number : request.unwanted) {
    const auto result = tuner.results.find(number);
    if (is_same_session && result != tuner.results.end()) {
      // Its worker keeps it, for when the job is submitted again after all.
      maybe_orphans_.insert(result->second->spec.id);
      book_.Erase(*result->second, /*acknowledged=*/false);
    }
  }
  Collected collected{.session = tuner.session};
  int64_t bytes = 0;
  for (auto result = tuner.results.upper_bound(seen); result != tuner.results.end(); ++result) {
    const TrackedJob& job = *result->second;
    bytes += job.byte_count;
    const bool fits = bytes <= options_.result_bytes_per_reply_max &&
                      static_cast<int>(collected.results.size()) < options_.results_per_reply_max;
    if (!fits && !collected.results.empty()) break;  // At least one, however large.
    collected.results.push_back({.number = job.number,
                                 .job_id = job.spec.id,
                                 .outcome = job.outcome,
                                 .worker_id = job.source.worker_id,
                                 .worker_address = job.source.address,
                                 .attempt_count = job.attempt_count});
  }
  collected.unmatched = FindUnmatched(&tuner);
  // A tuner that talks to a new tracker is told at once: it has to submit its open jobs again.
  collected.urgent = !collected.results.empty() || request.session != tuner.session;
  if (collected.urgent) {
    waiting_tuners_.erase(tuner.id);
  } else {
    waiting_tuners_[tuner.id] = seen;
  }
  return collected;
}

void TrackerCore::Acknowledge(const Tuner& tuner, const std::string& job_id,
                              std::set<std::string>& workers) {
  TrackedJob* job = book_.Find(job_id);
  if (job == nullptr) {
    book_.RememberAcknowledged(tuner.id, job_id);  // From before this tracker was started.
    return;
  }
  if (job->tuner_id != tuner.id) return;  // Not its to give away.
  ++counters_.acknowledged;
  // Open: the tuner has the result from an earlier tracker, so nobody needs it any more.
  if (job->state != State::kDone) Detach(*job);
  if (!job->source.worker_id.empty()) workers.insert(job->source.worker_id);
  book_.Erase(*job, /*acknowledged=*/true);
}

void TrackerCore::TellDiscards(const std::set<std::string>& workers) {
  for (const std::string& id : workers) {
    // That it may discard a result is no hurry, unless it holds many or wants to go.
    const auto worker = workers_.find(id);
    if (worker == workers_.end() || !worker->second.waiting || worker->second.ready) continue;
    if (MakeOrders(worker->second).urgent) Nudge(worker->second);
  }
}

int64_t TrackerCore::Cancel(absl::Time now, const std::string& tuner_id,
                            const std::vector<std::string>& ids, const std::string& study) {
  Tuner* tuner = book_.FindTuner(tuner_id);
  if (tuner == nullptr) return 0;
  tuner->seen_at = now;
  // Collected first, since Finish changes the tuner's maps.
  std::vector<TrackedJob*> jobs;
  for (const std::string& id : ids) {
    TrackedJob* job = book_.Find(id);
    // A tuner cancels its own jobs only.
    if (job != nullptr && job->tuner_id == tuner_id) jobs.push_back(job);
  }
  if (!study.empty()) {
    for (const auto& [order, job] : tuner->jobs) {
      if (job->spec.study == study) jobs.push_back(job);
    }
  }
  int64_t cancelled_count = 0;
  for (TrackedJob* job : jobs) {
    // What came first stands. Also the same job named twice, by its id and by its study.
    if (job->state == State::kDone) continue;
    ++cancelled_count;
    ++counters_.cancelled;
    Finish(now, *job, Failure{.kind = FailureKind::kCancelled, .message = "by the tuner"}, {});
  }
  Dispatch(now);
  return cancelled_count;
}

void TrackerCore::Finish(absl::Time now, TrackedJob& job, JobOutcome outcome,
                         const ResultSource& source) {
  Detach(job);
  book_.Finish(job, std::move(outcome), source);
  finished_rate_.Add(now);
  ++counters_.finished;
  NudgeTuner(*book_.FindTuner(job.tuner_id));
}

void TrackerCore::Detach(TrackedJob& job) {
  // The one place that takes a job out of wherever it is, so that queue, slot and job never
  // disagree. The state names the place; a job that is not there is a bug.
  if (job.state == State::kQueued) {
    --job.lane->queued_count;
    CHECK(queues_.Remove(job.line, job.queued));
  }
  undecided_.erase(job.spec.id);
  if (job.state == State::kFetching) {
    const TrackedJob::Place place = job.places.at(0);
    place.worker->slots[place.slot_index].fetching.erase(job.spec.id);
    job.places.clear();
  }
  while (!job.places.empty()) EndLease(TrackedJob::Place(job.places.back()));
  job.state = State::kDeferred;  // Nowhere, until the caller says where.
  job.deferred_until = absl::InfiniteFuture();
}

void TrackerCore::EndLease(const TrackedJob::Place& place) {
  SlotState& slot = place.worker->slots[place.slot_index];
  TrackedJob& job = *slot.job;
  CHECK_EQ(std::erase(job.places, place), 1u) << "for " << job.spec.id;
  slot.job = nullptr;
  copyable_.erase(job.queued.order);
  Nudge(*place.worker);  // It executes what nobody wants.
  if (!job.places.empty()) return;
  job.state = State::kDeferred;
  job.deferred_until = absl::InfiniteFuture();
}

void TrackerCore::Requeue(absl::Time now, TrackedJob& job) {
  // While one worker was at it, another one said that it has the result.
  if (maybe_orphans_.erase(job.spec.id) > 0 && TakeOverFromWorker(now, job)) return;
  job.state = State::kQueued;
  ++job.lane->queued_count;
  // With its first order: a job that comes back goes to the front of its study again.
  queues_.Push(job.line, job.queued);
}

void TrackerCore::Defer(TrackedJob& job, absl::Time until) {
  job.state = State::kDeferred;
  job.deferred_until = until;
  deferred_.emplace(until, job.spec.id);
}

void TrackerCore::DropTuner(Tuner& tuner) {
  ++counters_.tuners_forgotten;
  Note(TrackerEvent::Kind::kForgotten, tuner.id,
       absl::StrCat("is forgotten: not heard of for ", absl::FormatDuration(options_.tuner_timeout),
                    ", with ", tuner.jobs.size(), " jobs"));
  while (!tuner.jobs.empty()) {
    TrackedJob& job = *tuner.jobs.begin()->second;
    if (job.state != State::kDone) Detach(job);
    // Its worker holds the result for a while. If the tuner comes back, the job need not be done
    // again.
    if (job.state == State::kDone) maybe_orphans_.insert(job.spec.id);
    book_.Erase(job, /*acknowledged=*/false);
  }
  waiting_tuners_.erase(tuner.id);
  book_.EraseTuner(std::string(tuner.id));
}

void TrackerCore::NudgeTuner(const Tuner& tuner) {
  const auto waiting = waiting_tuners_.find(tuner.id);
  if (waiting == waiting_tuners_.end()) return;
  // It has seen all there is; waking it would only make it ask again.
  if (tuner.results.upper_bound(waiting->second) == tuner.results.end()) return;
  waiting_tuners_.erase(waiting);
  ready_tuners_.push_back(tuner.id);
}

void TrackerCore::Nudge(WorkerState& worker) {
  // Without a hanging call there is nobody to tell: the next report is answered with the same
  // state.
  if (!worker.waiting || worker.ready) return;
  worker.ready = true;
  ready_workers_.push_back(worker.id);
}

std::vector<std::string> TrackerCore::TakeReadyWorkers() {
  return std::exchange(ready_workers_, {});
}

std::vector<std::string> TrackerCore::TakeReadyTuners() { return std::exchange(ready_tuners_, {}); }

void TrackerCore::Tick(absl::Time now) {
  while (!deferred_.empty() && deferred_.begin()->first <= now) {
    TrackedJob* job = book_.Find(deferred_.begin()->second);
    deferred_.erase(deferred_.begin());
    // Whoever has not been claimed by a worker by now is nobody's. An entry may be old: of a job
    // that is held back for longer by now, or for another reason.
    if (job != nullptr && job->state == State::kDeferred && job->deferred_until <= now) {
      Requeue(now, *job);
    }
  }
  JudgeAll(now);
  if (maybe_orphans_.size() > kMaybeOrphansMax) maybe_orphans_.clear();
  for (auto entry = workers_.begin(); entry != workers_.end();) {
    WorkerState& worker = entry->second;
    const absl::Duration silence = now - worker.seen_at;
    if (!worker.lost && silence >= options_.lease_duration) {
      // Its jobs go on elsewhere, but the entry stays: if it comes back with a result, the first
      // one wins, and its counters are for people.
      LoseWorker(now, worker, "was not heard of", /*counts=*/true);
      worker.lost = true;
    }
    if (!worker.lost && now - worker.closed_at >= options_.reconnect_grace) {
      // Ended, killed or cut off, and by nobody's fault that is known. If it was cut off and comes
      // back, it goes on with what nobody else has begun.
      LoseWorker(now, worker, "closed its connection", /*counts=*/false);
      worker.lost = true;
    }
    NoteOffer(worker);
    NoteSilence(now, worker);
    for (int i = 0; i < static_cast<int>(worker.slots.size()); ++i) ExpireSlot(now, worker, i);
    // One that said that it would go is not missed.
    const bool forget = worker.lost && (worker.leaving || silence >= options_.lost_worker_memory);
    entry = forget ? workers_.erase(entry) : std::next(entry);
  }
  // Collected first: DropTuner erases from the map.
  std::vector<Tuner*> gone;
  for (auto& [id, tuner] : book_.tuners()) {
    if (now - tuner.seen_at >= options_.tuner_timeout) gone.push_back(&tuner);
  }
  for (Tuner* tuner : gone) DropTuner(*tuner);
  Dispatch(now);
}

void TrackerCore::ExpireSlot(absl::Time now, WorkerState& worker, int slot_index) {
  SlotState& slot = worker.slots[slot_index];
  const TrackedJob::Place place{.worker = &worker, .slot_index = slot_index};
  // From the lease on, whatever the worker says: the limit is the tracker's guard against an
  // executor that hangs while its agent reports on.
  if (now >= slot.TimeoutAt()) {
    ++counters_.timed_out;
    const std::string text =
        absl::StrCat("took longer than ", absl::FormatDuration(slot.job->spec.timeout),
                     " on worker ", worker.id);
    CountFault(now, worker, slot, absl::StrCat("job ", slot.job->spec.id, " ", text));
    Lose(now, place, text, /*timed_out=*/true);
  }
  if (slot.job != nullptr && now - slot.waiting_since >= options_.waiting_max) {
    Interrupt(now, place, absl::StrCat("waited too long on worker ", worker.id));
  }
  if (slot.KeptOrphan() != nullptr && now - slot.orphan->since >= options_.orphan_timeout) {
    slot.orphan->is_expired = true;
    Nudge(worker);
  }
  // Ids first: Detach takes them out of the map.
  std::vector<std::string> overdue;
  for (const auto& [id, since] : slot.fetching) {
    if (now - since >= options_.fetch_timeout) overdue.push_back(id);
  }
  for (const std::string& id : overdue) {
    for (HeldState& held : slot.held) held.is_withheld |= held.lease.job_id == id;
    TrackedJob& job = *book_.Find(id);
    Detach(job);
    GoOn(now, job, /*was_lost=*/false);
  }
  if (now >= slot.paused_until) slot.paused_until = absl::InfinitePast();
  for (HeldState& held : slot.held) {
    // Kept as long as an orphan: a tuner that restarts may still ask for it.
    held.is_expired |= now - held.since >= options_.orphan_timeout;
  }
}

absl::Time TrackerCore::NextTick() const {
  absl::Time next = absl::InfiniteFuture();
  const auto at = [&next](absl::Time time) { next = std::min(next, time); };
  if (!deferred_.empty()) at(deferred_.begin()->first);
  for (const auto& [id, verdict_at] : undecided_) at(verdict_at);
  for (const auto& [id, worker] : workers_) {
    at(worker.seen_at + (worker.lost ? options_.lost_worker_memory : options_.lease_duration));
    if (!worker.lost) at(worker.closed_at + options_.reconnect_grace);
    const bool may_be_copied =
        !worker.lost && !worker.silent &&
        std::any_of(worker.slots.begin(), worker.slots.end(),
                    [](const SlotState& slot) { return slot.job != nullptr; });
    if (may_be_copied) at(worker.answered_at + options_.copy_silence);
    for (const SlotState& slot : worker.slots) {
      at(slot.TimeoutAt());
      for (const auto& [id, since] : slot.fetching) at(since + options_.fetch_timeout);
      if (slot.job != nullptr) at(slot.waiting_since + options_.waiting_max);
      if (slot.KeptOrphan() != nullptr) at(slot.orphan->since + options_.orphan_timeout);
      if (slot.paused_until != absl::InfinitePast()) at(slot.paused_until);
      for (const HeldState& held : slot.held) {
        if (!held.is_expired) at(held.since + options_.orphan_timeout);
      }
    }
  }
  for (const auto& [id, tuner] : book_.tuners()) at(tuner.seen_at + options_.tuner_timeout);
  return next;
}

}  // namespace burnish
