// The side of the workers: what their reports change, and what they are told.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "tracker/tracker_core.h"

namespace burnish {
namespace {

// The job is to go elsewhere. A failure beside the payload is the tracker's own to say: that a job
// is cancelled or poisoned.
bool IsFault(const HeldResult& result) {
  return result.outcome.has_value() && (std::holds_alternative<WorkerFault>(*result.outcome) ||
                                        std::holds_alternative<Failure>(*result.outcome));
}

// An epoch counts the processes that a worker id has had. One above this was made up: nothing is
// concluded from it, and no number is derived from it. A process a microsecond makes so many in
// nine years.
constexpr int64_t kEpochBelievedMax = int64_t{1} << 48;

// Of the jobs in one answer, where it has more than one: as a tuner's batch has (client_core.cc).
constexpr size_t kPayloadBytesPerAnswer = 2 << 20;

// More leases than one tracker gives in years, and so few that two trackers' numbers, which begin
// anywhere, hardly ever meet.
constexpr int64_t kEpochsPerLife = int64_t{1} << 40;

constexpr absl::string_view kRestarted = "was restarted";

int64_t Believed(int64_t epoch) { return epoch <= kEpochBelievedMax ? epoch : 0; }

void AssignSlots(const WorkerReport& report, WorkerState& worker) {
  worker.slots.assign(report.slots.size(), SlotState());
  for (size_t i = 0; i < worker.slots.size(); ++i) worker.slots[i].info = report.slots[i].info;
}

// " from HOST (ADDRESS)", as far as they are known.
std::string From(const WorkerReport& report) {
  return absl::StrCat(report.host.empty() ? "" : absl::StrCat(" from ", report.host),
                      report.address.empty() ? "" : absl::StrCat(" (", report.address, ")"));
}

// "2 build slots, 1 run slot (cpu-znver4-1f0c25d7)"
std::string SlotsText(const std::vector<SlotState>& slots) {
  std::map<std::string, int> counts;
  for (const SlotState& slot : slots) {
    const std::vector<std::string>& keys = slot.info.device_keys;
    ++counts[absl::StrCat(JobKindName(slot.info.kind), keys.empty() ? "" : " ",
                          absl::StrJoin(keys, " "))];
  }
  std::string text;
  for (const auto& [kind, count] : counts) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", count, "x ", kind);
  }
  return text.empty() ? "no slots" : text;
}

bool AreOfKinds(const std::vector<SlotReport>& reports, const std::vector<SlotState>& slots) {
  return std::equal(reports.begin(), reports.end(), slots.begin(), slots.end(),
                    [](const SlotReport& report, const SlotState& slot) {
                      return report.info.kind == slot.info.kind;
                    });
}

}  // namespace

absl::StatusOr<SyncReply> TrackerCore::Synchronize(absl::Time now, const WorkerReport& report) {
  // A report is the whole state of the worker. Whatever was lost or repeated before, this is what
  // counts from now on.
  ASSIGN_OR_RETURN(WorkerState * worker, Admit(now, report));
  if (worker == nullptr) {
    return SyncReply{.admitted = false,
                     .orders = {.sequence = report.sequence,
                                .epoch = workers_.at(report.worker_id).claimant_epoch,
                                .lease_duration = options_.lease_duration},
                     .urgent = true};
  }
  worker->seen_at = now;
  worker->closed_at = absl::InfiniteFuture();
  if (std::exchange(worker->lost, false)) {
    Note(TrackerEvent::Kind::kReturned, worker->id, absl::StrCat("is back", From(report)));
  }
  NoteSpeech(*worker);
  worker->host = report.host;
  worker->address = report.address;
  if (report.leaving && !worker->leaving) {
    Note(TrackerEvent::Kind::kLeaving, worker->id, "wants to go: it takes no more jobs");
  }
  worker->leaving = report.leaving;
  NoteOffer(*worker);
  worker->calibration = report.calibration;
  worker->sequence = report.sequence;
  worker->waiting = false;
  worker->ready = false;
  const int slot_count = static_cast<int>(report.slots.size());
  // Results first: a slot that finished one job may have begun another.
  for (int i = 0; i < slot_count; ++i) TakeResults(now, *worker, i, report.slots[i]);
  // The worker may have just shown that it does well. After all of its results: one of them may be
  // of the job that would be given up.
  JudgeAll(now);
  // Then faults: of a report nobody knows what came first, so that no result beside a fault shows
  // that its worker went on to do well.
  for (int i = 0; i < slot_count; ++i) TakeFaults(now, *worker, i, report.slots[i]);
  for (int i = 0; i < slot_count; ++i) TakeExecution(now, *worker, i, report.slots[i]);
  // Last: a slot is idle only after its results and its execution are known. Before Dispatch, so
  // that this very answer carries the job.
  for (int i = 0; i < slot_count; ++i) TryAssign(now, *worker, i);
  SyncReply reply = MakeOrders(*worker);
  worker->waiting = !reply.urgent;
  worker->answered_at = reply.urgent ? now : absl::InfiniteFuture();
  // Only when the answer goes out now. Otherwise OrdersFor says it later.
  if (reply.urgent) worker->told_draining = worker->draining;
  Dispatch(now);
  return reply;
}

