// Leases: who gets a job, and how it ends there.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "tests/sim/tracker_model.h"

namespace burnish::sim {

void TrackerModel::CheckLeases(absl::Time now, const TrackerView& view) {
  std::map<std::string, Holding> present;
  for (const WorkerStatus& status : view.workers) {
    for (int i = 0; i < static_cast<int>(status.slots.size()); ++i) {
      if (!status.slots[i].executing.has_value()) continue;
      const Lease& lease = *status.slots[i].executing;
      const std::string place = PlaceOf(status.worker_id, i);
      const auto old = holdings_.find(place);
      Holding holding{.worker = status.worker_id,
                      .slot = i,
                      .lease = lease,
                      .incarnation = workers_[status.worker_id].incarnation,
                      .since = now};
      if (old != holdings_.end() && old->second.IsSame(holding)) holding = old->second;
      present[place] = holding;
    }
  }
  // What is gone first: what it left behind may be there anew.
  for (const auto& [place, holding] : holdings_) {
    const auto now_there = present.find(place);
    if (now_there != present.end() && now_there->second.IsSame(holding)) continue;
    if (!WasNeverTheJobs(holding, present)) CheckVanished(now, holding);
  }
  std::set<std::string> present_jobs;
  for (const auto& [place, holding] : present) present_jobs.insert(holding.lease.job_id);
  NotePoison();
  CheckGivenUp(view, present_jobs);  // First: nobody gets it any more.
  // What was lost by the same tick was lost before.
  std::erase_if(jobs_, [](const auto& job) { return job.second.is_forgotten; });
  // In the order in which they were given out.
  std::vector<Holding*> appeared;
  for (auto& [place, holding] : present) {
    const auto old = holdings_.find(place);
    if (old == holdings_.end() || !old->second.IsSame(holding)) appeared.push_back(&holding);
    holding.unclaimed = !jobs_.contains(holding.lease.job_id);
    const auto& slot = workers_[holding.worker].slots;
    if (holding.slot < static_cast<int>(slot.size()) &&
        slot[holding.slot].last.executing == holding.lease) {
      holding.started = true;
    }
    const bool is_left = old != holdings_.end() && old->second.lease == holding.lease &&
                         old->second.incarnation != holding.incarnation;
    // Who lies may say that a process has what the one before it had.
    if (is_left && !liars_.contains(holding.worker)) {
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
  for (auto& [place, holding] : present) {
    // CheckCopy says so of the ones there were before.
    holding.copied |= holdings_[place].copied;
    holdings_[place] = holding;
    // A job from before this tracker, whose worker goes on with it: nobody else has had this lease.
    const auto job = jobs_.find(holding.lease.job_id);
    if (job == jobs_.end()) continue;
    job->second.issued.try_emplace(holding.lease.epoch, holding.worker);
    job->second.attempts = std::max(job->second.attempts, 1);
  }
  CheckTwice(present);
}

// A second lease of a job is a copy for a silent worker, which CheckCopy saw given; and there is no
// third one.
void TrackerModel::CheckTwice(const std::map<std::string, Holding>& present) {
  std::map<std::string, std::vector<const Holding*>> holdings;
  for (const auto& [place, holding] : present) {
    if (jobs_.contains(holding.lease.job_id)) holdings[holding.lease.job_id].push_back(&holding);
  }
  for (const auto& [id, of_job] : holdings) {
    if (of_job.size() < 2) continue;
    const std::string text =
        absl::StrCat(id, " at ", of_job[0]->worker, " and ", of_job[1]->worker);
    if (of_job.size() > 2) Fail("no job is leased three times", text);
    if (of_job[0]->worker == of_job[1]->worker) Fail("a copy is with another worker", text);
    if (!of_job[0]->is_copy && !of_job[1]->is_copy) Fail("no job is leased twice", text);
  }
}

void TrackerModel::CheckCopy(absl::Time now, const TrackerView& view, const Holding& holding,
                             const Job& job) {
  const std::string text = absl::StrCat(TextOf(holding.lease), " at ", holding.worker);
  for (auto& [place, other] : holdings_) {
    if (other.lease.job_id != job.spec.id || place == PlaceOf(holding.worker, holding.slot)) {
      continue;
    }
    if (now - workers_[other.worker].answered_at < options_.copy_silence) {
      Fail("a copy is for a worker that is silent", text);
    }
    if (other.copied) Fail("each silence brings one copy", text);
    other.copied = true;
  }
  if (IsAvoided(job, holding.worker)) Fail("what was lost is tried elsewhere", text);
  const SlotInfo& slot = workers_[holding.worker].slots[holding.slot].last.info;
  for (const auto& [id, other] : jobs_) {
    if (!IsWaiting(other) || !Serves(slot, other.spec)) continue;
    if (IsAvoided(other, holding.worker) && HasUntriedWorker(view, other)) continue;
    Fail("a copy takes no other job's place", absl::StrCat(text, " before ", id));
  }
}

// Somebody with an idle slot should have got a copy of it.
bool TrackerModel::MayBeCopied(absl::Time now, const Holding& holding) const {
  const auto job = jobs_.find(holding.lease.job_id);
  const auto worker = workers_.find(holding.worker);
  if (job == jobs_.end() || worker == workers_.end() || job->second.done || holding.copied ||
      job->second.unsure || now - worker->second.answered_at <= options_.copy_silence) {
    return false;
  }
  const auto count = std::count_if(holdings_.begin(), holdings_.end(), [&](const auto& other) {
    return other.second.lease.job_id == holding.lease.job_id;
  });
  return count == 1 && now > job->second.paused_until && !AwaitsVerdict(job->second) &&
         DeadCount(job->second) < options_.deaths_max && !IsHeldByWorker(job->first);
}

// Of an earlier tracker, and stopped when the job came: the worker cannot have had it, or another
// one is at it or has done it.
bool TrackerModel::WasNeverTheJobs(const Holding& holding,
                                   const std::map<std::string, Holding>& present) const {
  const auto job = jobs_.find(holding.lease.job_id);
  if (!holding.unclaimed || job == jobs_.end()) return false;
  const auto& slots = workers_.at(holding.worker).slots;
  if (holding.slot >= static_cast<int>(slots.size())) return true;
  const SlotInfo& slot = slots[holding.slot].last.info;
  return !IsOf(holding.lease, job->second, holding.worker, slot) || IsHeldByWorker(job->first) ||
         std::any_of(present.begin(), present.end(), [&](const auto& other) {
           return other.second.lease.job_id == holding.lease.job_id;
         });
}

// A job that comes while several wait for one goes to each of them in turn. Whoever reports gets
// one in any case.
void TrackerModel::NoteTurns(const Holding& holding, const Job& job) {
  workers_[holding.worker].passed_over = 0;
  if (holding.worker == reporting_) return;
  for (auto& [id, worker] : workers_) {
    const bool could = listening_.contains(id) && id != reporting_ && !worker.drained &&
                       !worker.leaving && !worker.lost && !IsAvoided(job, id) &&
                       std::any_of(worker.slots.begin(), worker.slots.end(), [&](const Slot& slot) {
                         const auto held_max = static_cast<size_t>(options_.held_results_max);
                         return !slot.last.executing.has_value() &&
                                slot.last.results.size() < held_max && now_ > slot.paused_until &&
                                Serves(slot.last.info, job.spec);
                       });
    if (id == holding.worker) continue;
    const bool has_one = std::any_of(holdings_.begin(), holdings_.end(),
                                     [&id = id](const auto& h) { return h.second.worker == id; });
    worker.passed_over = could && !has_one ? worker.passed_over + 1 : 0;
    if (worker.passed_over > static_cast<int>(workers_.size())) {
      Fail("workers that wait take turns", absl::StrCat(TextOf(holding.lease), " not to ", id));
    }
  }
}

void TrackerModel::CheckAppeared(absl::Time now, const TrackerView& view, Holding& holding) {
  const auto granted = grants_.find(holding.lease.epoch);
  const auto found = jobs_.find(holding.lease.job_id);
  const Worker& worker = workers_[holding.worker];
  // Whoever says that it has a lease of an earlier tracker may have made it up.
  const bool is_claim = liars_.contains(holding.worker) &&
                        holding.slot < static_cast<int>(worker.slots.size()) &&
                        worker.slots[holding.slot].last.executing == holding.lease;
  if (granted != grants_.end() || is_claim) {
    const Grant& grant = is_claim ? Grant() : granted->second;
    if (is_claim) {
      if (found != jobs_.end() && !IsOf(holding.lease, found->second, holding.worker,
                                        worker.slots[holding.slot].last.info)) {
        Fail("a lease stays with the process that it was given to", TextOf(holding.lease));
      }
    } else if (grant.job_id != holding.lease.job_id || grant.worker != holding.worker ||
               grant.incarnation != holding.incarnation || grant.slot != holding.slot) {
      Fail("a lease stays with the process that it was given to", TextOf(holding.lease));
    }
    // The worker was taken for lost, and was not.
    if (found != jobs_.end()) {
      Job& job = found->second;
      LeaveLine(job);
      const auto taken_back = std::erase_if(
          job.losses, [&](const Loss& loss) { return loss.epoch == holding.lease.epoch; });
      job.deaths.erase(holding.lease.epoch);
      auto& ends = workers_[holding.worker].ends;
      const auto end = std::find(ends.begin(), ends.end(), std::pair(job.spec.id, true));
      if (taken_back > 0 && end != ends.end()) ends.erase(end);
      job.held_back = false;
      job.unsure = false;
      job.paused_until = absl::InfinitePast();
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
  found->second.issued[holding.lease.epoch] = holding.worker;
  grants_[holding.lease.epoch] = {holding.lease.job_id, holding.worker, holding.incarnation,
                                  holding.slot};
  ++grant_count_;
  ++counted_.dispatched;
  ++found->second.attempts;
  CheckGrant(now, view, holding, found->second);
}

void TrackerModel::CheckGrant(absl::Time now, const TrackerView& view, Holding& holding, Job& job) {
  const std::string text = absl::StrCat(TextOf(holding.lease), " at ", holding.worker);
  Worker& worker = workers_[holding.worker];
  if (job.done) Fail("what has a result is not done again", text);
  job.unsure = false;
  if (now < job.paused_until) Fail("what was interrupted often gets a pause", text);
  if (AwaitsVerdict(job)) Fail("what was lost on so many workers awaits its verdict", text);
  if (DeadCount(job) >= options_.deaths_max) {
    Fail("what two workers died over goes to no third", text);
  }
  if (RefuserCount(job) >= options_.refusals_max) {
    Fail("what two workers refuse goes to no third", text);
  }
  holding.is_copy = HoldingOf(job.spec.id) != nullptr;
  counted_.copies += holding.is_copy ? 1 : 0;
  NoteTurns(holding, job);
  if (holding.is_copy) CheckCopy(now, view, holding, job);
  if (IsAvoided(job, holding.worker) && HasUntriedWorker(view, job)) {
    Fail("what was lost is tried elsewhere", text);
  }
  if (worker.drained || worker.leaving) Fail("a worker that goes gets no job", text);
  if (job.held_back && now < started_at_ + options_.recovery_period) {
    Fail("after a start workers may speak first", text);
  }
  job.held_back = false;
  if (holding.slot < static_cast<int>(worker.slots.size())) {
    const Slot& slot = worker.slots[holding.slot];
    if (!Serves(slot.last.info, job.spec)) Fail("a slot gets what it can do", text);
    if (slot.last.executing.has_value()) Fail("a slot executes one job", text);
    if (slot.last.results.size() >= static_cast<size_t>(options_.held_results_max)) {
      Fail("a worker holds a bounded number of results", text);
    }
    if (now < slot.paused_until) Fail("a slot that was at fault gets a pause", text);
  }
  // Unless the worker does not send it.
  const auto asked = fetched_since_.find(job.spec.id);
  const bool is_withheld =
      asked != fetched_since_.end() && now - asked->second >= options_.fetch_timeout;
  // Nor where a liar may have said that it has it too.
  if (HolderCount(job.spec.id, /*kept=*/true) > 0 && !is_withheld && liars_.empty()) {
    Fail("what a worker has done is not done again", text);
  }
  if (holding.is_copy) return;  // Of no queue.
  CheckOrder(text, job);
  if (holding.slot < static_cast<int>(worker.slots.size())) CheckLines(view, holding, job);
  if (strictly_fair_) CheckFairness(job);
}

}  // namespace burnish::sim
