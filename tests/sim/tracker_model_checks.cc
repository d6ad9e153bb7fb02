// What is checked of a tracker after each event.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/sim/tracker_model.h"

namespace burnish::sim {

void TrackerModel::Observe(absl::Time now, const TrackerView& view) {
  now_ = now;
  DropSilentTuners(now, view);
  TakeDoubtful(view);
  // What a worker held is gone with it: in the same event another one may get the job.
  for (const WorkerStatus& status : view.workers) {
    if (status.liveness != WorkerLiveness::kLost) continue;
    for (Slot& slot : workers_[status.worker_id].slots) {
      slot.last.results.clear();
      slot.held_since.clear();
      slot.held_fault.clear();
      slot.unclaimed.reset();
    }
  }
  CheckLeases(now, view);
  NotePoison();
  CheckVerdicts(now);
  CheckCounts(now, view);
  CheckClocks(now, view);
  CheckWorkers(now, view);
  CheckUnmatched(view, "", view.status.unmatched);
  for (const auto& [tuner, shown] : std::exchange(said_unmatched_, {})) {
    CheckUnmatched(view, tuner, shown);
  }
  CheckCounters(now, view);
  ForgetFed();
  faulted_now_.clear();
  ended_now_.clear();
  reporting_.clear();
  for (auto& [id, job] : jobs_) job.done_now = false;
  for (auto& [id, worker] : workers_) worker.restarted_now = false;
}

void TrackerModel::DropSilentTuners(absl::Time now, const TrackerView& view) {
  int64_t count = 0;
  for (auto tuner = tuners_.begin(); tuner != tuners_.end();) {
    const absl::Duration silence = now - tuner->second;
    const bool may_go = silence >= options_.tuner_timeout &&
                        forgotten_count_ + count < view.status.counters.tuners_forgotten;
    if (!may_go) {
      if (silence > options_.tuner_timeout) Fail("a silent tuner is forgotten", tuner->first);
      ++tuner;
      continue;
    }
    ++count;
    for (auto& [id, job] : jobs_) job.is_forgotten |= job.tuner == tuner->first;
    sessions_.erase(tuner->first);
    tuner = tuners_.erase(tuner);
    ResetShares();
  }
  forgotten_count_ += count;
  if (forgotten_count_ != view.status.counters.tuners_forgotten) {
    Fail("a tuner that speaks is not forgotten",
         absl::StrCat(view.status.counters.tuners_forgotten, " of ", forgotten_count_));
  }
}

int TrackerModel::HolderCount(const std::string& job_id, bool kept) const {
  const auto job = jobs_.find(job_id);
  return static_cast<int>(std::count_if(workers_.begin(), workers_.end(), [&](const auto& entry) {
    const auto& [id, worker] = entry;
    if (worker.lost) return false;
    for (const Slot& slot : worker.slots) {
      for (const HeldResult& result : slot.last.results) {
        // Also one that was sent before anybody had asked for the job.
        if (result.lease.job_id != job_id || IsFault(result)) continue;
        // Once a fault, always one.
        const auto fault = slot.held_fault.find(TextOf(result.lease));
        if (fault != slot.held_fault.end() && fault->second) continue;
        if (kept && useless_.contains(TextOf(result.lease))) continue;
        if (job == jobs_.end() || IsOf(result.lease, job->second, id, slot.last.info)) return true;
      }
    }
    return false;
  }));
}

bool TrackerModel::IsWaiting(const Job& job) const {
  if (job.done || job.unsure || job.held_back || IsHeldByWorker(job.spec.id)) return false;
  if (now_ <= job.paused_until || AwaitsVerdict(job)) return false;
  // Given up in this very event, perhaps.
  if (DeadCount(job) >= options_.deaths_max || RefuserCount(job) >= options_.refusals_max) {
    return false;
  }
  return HoldingOf(job.spec.id) == nullptr;
}

TrackerModel::Line TrackerModel::LineOf(const Job& job) {
  const std::vector<std::string>& doubted = job.spec.avoid_workers;
  Line line{DemandOf(job.spec), {doubted.begin(), doubted.end()}};
  for (const Loss& loss : job.losses) line.second.insert(loss.worker);
  return line;
}

bool TrackerModel::IsAvoided(const Job& job, const std::string& worker) {
  const std::vector<std::string>& doubted = job.spec.avoid_workers;
  return std::find(doubted.begin(), doubted.end(), worker) != doubted.end() ||
         std::any_of(job.losses.begin(), job.losses.end(),
                     [&](const Loss& loss) { return loss.worker == worker; });
}

bool TrackerModel::HasUntriedWorker(const TrackerView& view, const Job& job) {
  return std::any_of(view.workers.begin(), view.workers.end(), [&](const WorkerStatus& worker) {
    return worker.liveness == WorkerLiveness::kAlive && !IsAvoided(job, worker.worker_id) &&
           std::any_of(worker.slots.begin(), worker.slots.end(),
                       [&](const SlotStatus& slot) { return Serves(slot.info, job.spec); });
  });
}

const TrackerModel::Holding* TrackerModel::HoldingOf(const std::string& job_id) const {
  for (const auto& [place, holding] : holdings_) {
    if (holding.lease.job_id == job_id) return &holding;
  }
  return nullptr;
}

void TrackerModel::CheckCounts(absl::Time now, const TrackerView& view) {
  std::erase_if(fetched_since_, [&](const auto& entry) {
    const auto job = jobs_.find(entry.first);
    return job == jobs_.end() || job->second.done || !IsHeldByWorker(entry.first);
  });
  for (const auto& [id, job] : jobs_) {
    if (!job.done && IsHeldByWorker(id)) fetched_since_.try_emplace(id, now);
  }
  for (auto& [id, job] : jobs_) {
    if (!job.held_back) continue;
    // Its worker has spoken. If that one dies, nobody else can have it.
    const bool has_spoken = IsHeldByWorker(id) || HoldingOf(id) != nullptr;
    // In the very instant the tracker's tick may be yet to come.
    if (!has_spoken && now <= started_at_ + options_.recovery_period) continue;
    job.held_back = false;
    ResetShares();  // It was waiting, and nobody knew for which.
  }
  const TrackerStatus& status = view.status;
  const int64_t total = status.queued_count + status.leased_count + status.unacknowledged_count;
  if (status.queued_count < 0) Fail("no more jobs are leased than there are", "");
  if (total != static_cast<int64_t>(jobs_.size())) {
    Fail("no job is lost or made up",
         absl::StrCat("the tracker knows ", total, " jobs, was given ", jobs_.size()));
  }
  const int64_t open = status.queued_count + status.leased_count;
  if (open > options_.jobs_max) Fail("a tracker takes so many jobs", absl::StrCat(open));
  if (status.unacknowledged_count > options_.results_max + options_.jobs_max) {
    Fail("a tracker holds so many results", absl::StrCat(status.unacknowledged_count));
  }
  int64_t done = 0, unsure = 0;
  for (const auto& [id, job] : jobs_) {
    done += job.done;
    unsure += job.unsure;
  }
  if (status.unacknowledged_count < done || status.unacknowledged_count > done + unsure) {
    Fail("a result counts once", absl::StrCat("the tracker has ", status.unacknowledged_count,
                                              " results, was given ", done));
  }
}

void TrackerModel::CheckClocks(absl::Time now, const TrackerView& view) {
  for (const auto& [place, holding] : holdings_) {
    const auto job = jobs_.find(holding.lease.job_id);
    if (job == jobs_.end()) continue;
    if (now - holding.waiting_since > options_.waiting_max) {
      Fail("who waits for others waits for so long", TextOf(holding.lease));
    }
    if (job->second.spec.timeout > absl::ZeroDuration() &&
        holding.waiting_since == absl::InfiniteFuture() &&
        now - holding.since - holding.waited > job->second.spec.timeout) {
      Fail("a job's time limit ends its lease", TextOf(holding.lease));
    }
  }
  std::set<std::string> listed;
  for (const WorkerStatus& status : view.workers) {
    listed.insert(status.worker_id);
    Worker& worker = workers_[status.worker_id];
    const bool is_lost = status.liveness == WorkerLiveness::kLost;
    counted_.workers_lost += is_lost && !worker.lost ? 1 : 0;
    worker.lost = is_lost;
    const absl::Duration silence = now - worker.seen_at;
    if (!worker.lost && silence > options_.lease_duration) {
      Fail("a silent worker is lost", status.worker_id);
    }
    for (size_t i = 0; i < status.slots.size() && i < worker.slots.size(); ++i) {
      const Slot& slot = worker.slots[i];
      if (slot.unclaimed.has_value() && status.slots[i].executing == slot.unclaimed &&
          now - slot.unclaimed_since > options_.orphan_timeout) {
        Fail("what nobody asks for is stopped in the end", TextOf(*slot.unclaimed));
      }
    }
    const absl::Duration closed = now - worker.closed_at;
    if (!worker.lost && closed > options_.reconnect_grace) {
      Fail("a worker whose call broke is lost", status.worker_id);
    }
    if (worker.lost && silence < options_.lease_duration && closed < options_.reconnect_grace) {
      Fail("a worker that speaks is not lost", status.worker_id);
    }
    if (worker.lost && silence > options_.lost_worker_memory) {
      Fail("a lost worker is forgotten in the end", status.worker_id);
    }
  }
  std::erase_if(workers_, [&](const auto& entry) {
    if (listed.contains(entry.first)) return false;
    const Worker& worker = entry.second;
    const absl::Duration silence = now - worker.seen_at;
    const bool was_lost =
        silence >= options_.lease_duration || now - worker.closed_at >= options_.reconnect_grace;
    counted_.workers_lost += worker.lost ? 0 : 1;
    const bool is_long_lost = worker.leaving || silence >= options_.lost_worker_memory ||
                              listed.size() >= static_cast<size_t>(options_.workers_max);
    if (!was_lost || !is_long_lost) Fail("a worker is listed until long after", entry.first);
    return true;
  });
}

void TrackerModel::CheckNobodyWaits(absl::Time now, const TrackerView& view) {
  for (const auto& [tuner, request] : view.hanging_tuners) {
    for (const auto& [id, job] : jobs_) {
      if (job.done && job.tuner == tuner && (job.number == 0 || job.number > request.seen_number)) {
        Fail("a result does not wait for a tuner that listens", id);
      }
    }
  }
  CheckFetches(now, view);
  listening_.clear();
  for (const WorkerStatus& status : view.workers) {
    const auto hanging = view.hanging_workers.find(status.worker_id);
    Worker& worker = workers_[status.worker_id];
    const bool listens =
        hanging != view.hanging_workers.end() && hanging->second == worker.sequence;
    if (listens) {
      listening_.insert(status.worker_id);
      CheckListener(now, view, status, worker);
    }
    worker.may_discard_now = false;
  }
}

void TrackerModel::CheckListener(absl::Time now, const TrackerView& view,
                                 const WorkerStatus& status, const Worker& worker) {
  if (worker.drained != worker.told_drained) {
    Fail("an order does not wait for a worker that listens",
         absl::StrCat(status.worker_id, ", of a drain"));
  }
  if (worker.may_discard_now) {
    Fail("who holds many results, or goes, is told at once what it may throw away",
         status.worker_id);
  }
  for (size_t i = 0; i < status.slots.size() && i < worker.slots.size(); ++i) {
    const SlotStatus& slot = status.slots[i];
    const Slot& mine = worker.slots[i];
    if (slot.executing != mine.last.executing && !mine.last.cancelling) {
      Fail("an order does not wait for a worker that listens", status.worker_id);
    }
    for (const HeldResult& held : mine.last.results) {
      const auto job = jobs_.find(held.lease.job_id);
      if (held.outcome.has_value() || job == jobs_.end() || liars_.contains(status.worker_id)) {
        continue;
      }
      if (useless_.contains(TextOf(held.lease))) continue;  // It was told to throw it away.
      // One worker is asked, and nobody while another one is at it.
      const bool is_needed = !job->second.done && !job->second.unsure &&
                             HoldingOf(job->first) == nullptr && HolderCount(job->first) == 1;
      if (is_needed && IsOf(held.lease, job->second, status.worker_id, mine.last.info)) {
        Fail("a result that is needed is asked for at once", held.lease.job_id);
      }
    }
    const bool is_idle =
        !slot.executing.has_value() && !mine.last.executing.has_value() &&
        mine.last.results.size() < static_cast<size_t>(options_.held_results_max) &&
        now > mine.paused_until;
    if (is_idle && !worker.drained && !worker.leaving && !worker.lost) {
      CheckIdle(now, view, status, slot, mine);
    }
  }
}

void TrackerModel::CheckIdle(absl::Time now, const TrackerView& view, const WorkerStatus& status,
                             const SlotStatus& slot, const Slot& mine) {
  for (const auto& [id, job] : jobs_) {
    if (!IsWaiting(job) || !Serves(slot.info, job.spec)) continue;
    if (IsAvoided(job, status.worker_id) && HasUntriedWorker(view, job)) continue;
    Fail("no job waits beside an idle slot",
         absl::StrCat(id, " beside ", status.worker_id, ", paused for ",
                      absl::FormatDuration(slot.paused_for), ", by the model until ",
                      absl::FormatDuration(mine.paused_until - now)));
    break;
  }
  for (const auto& [place, holding] : holdings_) {
    if (holding.worker == status.worker_id || !MayBeCopied(now, holding)) continue;
    const Job& job = jobs_.at(holding.lease.job_id);
    if (!Serves(slot.info, job.spec) || IsAvoided(job, status.worker_id)) continue;
    Fail("no silent worker's job waits beside an idle slot",
         absl::StrCat(TextOf(holding.lease), " beside ", status.worker_id));
  }
}

// Whoever says that it has a result has so long to send it. Then the next one is asked, and in the
// end the job is done anew.
void TrackerModel::CheckFetches(absl::Time now, const TrackerView& view) {
  for (auto& [id, job] : jobs_) {
    const int holder_count = job.done ? 0 : HolderCount(id);
    const bool awaits = holder_count > 0 && !job.unsure && !job.held_back &&
                        HoldingOf(id) == nullptr && now > job.paused_until && !AwaitsVerdict(job);
    job.awaits_result_since =
        awaits ? std::min(job.awaits_result_since, now) : absl::InfiniteFuture();
    // Each of those that there are, and each anew with what it says of another lease.
    const absl::Duration patience = options_.fetch_timeout * 2 * (view.workers.size() + 1);
    if (now - job.awaits_result_since <= patience) continue;
    if (DeadCount(job) >= options_.deaths_max || RefuserCount(job) > 0) continue;
    for (const std::string& worker_id : listening_) {
      const Worker& worker = workers_.at(worker_id);
      if (worker.drained || worker.leaving || worker.lost || IsAvoided(job, worker_id)) continue;
      for (const Slot& slot : worker.slots) {
        const bool is_idle = !slot.last.executing.has_value() && slot.last.results.empty() &&
                             now > slot.paused_until && Serves(slot.last.info, job.spec);
        if (is_idle) Fail("what a worker has and does not send is done anew", id);
      }
    }
  }
}

}  // namespace burnish::sim