absl::StatusOr<WorkerState*> TrackerCore::AdmitNew(const WorkerReport& report) {
  if (workers_.size() >= static_cast<size_t>(options_.workers_max)) {
    const auto lost = std::find_if(workers_.begin(), workers_.end(),
                                   [](const auto& entry) { return entry.second.lost; });
    if (lost == workers_.end()) {
      return absl::ResourceExhaustedError(
          absl::StrFormat("got worker %s, have %d already", report.worker_id, workers_.size()));
    }
    // Room for one that lives: an entry of a lost worker is for people only.
    workers_.erase(lost);
  }
  WorkerState& worker = workers_[report.worker_id];
  worker.id = report.worker_id;
  worker.incarnation = report.incarnation;
  worker.epoch = Believed(report.epoch);
  if (worker.epoch == 0) worker.epoch = NewWorkerEpoch(0);
  AssignSlots(report, worker);
  ++farm_version_;
  Note(TrackerEvent::Kind::kJoined, worker.id,
       absl::StrCat("joined", From(report), ": ", SlotsText(worker.slots)));
  return &worker;
}

absl::StatusOr<WorkerState*> TrackerCore::Admit(absl::Time now, const WorkerReport& report) {
  const auto known = workers_.find(report.worker_id);
  if (known == workers_.end()) return AdmitNew(report);
  WorkerState& worker = known->second;
  if (report.incarnation != worker.incarnation) {
    // Two processes under one id, or a message that was long under way. The older one is turned
    // away for good, or the two would take each other's leases in turn.
    const bool is_older = report.epoch > 0 && report.epoch < worker.epoch;
    if (is_older || report.incarnation == worker.replaced) {
      return absl::FailedPreconditionError(
          absl::StrFormat("worker %s: another process was started under this id; give each its own "
                          "(--id), or end this one",
                          worker.id));
    }
    const bool echoes =
        report.incarnation == worker.claimant && report.epoch == worker.claimant_epoch;
    if (!echoes) {
      // An agent keeps the highest that it was ever told, so that it would never echo a lower one.
      if (Believed(report.epoch) != report.epoch) {
        return absl::FailedPreconditionError(
            absl::StrFormat("worker %s: got epoch %d, which no tracker counts to; start it again",
                            worker.id, report.epoch));
      }
      // It may be long dead. Who reads the answer and says so is not.
      const bool is_new = report.incarnation != worker.claimant;
      if (is_new || report.epoch > worker.claimant_epoch) {
        // An earlier tracker may have given higher ones to this worker id.
        worker.claimant_epoch = NewWorkerEpoch(std::max(worker.epoch, report.epoch));
      }
      worker.claimant = report.incarnation;
      return nullptr;
    }
    // Whatever its predecessor held died with that process: no need to wait for the lease's end.
    LoseWorker(now, worker, kRestarted, /*counts=*/false);
    worker.replaced = worker.incarnation;
    worker.incarnation = report.incarnation;
    worker.epoch = report.epoch;
    worker.claimant = worker.claimant_epoch = 0;
    worker.told_draining = false;
    AssignSlots(report, worker);
    ++farm_version_;
    // So that this is told once.
    worker.lost = false;
    Note(TrackerEvent::Kind::kRestarted, worker.id,
         absl::StrCat("is a new process", From(report), ": ", SlotsText(worker.slots)));
    return &worker;
  }
  // A worker has several calls under way. An older report that arrives late would take back what a
  // newer one said.
  if (report.sequence <= worker.sequence) {
    ++counters_.stale_reports;
    return absl::AbortedError(absl::StrFormat("got report %d of worker %s after report %d",
                                              report.sequence, worker.id, worker.sequence));
  }
  if (report.slots.size() != worker.slots.size()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("got %d slots of worker %s, want %d as in its first report",
                        report.slots.size(), worker.id, worker.slots.size()));
  }
  // A builder that says one day that it runs would take what only a runner may say.
  if (!AreOfKinds(report.slots, worker.slots)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "got slots of other kinds than in the first report of worker %s", worker.id));
  }
  return &worker;
}

