// What is checked of a tracker after each event.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "tests/sim/tracker_model.h"

namespace burnish::sim {
namespace {

bool Serves(const SlotInfo& slot, const JobSpec& job) {
  return slot.kind == job.kind && (job.device_key.empty() || slot.device_keys.empty() ||
                                   std::find(slot.device_keys.begin(), slot.device_keys.end(),
                                             job.device_key) != slot.device_keys.end());
}

}  // namespace

void TrackerModel::Observe(absl::Time now, const TrackerView& view) {
  DropSilentTuners(now, view);
  CheckLeases(now, view);
  CheckCounts(now, view);
  CheckClocks(now, view);
  faulted_now_.clear();
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
    std::erase_if(jobs_, [&](const auto& job) { return job.second.tuner == tuner->first; });
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

void TrackerModel::CheckLeases(absl::Time now, const TrackerView& view) {
  std::map<std::string, Holding> present;
  std::map<std::string, std::string> place_of_job;
  for (const WorkerStatus& status : view.workers) {
    for (int i = 0; i < static_cast<int>(status.slots.size()); ++i) {
      if (!status.slots[i].executing.has_value()) continue;
      const Lease& lease = *status.slots[i].executing;
      const std::string place = PlaceOf(status.worker_id, i);
      const auto old = holdings_.find(place);
      Holding holding{.worker = status.worker_id,
                      .slot = i,
                      .lease = lease,
                      .boot = workers_[status.worker_id].boot,
                      .since = now};
      if (old != holdings_.end() && old->second.lease == lease) holding = old->second;
      const auto [other, is_first] = place_of_job.try_emplace(lease.job_id, place);
      if (!is_first && jobs_.contains(lease.job_id)) {
        Fail("no job is leased twice",
             absl::StrCat(lease.job_id, " at ", other->second, " and ", place));
      }
      present[place] = holding;
    }
  }
  // What is gone first: what it left behind may be there anew.
  for (const auto& [place, holding] : holdings_) {
    const auto now_there = present.find(place);
    if (now_there != present.end() && now_there->second.lease == holding.lease) continue;
    CheckVanished(now, holding);
  }
  // In the order in which they were given out.
  std::vector<Holding*> appeared;
  for (auto& [place, holding] : present) {
    const auto old = holdings_.find(place);
    if (old == holdings_.end() || old->second.lease != holding.lease) appeared.push_back(&holding);
    const auto& slot = workers_[holding.worker].slots;
    if (holding.slot < static_cast<int>(slot.size()) &&
        slot[holding.slot].last.executing == holding.lease) {
      holding.started = true;
    }
    if (holding.boot != workers_[holding.worker].boot) {
      Fail("no lease outlives its worker's process",
           absl::StrCat(TextOf(holding.lease), " at ", holding.worker));
    }
  }
  std::sort(appeared.begin(), appeared.end(),
            [](const Holding* a, const Holding* b) { return a->lease.epoch < b->lease.epoch; });
  for (const auto& [place, holding] : present) {
    // Of the places that did not change, so that a grant in this event sees them as taken.
    if (std::find(appeared.begin(), appeared.end(), &present[place]) == appeared.end()) continue;
    holdings_.erase(place);
  }
  std::erase_if(holdings_, [&](const auto& entry) { return !present.contains(entry.first); });
  for (Holding* holding : appeared) {
    CheckAppeared(now, view, *holding);
    holdings_[PlaceOf(holding->worker, holding->slot)] = *holding;
  }
  for (const auto& [place, holding] : present) holdings_[place] = holding;
}

void TrackerModel::CheckVanished(absl::Time now, const Holding& holding) {
  const std::string text = TextOf(holding.lease);
  const auto found = jobs_.find(holding.lease.job_id);
  if (found == jobs_.end() || found->second.done) return;
  Job& job = found->second;
  Worker& worker = workers_[holding.worker];
  Slot* slot =
      holding.slot < static_cast<int>(worker.slots.size()) ? &worker.slots[holding.slot] : nullptr;
  const bool was_restarted = holding.boot != worker.boot;
  const bool was_silent = now - worker.seen_at >= options_.lease_duration;
  const bool has_faulted = faulted_now_.contains(text);
  const bool is_over =
      job.spec.timeout > absl::ZeroDuration() && now - holding.since >= job.spec.timeout;
  const bool has_stopped = holding.started && slot != nullptr &&
                           slot->last.executing != holding.lease && worker.stopping.contains(text);
  if (!was_restarted && !was_silent && !has_faulted && !is_over && !has_stopped) {
    Fail("every loss has a cause", absl::StrCat(text, " at ", holding.worker));
    return;
  }
  if (slot != nullptr && !was_restarted && !was_silent) CountFault(now, *slot);
  job.losses.push_back(holding.lease.epoch);
  // It may be poisoned now: nobody but its result will say so.
  job.unsure = static_cast<int>(job.losses.size()) >= options_.losses_max;
  if (job.unsure) ResetShares();
}

void TrackerModel::CheckAppeared(absl::Time now, const TrackerView& view, Holding& holding) {
  const auto granted = grants_.find(holding.lease.epoch);
  const auto found = jobs_.find(holding.lease.job_id);
  if (granted != grants_.end()) {
    const Grant& grant = granted->second;
    if (grant.job_id != holding.lease.job_id || grant.worker != holding.worker ||
        grant.boot != holding.boot || grant.slot != holding.slot) {
      Fail("a lease stays with the process that it was given to", TextOf(holding.lease));
    }
    // The worker was taken for lost, and was not.
    if (found != jobs_.end()) {
      std::erase(found->second.losses, holding.lease.epoch);
      found->second.held_back = false;
      if (found->second.unsure) {
        found->second.unsure = false;
      }
    }
    return;
  }
  if (found == jobs_.end()) {
    if (acknowledged_.contains(holding.lease.job_id)) {
      Fail("what was acknowledged is not done again", TextOf(holding.lease));
    } else {
      Fail("only what was asked for is done", TextOf(holding.lease));
    }
    return;
  }
  grants_[holding.lease.epoch] = {holding.lease.job_id, holding.worker, holding.boot, holding.slot};
  ++grant_count_;
  CheckGrant(now, holding, found->second);
}

void TrackerModel::CheckGrant(absl::Time now, const Holding& holding, Job& job) {
  const std::string text = absl::StrCat(TextOf(holding.lease), " at ", holding.worker);
  Worker& worker = workers_[holding.worker];
  if (job.done) Fail("what has a result is not done again", text);
  job.unsure = false;
  if (worker.drained || worker.leaving) Fail("a worker that goes gets no job", text);
  if (job.held_back && now < started_at_ + options_.recovery_period) {
    Fail("after a start workers may speak first", text);
  }
  job.held_back = false;
  if (holding.slot < static_cast<int>(worker.slots.size())) {
    const Slot& slot = worker.slots[holding.slot];
    if (!Serves(slot.last.info, job.spec)) Fail("a slot gets what it can do", text);
    if (slot.last.executing.has_value()) Fail("a slot executes one job", text);
    if (slot.last.results.size() >= WorkerReport::kHeldResultsMax) {
      Fail("a worker holds a bounded number of results", text);
    }
    if (now < slot.paused_until) Fail("a slot that was at fault gets a pause", text);
  }
  if (IsHeldByWorker(job.spec.id)) Fail("what a worker has done is not done again", text);
  for (const auto& [id, other] : jobs_) {
    if (&other == &job || !IsWaiting(other) || DemandOf(other.spec) != DemandOf(job.spec)) continue;
    if (other.spec.priority > job.spec.priority) {
      Fail("a higher priority goes first", absl::StrCat(text, " before ", id));
    }
    if (other.spec.priority == job.spec.priority && other.spec.study == job.spec.study &&
        other.order < job.order) {
      Fail("a study's jobs keep their order", absl::StrCat(text, " before ", id));
    }
  }
  if (strictly_fair_) CheckFairness(job);
}

void TrackerModel::CheckFairness(const Job& job) {
  const Demand demand = DemandOf(job.spec);
  std::set<std::string> waiting;
  for (const auto& [id, other] : jobs_) {
    if (&other != &job && IsWaiting(other) && DemandOf(other.spec) == demand) {
      waiting.insert(other.spec.study);
    }
  }
  // Both must wait before and after, else the one without jobs would be owed for nothing.
  std::erase_if(shares_, [&](const auto& share) {
    const auto& [studies_of, difference] = share;
    return studies_of.first == demand && (!waiting.contains(studies_of.second.first) ||
                                          !waiting.contains(studies_of.second.second));
  });
  const std::string& study = job.spec.study;
  if (!waiting.contains(study)) return;
  // FairQueue: quantum + 2 * the highest cost of a job.
  const int64_t bound = options_.queue_quantum + 2 * 4;
  for (const std::string& other : waiting) {
    if (other == study) continue;
    const bool is_first = study < other;
    int64_t& difference =
        shares_[{demand, is_first ? std::pair(study, other) : std::pair(other, study)}];
    difference += is_first ? job.spec.cost : -job.spec.cost;
    if (std::abs(difference) > bound) {
      Fail("studies share evenly",
           absl::StrCat(study, " is ahead of ", other, " by ", std::abs(difference)));
    }
  }
}

bool TrackerModel::IsHeldByWorker(const std::string& job_id) const {
  for (const auto& [id, worker] : workers_) {
    if (worker.lost) continue;
    for (const Slot& slot : worker.slots) {
      for (const HeldResult& result : slot.last.results) {
        // Also one that was sent before anybody had asked for the job.
        if (result.lease.job_id == job_id && !IsFault(result)) return true;
      }
    }
  }
  return false;
}

bool TrackerModel::IsWaiting(const Job& job) const {
  if (job.done || job.unsure || job.held_back || IsHeldByWorker(job.spec.id)) return false;
  return HoldingOf(job.spec.id) == nullptr;
}

const TrackerModel::Holding* TrackerModel::HoldingOf(const std::string& job_id) const {
  for (const auto& [place, holding] : holdings_) {
    if (holding.lease.job_id == job_id) return &holding;
  }
  return nullptr;
}

void TrackerModel::CheckCounts(absl::Time now, const TrackerView& view) {
  for (auto& [id, job] : jobs_) {
    if (!job.held_back) continue;
    // Its worker has spoken. If that one dies, nobody else can have it.
    const bool has_spoken = IsHeldByWorker(id) || HoldingOf(id) != nullptr;
    if (!has_spoken && now < started_at_ + options_.recovery_period) continue;
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
  if (total > options_.jobs_max) Fail("a tracker takes so many jobs", absl::StrCat(total));
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
    if (job == jobs_.end() || job->second.spec.timeout == absl::ZeroDuration()) continue;
    if (now - holding.since > job->second.spec.timeout) {
      Fail("a job's time limit ends its lease", TextOf(holding.lease));
    }
  }
  std::set<std::string> listed;
  for (const WorkerStatus& status : view.workers) {
    listed.insert(status.worker_id);
    Worker& worker = workers_[status.worker_id];
    worker.lost = status.liveness == WorkerLiveness::kLost;
    const absl::Duration silence = now - worker.seen_at;
    if (!worker.lost && silence > options_.lease_duration) {
      Fail("a silent worker is lost", status.worker_id);
    }
    if (worker.lost && silence < options_.lease_duration) {
      Fail("a worker that speaks is not lost", status.worker_id);
    }
    for (size_t i = 0; i < status.slots.size() && i < worker.slots.size(); ++i) {
      const absl::Duration paused = status.slots[i].paused_for;
      if (paused > absl::ZeroDuration() && now + paused > worker.slots[i].paused_until) {
        Fail("a pause is as long as the faults in a row", status.worker_id);
      }
    }
  }
  std::erase_if(workers_, [&](const auto& worker) { return !listed.contains(worker.first); });
}

void TrackerModel::CheckNobodyWaits(absl::Time now, const TrackerView& view) {
  for (const auto& [tuner, request] : view.hanging_tuners) {
    for (const auto& [id, job] : jobs_) {
      if (job.done && job.tuner == tuner && (job.number == 0 || job.number > request.seen_number)) {
        Fail("a result does not wait for a tuner that listens", id);
      }
    }
  }
  for (const WorkerStatus& status : view.workers) {
    const auto hanging = view.hanging_workers.find(status.worker_id);
    const Worker& worker = workers_[status.worker_id];
    if (hanging == view.hanging_workers.end() || hanging->second != worker.sequence) continue;
    for (size_t i = 0; i < status.slots.size() && i < worker.slots.size(); ++i) {
      const SlotStatus& slot = status.slots[i];
      const Slot& mine = worker.slots[i];
      if (slot.executing != mine.last.executing && !mine.last.cancelling) {
        Fail("an order does not wait for a worker that listens", status.worker_id);
      }
      const bool is_idle = !slot.executing.has_value() && !mine.last.executing.has_value() &&
                           mine.last.results.size() < WorkerReport::kHeldResultsMax &&
                           now > mine.paused_until;
      if (!is_idle || worker.drained || worker.leaving || worker.lost) continue;
      for (const auto& [id, job] : jobs_) {
        if (!IsWaiting(job) || !Serves(slot.info, job.spec)) continue;
        Fail("no job waits beside an idle slot",
             absl::StrCat(id, " beside ", status.worker_id, ", paused for ",
                          absl::FormatDuration(slot.paused_for), ", by the model until ",
                          absl::FormatDuration(mine.paused_until - now)));
        break;
      }
    }
  }
}

}  // namespace burnish::sim
