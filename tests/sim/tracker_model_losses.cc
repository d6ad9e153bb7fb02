// Leases that end without a result, and jobs that are given up.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "tests/sim/tracker_model.h"

namespace burnish::sim {

void TrackerModel::NoteEnd(Worker& worker, const std::string& job_id, bool lost) {
  // As many as the tracker remembers (worker_state.cc).
  constexpr size_t kRemembered = 32;
  if (!lost) ++worker.done_count;
  worker.ends.emplace_back(job_id, lost);
  if (worker.ends.size() > kRemembered) worker.ends.pop_front();
}

bool TrackerModel::DoesWell(const Job& job, const Loss& loss) const {
  const auto found = workers_.find(loss.worker);
  if (found == workers_.end() || found->second.lost) return false;
  const Worker& worker = found->second;
  int64_t others = 0, lost = 0;
  for (const auto& [id, was_lost] : worker.ends) {
    if (id == job.spec.id) continue;
    ++others;
    lost += was_lost ? 1 : 0;
  }
  return worker.done_count > loss.worker_done_count && lost * 8 <= others;
}

int TrackerModel::CountWitnesses(const Job& job) const {
  std::set<std::string> witnesses;
  for (const Loss& loss : job.losses) {
    if (!loss.refused && DoesWell(job, loss)) witnesses.insert(loss.worker);
  }
  return static_cast<int>(witnesses.size());
}

void TrackerModel::NotePoison() {
  for (auto& [id, job] : jobs_) job.was_poison |= CountWitnesses(job) >= options_.losses_max;
}

bool TrackerModel::MayBeGivenUp(const Job& job) const {
  return !job.done && (static_cast<int>(job.losses.size()) >= options_.losses_max ||
                       job.interruption_count >= options_.interruptions_max ||
                       DeadCount(job) >= options_.deaths_max || RefuserCount(job) > 0);
}

int TrackerModel::RefuserCount(const Job& job) {
  std::set<std::string> workers;
  for (const Loss& loss : job.losses) {
    if (loss.refused) workers.insert(loss.worker);
  }
  return static_cast<int>(workers.size());
}

int TrackerModel::DeadCount(const Job& job) {
  std::set<std::string> workers;
  for (const auto& [epoch, worker] : job.deaths) workers.insert(worker);
  return static_cast<int>(workers.size());
}

bool TrackerModel::AwaitsVerdict(const Job& job) const {
  std::set<std::string> workers;
  for (const Loss& loss : job.losses) {
    if (!loss.refused) workers.insert(loss.worker);
  }
  return static_cast<int>(workers.size()) >= options_.losses_max;
}

void TrackerModel::CountFault(absl::Time now, Slot& slot) {
  ++counted_.worker_faults;
  ++slot.fault_count;
  const int doublings = std::min(slot.fault_streak++, 20);
  slot.paused_until = now + std::min(options_.fault_pause_max,
                                     options_.fault_pause_min * (int64_t{1} << doublings));
}

void TrackerModel::CheckVanished(absl::Time now, const Holding& holding) {
  const std::string text = TextOf(holding.lease);
  const auto found = jobs_.find(holding.lease.job_id);
  if (found == jobs_.end()) return;
  Job& job = found->second;
  Worker& worker = workers_[holding.worker];
  const bool was_restarted = holding.incarnation != worker.incarnation;
  if (job.done) {
    // By a liar's new process, with a result that its old one was at.
    if (!job.done_now || !was_restarted) return;
    ++counted_.leases_lost;
    ++counted_.interruptions;
    NoteEnd(worker, holding.lease.job_id, /*lost=*/true);
    return;
  }
  Slot* slot =
      holding.slot < static_cast<int>(worker.slots.size()) ? &worker.slots[holding.slot] : nullptr;
  const bool was_silent = now - worker.seen_at >= options_.lease_duration;
  const bool was_closed = now - worker.closed_at >= options_.reconnect_grace;
  const auto fault = faulted_now_.find(text);
  const bool has_faulted = fault != faulted_now_.end();
  const bool is_waiting = holding.waiting_since != absl::InfiniteFuture();
  const bool is_over = job.spec.timeout > absl::ZeroDuration() && !is_waiting &&
                       now - holding.since - holding.waited >= job.spec.timeout;
  const bool has_waited = is_waiting && now - holding.waiting_since >= options_.waiting_max;
  const bool has_ended =
      holding.started && slot != nullptr && slot->last.executing != holding.lease;
  const bool has_stopped =
      has_ended && (worker.stopping.contains(text) || liars_.contains(holding.worker));
  // Nobody knows what the tracker before this one had told it.
  const bool may_have_stopped = has_ended && holding.lease.epoch < options_.first_epoch;
  if (!was_restarted && !was_silent && !was_closed && !has_faulted && !is_over && !has_stopped &&
      !may_have_stopped && !has_waited) {
    if (job.is_forgotten) return;
    Fail("every loss has a cause", absl::StrCat(text, " at ", holding.worker));
    return;
  }
  ended_now_.insert(job.spec.id);
  const bool is_of_process = was_restarted || was_silent || was_closed;
  const bool is_interrupted_only = (may_have_stopped || has_waited) && !has_faulted && !is_over;
  if (!is_of_process && has_faulted && fault->second == Ending::kRefusal) {
    // The job's doing: its worker does as well as before, and has no pause.
    job.losses.push_back({holding.lease.epoch, holding.worker, worker.done_count, true});
    job.was_lost_much = true;
    ++counted_.refusals;
    ResetShares();
    return;
  }
  const bool was_leaving = was_restarted ? worker.was_leaving : worker.leaving;
  if (is_of_process && holding.started && !was_leaving) {
    job.deaths[holding.lease.epoch] = holding.worker;
  }
  counted_.timed_out += is_over && !is_of_process && !has_faulted && !has_ended ? 1 : 0;
  if (is_of_process) {
    ++counted_.leases_lost;
    if (slot != nullptr && !was_restarted) ++slot->fault_count;
  }
  if (slot != nullptr && !is_of_process && !is_interrupted_only) CountFault(now, *slot);
  NoteEnd(worker, holding.lease.job_id, /*lost=*/true);
  ResetShares();  // It waits elsewhere now, if at all.
  const bool was_interrupted =
      is_of_process
          ? was_restarted || !was_silent
          : is_interrupted_only || (has_faulted && fault->second == Ending::kInterruption);
  counted_.interruptions += was_interrupted ? 1 : 0;
  if (!was_interrupted) {
    job.losses.push_back({holding.lease.epoch, holding.worker, worker.done_count});
  } else if (++job.interruption_count >= 3) {
    // The third pauses for the least time, each further one twice as long.
    const int doublings = std::min(job.interruption_count - 3, 20);
    job.paused_until = now + std::min(options_.interruption_pause_max,
                                      options_.interruption_pause_min * (int64_t{1} << doublings));
  }
  if (MayBeGivenUp(job)) job.was_lost_much = true;
}

std::vector<TrackerModel::Job*> TrackerModel::GivenUp(int64_t count,
                                                      const std::set<std::string>& present) {
  // From what is certain to what is possible.
  std::vector<Job*> at_once, now, ever;
  for (auto& [id, job] : jobs_) {
    if (!MayBeGivenUp(job) || present.contains(id)) continue;
    const bool is_due =
        DeadCount(job) >= options_.deaths_max || RefuserCount(job) >= options_.refusals_max;
    const bool has_ended = ended_now_.contains(id);
    if (has_ended && is_due && !AwaitsVerdict(job)) at_once.push_back(&job);
    if (has_ended || AwaitsVerdict(job)) now.push_back(&job);
    ever.push_back(&job);
  }
  for (const std::vector<Job*>* jobs : {&at_once, &now}) {
    if (count <= static_cast<int64_t>(jobs->size())) return *jobs;
  }
  return ever;
}

void TrackerModel::CheckGivenUp(const TrackerView& view, const std::set<std::string>& present) {
  const int64_t parked = view.status.counters.parked - parked_count_;
  parked_count_ = view.status.counters.parked;
  const int64_t count = view.status.counters.poisoned + view.status.counters.parked;
  const int64_t given_up = count - given_up_count_;
  given_up_count_ = count;
  if (given_up == 0) return;
  const std::vector<Job*> candidates = GivenUp(given_up, present);
  if (given_up > static_cast<int64_t>(candidates.size())) {
    Fail("only what was lost often is given up", absl::StrCat(given_up, " at once"));
  }
  const bool is_all = given_up == static_cast<int64_t>(candidates.size());
  if (is_all && parked == given_up) {
    for (const Job* job : candidates) {
      if (CountWitnesses(*job) < options_.losses_max) continue;
      Fail("what was lost where all else goes well is poison", job->spec.id);
    }
  }
  for (Job* job : candidates) {
    // Parked or poisoned: the result will say which.
    if (is_all) FinishJob(*job, Failure{.kind = FailureKind::kParked}, "", 0);
    if (!is_all) job->unsure = true;
  }
  ResetShares();
}

// What was lost so often that it awaits its verdict gets one: at once where all of its workers are
// known to do well, and in the end.
void TrackerModel::CheckVerdicts(absl::Time now) {
  for (auto& [id, job] : jobs_) {
    const bool awaits = !job.done && !job.unsure && !job.held_back && AwaitsVerdict(job) &&
                        HoldingOf(id) == nullptr && !IsHeldByWorker(id);
    job.awaits_verdict_since =
        awaits ? std::min(job.awaits_verdict_since, now) : absl::InfiniteFuture();
    if (now - job.awaits_verdict_since > options_.verdict_timeout) {
      Fail("what was lost so often gets its verdict in time", id);
    }
    // A report is what may change a worker's standing.
    const bool is_condemned = awaits && CountWitnesses(job) >= options_.losses_max;
    if (is_condemned && job.is_condemned && !reporting_.empty()) {
      Fail("what was lost where all else goes well is given up at once", id);
    }
    job.is_condemned = is_condemned;
  }
}

}  // namespace burnish::sim