void TrackerCore::TakeResults(absl::Time now, WorkerState& worker, int slot_index,
                              const SlotReport& report) {
  SlotState& slot = worker.slots[slot_index];
  if (slot.info != report.info) {
    slot.info = report.info;
    ++farm_version_;
  }
  const std::vector<HeldState> before = std::exchange(slot.held, {});
  // What was asked for and is not reported any more will not come: the job is queued again.
  std::set<std::string> no_longer_held;
  for (const auto& [id, since] : slot.fetching) no_longer_held.insert(id);
  for (const HeldResult& result : report.results) {
    HeldState held{.lease = result.lease, .since = now};
    for (const HeldState& old : before) {
      // Flags and age survive from report to report.
      if (old.lease == result.lease) held = old;
    }
    held.sent_outcome = result.outcome.has_value();
    TakeResult(now, worker, slot_index, result, held);
    // A fault, or what is of a lease that it never had, is not what was asked for.
    const bool may_come = !held.is_fault && !held.is_foreign && !held.is_withheld;
    if (may_come) no_longer_held.erase(result.lease.job_id);
    slot.held.push_back(std::move(held));
  }
  for (const std::string& id : no_longer_held) {
    TrackedJob* job = book_.Find(id);
    Detach(*job);
    GoOn(now, *job, /*was_lost=*/false);
  }
}

void TrackerCore::TakeResult(absl::Time now, WorkerState& worker, int slot_index,
                             const HeldResult& result, HeldState& held) {
  SlotState& slot = worker.slots[slot_index];
  const bool is_fault = IsFault(result);
  TrackedJob* job = book_.Find(result.lease.job_id);
  if (job == nullptr) {
    held.is_fault |= is_fault;
    // Not known and not acknowledged: from before a restart, and its tuner may submit it again
    // soon.
    if (!book_.IsAcknowledged(result.lease.job_id)) maybe_orphans_.insert(result.lease.job_id);
    return;
  }
  if (job->state == State::kDone) {
    // By lease, not by worker alone: a worker may have executed the same job twice.
    const bool is_source =
        job->source.worker_id == worker.id && job->source.lease_epoch == held.lease.epoch;
    if (!is_source && !held.is_duplicate) ++counters_.duplicates_dropped;
    held.is_duplicate |= !is_source;
    return;
  }
  if (!MayHold(worker, slot.info, *job, result.lease)) {
    if (!held.is_foreign) ++counters_.foreign_reports;
    held.is_foreign = true;
    maybe_orphans_.insert(result.lease.job_id);  // Its tuner may yet say that it is from before.
    return;
  }
  held.is_fault |= is_fault;
  if (held.is_fault) return;  // TakeFaults.
  if (result.outcome.has_value()) {
    ++slot.done_count;
    slot.fault_streak = 0;
    worker.NoteEnd(result.lease.job_id, /*lost=*/false);
    // Whoever has the lease: the first valid result wins, also from a worker that was taken for
    // lost. Detach tells the present one to stop.
    // A second copy of the result is told apart from this one by the lease's number.
    Finish(now, *job, *result.outcome,
           {.worker_id = worker.id, .address = worker.address, .lease_epoch = result.lease.epoch});
    return;
  }
  // It says that a tracker has the outcome: the one before this. See also MakeSlotOrders.
  const bool is_waiting = job->state == State::kQueued || job->state == State::kDeferred;
  if (is_waiting && !held.is_withheld) {
    Fetch(now, worker, slot_index, *job);
  } else if (!held.is_withheld) {
    maybe_orphans_.insert(job->spec.id);  // For when the one that is at it fails (Requeue).
  }
}

void TrackerCore::TakeFaults(absl::Time now, WorkerState& worker, int slot_index,
                             const SlotReport& report) {
  SlotState& slot = worker.slots[slot_index];
  for (const HeldResult& result : report.results) {
    // Only of the present lease: an older one was counted when it was lost, or by an earlier
    // report.
    if (!IsFault(result) || slot.job == nullptr || slot.lease() != result.lease) continue;
    const auto* fault = std::get_if<WorkerFault>(&*result.outcome);
    const std::string text =
        absl::StrCat("worker ", worker.id, ": ",
                     fault != nullptr ? fault->message : "said what is the tracker's to say");
    const TrackedJob::Place place{.worker = &worker, .slot_index = slot_index};
    if (fault != nullptr && fault->refused) {
      Refuse(now, place, text);
      continue;
    }
    CountFault(now, worker, slot, text);
    if (fault != nullptr && fault->interrupted) {
      Interrupt(now, place, text);
    } else {
      Lose(now, place, text);
    }
  }
}

void TrackerCore::TakeExecution(absl::Time now, WorkerState& worker, int slot_index,
                                const SlotReport& report) {
  SlotState& slot = worker.slots[slot_index];
  slot.reported = report.executing;
  slot.cancelling = report.cancelling;
  if (slot.job != nullptr) {
    if (report.executing == slot.lease()) {
      slot.started = true;
      slot.SetWaiting(now, report.waiting);
      return;
    }
    // Not started: the orders were lost, or it first has to stop something else. They are repeated.
    if (!slot.started) return;
    const TrackedJob::Place place{.worker = &worker, .slot_index = slot_index};
    const std::string text = absl::StrCat("worker ", worker.id, " stopped without a result");
    if (slot.lease_epoch < options_.first_epoch || slot.lease_epoch >= next_epoch_) {
      // The earlier tracker may have told it to, and this one may have heard of the lease by a
      // report that was long under way.
      Interrupt(now, place, text);
    } else {
      CountFault(now, worker, slot, text);
      Lose(now, place, text);
    }
  }
  // It has ended: as a result among the held ones, or not at all.
  if (slot.orphan.has_value() && (report.executing != slot.orphan->lease || slot.cancelling)) {
    slot.orphan.reset();
  }
  if (report.executing.has_value() && !slot.cancelling) {
    TakeUnleased(now, worker, slot_index, *report.executing);
  }
}

// The worker executes what it has no lease for.
void TrackerCore::TakeUnleased(absl::Time now, WorkerState& worker, int slot_index,
                               const Lease& lease) {
  SlotState& slot = worker.slots[slot_index];
  TrackedJob* job = book_.Find(lease.job_id);
  if (job != nullptr) {
    // It was taken for lost, and nobody else has the job yet.
    const bool is_waiting = job->state == State::kQueued || job->state == State::kDeferred;
    if (!MayHold(worker, slot.info, *job, lease)) {
      ++counters_.foreign_reports;
      return;
    }
    // Its time was up. With a new one it could hang for ever, and its loss would be none.
    const bool timed_out = std::any_of(
        job->losses.begin(), job->losses.end(),
        [&](const auto& loss) { return loss.lease_epoch == lease.epoch && loss.timed_out; });
    // Else another worker has it. Either way this one is told to stop: its lease is not in the
    // orders.
    if (is_waiting && !timed_out) Adopt(now, worker, slot_index, *job, lease);
    return;
  }
  if (book_.IsAcknowledged(lease.job_id) || slot.orphan.has_value()) return;
  slot.orphan = Orphan{.lease = lease, .since = now};
  maybe_orphans_.insert(lease.job_id);
}

bool TrackerCore::MayHold(const WorkerState& worker, const SlotInfo& slot, const TrackedJob& job,
                          const Lease& lease) const {
  if (!Meets(slot, job.line.demands)) return false;
  for (const TrackedJob::Issued& issued : job.issued) {
    if (issued.epoch == lease.epoch) return issued.worker_id == worker.id;
  }
  // Else a number that nobody has yet would be taken from whoever gets it.
  const bool is_to_come =
      lease.epoch >= next_epoch_ && lease.epoch - options_.first_epoch < kEpochsPerLife;
  return job.from_before && !is_to_come;
}

void TrackerCore::Adopt(absl::Time now, WorkerState& worker, int slot_index, TrackedJob& job,
                        const Lease& lease) {
  ++counters_.adopted;
  Detach(job);
  SlotState& slot = worker.slots[slot_index];
  // TakeExecution has dealt with the slot's own job before.
  CHECK(slot.job == nullptr);
  slot.orphan.reset();
  slot.Begin(now, job, lease.epoch, /*has_started=*/true);
  job.state = State::kLeased;
  job.places = {{.worker = &worker, .slot_index = slot_index}};
  // From now on nobody else can have had it.
  const bool is_issued =
      std::any_of(job.issued.begin(), job.issued.end(),
                  [&](const TrackedJob::Issued& issued) { return issued.epoch == lease.epoch; });
  if (!is_issued) job.issued.push_back({.epoch = lease.epoch, .worker_id = worker.id});
  // A job that a worker has kept over the tracker's restart was tried at least once.
  job.attempt_count = std::max(job.attempt_count, 1);
  job.paused_until = absl::InfinitePast();
  // It was no loss after all.
  const auto taken_back = std::erase_if(
      job.losses, [&](const TrackedJob::Loss& loss) { return loss.lease_epoch == lease.epoch; });
  if (taken_back > 0) job.ChangeLine();
  if (taken_back > 0) worker.TakeBackLoss(job.spec.id);
  std::erase_if(job.deaths, [&](const auto& death) { return death.lease_epoch == lease.epoch; });
  // The worker may have fallen silent while nobody had asked for the job.
  OfferCopy(now, job);
}

void TrackerCore::LoseWorker(absl::Time now, WorkerState& worker, absl::string_view how,
                             bool counts) {
  ++counters_.workers_lost;
  // A new process of it says itself that it is here.
  if (how != kRestarted && !worker.lost) {
    const auto job_count = std::count_if(worker.slots.begin(), worker.slots.end(),
                                         [](const SlotState& slot) { return slot.job != nullptr; });
    Note(worker.leaving ? TrackerEvent::Kind::kLeft : TrackerEvent::Kind::kLost, worker.id,
         absl::StrCat(how, ", with ", job_count, job_count == 1 ? " job" : " jobs"));
  }
  // First, so that no job of it is taken to be here still. Gone with the process, or reported again
  // by one that was only cut off.
  for (SlotState& slot : worker.slots) {
    slot.reported.reset();
    slot.orphan.reset();
    slot.held.clear();
  }
  for (int i = 0; i < static_cast<int>(worker.slots.size()); ++i) {
    SlotState& slot = worker.slots[i];
    if (slot.job != nullptr) {
      ++counters_.leases_lost;
      ++slot.fault_count;
      const std::string what = absl::StrCat("worker ", worker.id, " ", how);
      // One that said that it would go was ended by its operator.
      if (slot.started && !worker.leaving) {
        slot.job->deaths.push_back({.worker_id = worker.id, .lease_epoch = slot.lease_epoch});
      }
      const TrackedJob::Place place{.worker = &worker, .slot_index = i};
      if (counts) {
        Lose(now, place, what);
      } else {
        Interrupt(now, place, what);
      }
    }
    // A copy: Detach erases from it.
    for (const auto& [id, since] : std::map<std::string, absl::Time>(slot.fetching)) {
      TrackedJob* job = book_.Find(id);
      Detach(*job);
      GoOn(now, *job, /*was_lost=*/false);
    }
  }
}

void TrackerCore::NoteOffer(WorkerState& worker) {
  if (std::exchange(worker.took_jobs, worker.TakesJobs()) != worker.took_jobs) ++farm_version_;
}

void TrackerCore::CountFault(absl::Time now, const WorkerState& worker, SlotState& slot,
                             absl::string_view why) {
  ++counters_.worker_faults;
  ++slot.fault_count;
  // So that a worker that is broken, and therefore quick, does not take and spoil every job.
  // The bound keeps the shift within 64 bits; fault_pause_max is reached long before.
  const int doublings = std::min(slot.fault_streak++, 20);
  const absl::Duration pause =
      std::min(options_.fault_pause_max, options_.fault_pause_min * (int64_t{1} << doublings));
  slot.paused_until = now + pause;
  Note(TrackerEvent::Kind::kPaused, worker.id,
       absl::StrCat("has slot ", &slot - worker.slots.data(), " paused for ",
                    absl::FormatDuration(pause), ": ", why));
}

bool TrackerCore::TryAssign(absl::Time now, WorkerState& worker, int slot_index) {
  SlotState& slot = worker.slots[slot_index];
  if (!worker.TakesJobs() || !slot.IsIdle() || now < slot.paused_until ||
      // A worker that holds that many results waits for a tuner that does not collect. More work
      // would only fill its memory.
      slot.held.size() >= static_cast<size_t>(options_.held_results_max)) {
    return false;
  }
  const std::optional<QueuedJob> queued =
      queues_.PopFor({.slot = slot.info,
                      .worker_id = worker.id,
                      .farm_version = farm_version_,
                      .has_other = [this](const Line& line) { return HasUntriedWorker(line); }});
  // Last: a copy takes nobody's place, and nobody's share.
  TrackedJob* next = queued.has_value() ? book_.Find(queued->id) : NextCopy(now, worker, slot.info);
  if (next == nullptr) return false;
  TrackedJob& job = *next;
  if (job.state == State::kQueued) --job.lane->queued_count;
  if (copyable_.erase(job.queued.order) > 0) {
    job.places[0].worker->slots[job.places[0].slot_index].copied = true;
    ++counters_.copies;
  }
  // A number that was never used tells this lease from every other of the same job, also over
  // restarts of the tracker.
  slot.Begin(now, job, NewEpoch(), /*has_started=*/false);
  job.state = State::kLeased;
  job.places.push_back({.worker = &worker, .slot_index = slot_index});
  job.issued.push_back({.epoch = slot.lease_epoch, .worker_id = worker.id});
  ++job.attempt_count;
  ++counters_.dispatched;
  return true;
}

void TrackerCore::Dispatch(absl::Time now) {
  // One job per worker and turn, so that one with many slots does not take all.
  for (bool any = true; any && HasWork();) {
    any = false;
    // Round robin by id, from where it stopped: otherwise the first in the alphabet would get every
    // job that comes alone.
    auto entry = workers_.upper_bound(dispatched_last_);
    for (size_t n = 0; n < workers_.size() && HasWork(); ++n, ++entry) {
      if (entry == workers_.end()) entry = workers_.begin();
      WorkerState& worker = entry->second;
      // Only to those whose call hangs: the order goes out at once. The others are served when they
      // report.
      if (!worker.waiting) continue;
      for (int i = 0; i < static_cast<int>(worker.slots.size()); ++i) {
        if (!TryAssign(now, worker, i)) continue;
        dispatched_last_ = worker.id;
        any = true;
        Nudge(worker);
        break;
      }
    }
  }
}

std::optional<WorkerOrders> TrackerCore::OrdersFor(absl::Time now, const std::string& worker_id,
                                                   int64_t sequence) {
  const auto entry = workers_.find(worker_id);
  if (entry == workers_.end() || entry->second.sequence != sequence) return std::nullopt;
  WorkerState& worker = entry->second;
  worker.waiting = false;
  worker.ready = false;
  worker.answered_at = now;
  worker.told_draining = worker.draining;
  return MakeOrders(worker).orders;
}

void TrackerCore::CallBroke(absl::Time now, const std::string& worker_id, int64_t sequence) {
  const auto entry = workers_.find(worker_id);
  // Of an older call: a newer one hangs or has been answered.
  if (entry == workers_.end() || entry->second.sequence != sequence) return;
  entry->second.closed_at = now;
  entry->second.waiting = false;
  entry->second.ready = false;
}

SyncReply TrackerCore::MakeOrders(const WorkerState& worker) {
  SyncReply reply{.orders = {.sequence = worker.sequence,
                             .epoch = worker.epoch,
                             .draining = worker.draining,
                             .lease_duration = options_.lease_duration},
                  .urgent = worker.draining != worker.told_draining};
  size_t bytes = 0;
  for (const SlotState& slot : worker.slots) {
    SlotOrders& orders =
        reply.orders.slots.emplace_back(MakeSlotOrders(worker, slot, reply.urgent));
    if (!orders.job.has_value()) continue;
    // Else the answer might be larger than a message may be, and so would be the next. The others
    // get theirs when the first have begun: the worker calls again at once.
    if (bytes > 0 && bytes + orders.job->payload.size() > kPayloadBytesPerAnswer) {
      orders.job.reset();
    } else {
      bytes += orders.job->payload.size();
    }
  }
  return reply;
}

SlotOrders TrackerCore::MakeSlotOrders(const WorkerState& worker, const SlotState& slot,
                                       bool& urgent) {
  SlotOrders orders;
  if (slot.job != nullptr) {
    orders.lease = slot.lease();
    // The payload is repeated until the worker says that it has begun, and not after: it may be
    // large.
    if (slot.reported != orders.lease) orders.job = slot.job->spec;
  } else if (slot.KeptOrphan() != nullptr) {
    orders.lease = slot.orphan->lease;
  }
  // A slot that is stopping something has been told.
  urgent |= slot.reported != orders.lease && !slot.cancelling;
  const auto is_needless = [this](const HeldState& held) {
    const std::string& id = held.lease.job_id;
    // A result that no known tuner asked for is kept until it is old: its tuner may be about to
    // come back.
    const bool is_nobodys =
        book_.Find(id) == nullptr && (book_.IsAcknowledged(id) || held.is_expired);
    return is_nobodys || held.is_fault || held.is_duplicate || held.is_foreign;
  };
  // Orders are by job. A slot that executed a job twice keeps both results as long as one is
  // needed.
  std::set<std::string> needed;
  for (const HeldState& held : slot.held) {
    if (!is_needless(held)) needed.insert(held.lease.job_id);
  }
  for (const HeldState& held : slot.held) {
    const std::string& id = held.lease.job_id;
    const TrackedJob* job = book_.Find(id);
    if (is_needless(held)) {
      if (!needed.contains(id)) orders.discard.push_back(id);
    } else if (job != nullptr && job->state != State::kDone) {
      orders.send.push_back(id);  // Also when another worker has the lease: the first one wins.
      // The tracker has it, the tuner may not. The worker keeps the outcome for the next tracker,
      // but need not send it with each report.
    } else if (held.sent_outcome) {
      orders.received.push_back(id);
    }
  }
  // One that goes cannot wait for the next occasion.
  const int patience = worker.leaving ? 1 : options_.hurried_discards;
  urgent |= !orders.send.empty() || static_cast<int>(orders.discard.size()) >= patience;
  return orders;
}

}  // namespace burnish
