#include "tests/sim/tracker_model.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace burnish::sim {

bool TrackerModel::IsFault(const HeldResult& result) {
  // A failure beside the payload is not a worker's to say.
  return result.outcome.has_value() && (std::holds_alternative<WorkerFault>(*result.outcome) ||
                                        std::holds_alternative<Failure>(*result.outcome));
}

std::string TrackerModel::PlaceOf(const std::string& worker, int slot) {
  return absl::StrCat(worker, "#", slot);
}

std::string TrackerModel::TextOf(const Lease& lease) {
  return absl::StrCat(lease.job_id, "@", lease.epoch);
}

void TrackerModel::Start(absl::Time now, const TrackerOptions& options) {
  options_ = options;
  started_at_ = now;
  last_order_ = 0;
  jobs_.clear();
  acknowledged_.clear();
  tuners_.clear();
  sessions_.clear();
  workers_.clear();
  holdings_.clear();
  faulted_now_.clear();
  forgotten_count_ = 0;
  given_up_count_ = 0;
  fetched_since_.clear();
  passed_over_.clear();
  starved_.clear();
  ResetShares();
}

void TrackerModel::Submitted(absl::Time now, const std::string& tuner,
                             const std::vector<JobSpec>& jobs, bool resubmission,
                             const absl::StatusOr<int64_t>& session) {
  if (!session.ok()) return;
  tuners_[tuner] = now;
  const auto [known, is_new] = sessions_.try_emplace(tuner, *session);
  if (!is_new && known->second != *session) Fail("a session lasts", tuner);
  if (is_new && !all_sessions_.insert({tuner, *session}).second) {
    Fail("no two sessions have one number", tuner);
  }
  for (const JobSpec& spec : jobs) {
    if (const auto job = jobs_.find(spec.id); job != jobs_.end()) {
      job->second.tuner = tuner;
      job->second.from_before |= resubmission;
      job->second.number = 0;  // A result is new to the tuner again.
      continue;
    }
    if (acknowledged_.contains(spec.id)) continue;
    Job& job = jobs_[spec.id];
    job.spec = spec;
    job.tuner = tuner;
    job.order = ++last_order_;
    job.from_before = resubmission;
    job.held_back = resubmission && now < started_at_ + options_.recovery_period;
    // A worker was at it before anybody asked: its lease begins now.
    for (auto& [place, holding] : holdings_) {
      if (holding.lease.job_id == spec.id) holding.since = now;
    }
  }
}

void TrackerModel::Collecting(absl::Time now, const CollectRequest& request) {
  tuners_[request.tuner_id] = now;
  const auto session = sessions_.find(request.tuner_id);
  for (const std::string& id : request.acknowledged) {
    acknowledged_.insert(id);
    jobs_.erase(id);
  }
  if (session == sessions_.end() || session->second != request.session) return;
  for (const int64_t number : request.unwanted) {
    for (auto job = jobs_.begin(); job != jobs_.end(); ++job) {
      if (job->second.tuner != request.tuner_id || job->second.number != number) continue;
      jobs_.erase(job);
      break;
    }
  }
}

void TrackerModel::WasCollected(const CollectRequest& request, const Collected& collected) {
  const std::string& tuner = request.tuner_id;
  const auto [known, is_new] = sessions_.try_emplace(tuner, collected.session);
  if (!is_new && known->second != collected.session) Fail("a session lasts", tuner);
  if (is_new && !all_sessions_.insert({tuner, collected.session}).second) {
    Fail("no two sessions have one number", tuner);
  }
  // What a tuner saw of another session is not what this one has.
  const bool has_results = std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& job) {
    return job.second.done && job.second.tuner == tuner;
  });
  if (request.session != collected.session && has_results && collected.results.empty()) {
    Fail("a new session brings all results", tuner);
  }
  int64_t last = request.session == collected.session ? request.seen_number : 0;
  for (const ResultEntry& result : collected.results) {
    if (result.number <= last) Fail("results come in the order of their numbers", result.job_id);
    last = result.number;
    if (acknowledged_.contains(result.job_id)) {
      Fail("what was acknowledged does not come again", result.job_id);
      return;
    }
    const auto found = jobs_.find(result.job_id);
    if (found == jobs_.end()) return Fail("a result is of a job that was asked for", result.job_id);
    Job& job = found->second;
    if (job.tuner != tuner) Fail("a result goes to its own tuner", result.job_id);
    if (std::holds_alternative<WorkerFault>(result.outcome)) {
      Fail("a worker's fault is no result", result.job_id);
    }
    const auto* failure = std::get_if<Failure>(&result.outcome);
    const bool is_poisoned = failure != nullptr && failure->kind == FailureKind::kPoisoned;
    const bool is_parked = failure != nullptr && failure->kind == FailureKind::kParked;
    if (is_poisoned && !job.was_poison) {
      Fail("poison is what was lost where all else goes well",
           absl::StrCat(result.job_id, ": ", failure->message));
    }
    if ((is_poisoned || is_parked) && !job.was_lost_much) {
      Fail("only what was lost often is given up",
           absl::StrCat(result.job_id, ": ", failure->message));
    }
    if (is_poisoned || is_parked) {
      // Of a job that is done already nothing is said that contradicts.
      const auto* mine = std::get_if<Failure>(&job.outcome);
      const bool may_be = !job.done || (mine != nullptr && mine->kind == FailureKind::kParked);
      if (may_be) FinishJob(job, result.outcome, "", 0);
    }
    if (!job.done) {
      Fail("a result is what a worker has sent", result.job_id);
    } else if (failure != nullptr) {
      // The tracker's own: its words are its own too.
      const auto* mine = std::get_if<Failure>(&job.outcome);
      if (mine == nullptr || mine->kind != failure->kind) {
        Fail("the first result stands", result.job_id);
      }
    } else if (job.outcome != result.outcome || job.source != result.worker_id) {
      Fail("the first result stands", result.job_id);
    }
    job.number = result.number;
  }
}

void TrackerModel::Cancelled(absl::Time now, const std::string& tuner,
                             const std::vector<std::string>& ids) {
  if (!tuners_.contains(tuner)) return;
  tuners_[tuner] = now;
  for (const std::string& id : ids) {
    const auto job = jobs_.find(id);
    if (job == jobs_.end() || job->second.done || job->second.tuner != tuner) continue;
    if (job->second.unsure) continue;  // Poisoned first, perhaps.
    FinishJob(job->second, Failure{.kind = FailureKind::kCancelled}, "", 0);
  }
}

void TrackerModel::Drained(const std::string& worker, bool undo) {
  if (const auto found = workers_.find(worker); found != workers_.end()) {
    found->second.drained = !undo;
  }
}

void TrackerModel::FinishJob(Job& job, const JobOutcome& outcome, const std::string& source,
                             int64_t epoch) {
  job.done = true;
  job.unsure = false;
  job.outcome = outcome;
  job.source = source;
  job.source_epoch = epoch;
  job.number = 0;
}

bool TrackerModel::IsOf(const Lease& lease, const Job& job, const std::string& worker,
                        const SlotInfo& slot) const {
  if (!Serves(slot, job.spec)) return false;
  // A number that this tracker has yet to give is no earlier one's.
  if (!job.issued.contains(lease.epoch)) {
    return job.from_before && (lease.epoch < options_.first_epoch || grants_.contains(lease.epoch));
  }
  return grants_.at(lease.epoch).worker == worker;
}

bool TrackerModel::Serves(const SlotInfo& slot, const JobSpec& job) {
  return slot.kind == job.kind && (job.device_key.empty() || slot.device_keys.empty() ||
                                   std::find(slot.device_keys.begin(), slot.device_keys.end(),
                                             job.device_key) != slot.device_keys.end());
}

void TrackerModel::CountFault(absl::Time now, Slot& slot) {
  const int doublings = std::min(slot.fault_streak++, 20);
  slot.paused_until = now + std::min(options_.fault_pause_max,
                                     options_.fault_pause_min * (int64_t{1} << doublings));
}

bool TrackerModel::IsOfPast(const WorkerReport& report, const Worker& worker) const {
  if (report.incarnation == worker.incarnation) return report.sequence <= worker.sequence;
  return report.incarnation == worker.replaced || (report.epoch > 0 && report.epoch < worker.epoch);
}

void TrackerModel::TakeOver(const WorkerReport& report, const SyncReply& reply, Worker& worker) {
  if (worker.incarnation == report.incarnation) return;
  if (worker.incarnation != 0) {
    const auto claim = worker.claims.find(report.incarnation);
    if (claim == worker.claims.end() || claim->second != report.epoch) {
      Fail("who takes a worker's place has echoed its epoch", report.worker_id);
    }
    worker.restarted_now = true;
    worker.was_leaving = worker.leaving;
    worker.replaced = worker.incarnation;
  }
  worker.incarnation = report.incarnation;
  worker.epoch = reply.orders.epoch;
  worker.slots.assign(report.slots.size(), Slot());
  worker.stopping.clear();
  worker.reports.clear();
}

void TrackerModel::Reported(absl::Time now, const WorkerReport& report,
                            const absl::StatusOr<SyncReply>& answer) {
  now_ = now;
  const auto known = workers_.find(report.worker_id);
  const bool is_taken = answer.ok() && answer->admitted;
  if (known != workers_.end() && IsOfPast(report, known->second)) {
    if (is_taken) {
      Fail("reports of the past have no effect",
           absl::StrCat(report.worker_id, " report ", report.sequence, " of epoch ", report.epoch,
                        " after report ", known->second.sequence, " of epoch ",
                        known->second.epoch));
    }
    return;
  }
  if (!answer.ok()) {
    if (!absl::IsResourceExhausted(answer.status())) {
      Fail("a report of the present is taken",
           absl::StrCat(report.worker_id, ": ", answer.status().ToString()));
    }
    return;
  }
  if (!is_taken) {
    if (known == workers_.end() || known->second.incarnation == report.incarnation) {
      Fail("a report of the present is taken", report.worker_id);
    } else {
      known->second.claims[report.incarnation] = answer->orders.epoch;
    }
    return;
  }
  Worker& worker = workers_[report.worker_id];
  TakeOver(report, *answer, worker);
  worker.sequence = report.sequence;
  worker.seen_at = now;
  worker.answered_at = worker.closed_at = absl::InfiniteFuture();
  worker.lost = false;
  for (auto& [place, holding] : holdings_) {
    if (holding.worker == report.worker_id) holding.copied = false;
  }
  worker.leaving = report.leaving;
  worker.reports[report.sequence] = report.slots;
  while (worker.reports.size() > 8) worker.reports.erase(worker.reports.begin());
  worker.slots.resize(report.slots.size());
  for (int i = 0; i < static_cast<int>(report.slots.size()); ++i) {
    worker.slots[i].last = report.slots[i];
    for (const HeldResult& result : report.slots[i].results) {
      TakeResult(now, report.worker_id, i, result);
    }
  }
}

void TrackerModel::CallBroke(absl::Time now, const std::string& worker, int64_t sequence) {
  const auto found = workers_.find(worker);
  if (found == workers_.end() || found->second.sequence != sequence) return;
  found->second.closed_at = now;
}

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

void TrackerModel::NotePoison() {
  for (auto& [id, job] : jobs_) {
    std::set<std::string> witnesses;
    for (const Loss& loss : job.losses) {
      if (!loss.refused && DoesWell(job, loss)) witnesses.insert(loss.worker);
    }
    if (static_cast<int>(witnesses.size()) >= options_.losses_max) job.was_poison = true;
  }
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

void TrackerModel::TakeResult(absl::Time now, const std::string& id, int slot_index,
                              const HeldResult& result) {
  if (!result.outcome.has_value()) return;
  const auto found = jobs_.find(result.lease.job_id);
  if (found == jobs_.end() || found->second.done) return;
  Job& job = found->second;
  Slot& slot = workers_[id].slots[slot_index];
  if (!IsOf(result.lease, job, id, slot.last.info)) return;
  if (IsFault(result)) {
    const auto holding = holdings_.find(PlaceOf(id, slot_index));
    if (holding == holdings_.end() || holding->second.lease != result.lease) return;
    const auto* fault = std::get_if<WorkerFault>(&*result.outcome);
    faulted_now_[TextOf(result.lease)] = fault == nullptr     ? Ending::kFault
                                         : fault->refused     ? Ending::kRefusal
                                         : fault->interrupted ? Ending::kInterruption
                                                              : Ending::kFault;
    return;
  }
  if (job.unsure) return;  // It may have been given up before this came.
  slot.fault_streak = 0;
  NoteEnd(workers_[id], result.lease.job_id, /*lost=*/false);
  FinishJob(job, *result.outcome, id, result.lease.epoch);
  NotePoison();
}

void TrackerModel::Ordered(absl::Time now, const std::string& id, const WorkerOrders& orders) {
  const auto found = workers_.find(id);
  if (found == workers_.end()) return;
  Worker& worker = found->second;
  if (orders.sequence == worker.sequence) worker.answered_at = now;
  const auto report = worker.reports.find(orders.sequence);
  if (report == worker.reports.end()) return;
  for (size_t i = 0; i < orders.slots.size() && i < report->second.size(); ++i) {
    const std::optional<Lease>& executing = report->second[i].executing;
    if (executing.has_value() && executing != orders.slots[i].lease) {
      worker.stopping.insert(TextOf(*executing));
    }
    for (const std::string& job_id : orders.slots[i].discard) {
      const auto job = jobs_.find(job_id);
      // Needed still: the tuner has asked for it and does not have it.
      if (job == jobs_.end() || job->second.unsure) continue;
      for (const HeldResult& held : report->second[i].results) {
        if (held.lease.job_id != job_id || IsFault(held)) continue;
        if (!IsOf(held.lease, job->second, id, report->second[i].info)) continue;
        const bool is_source =
            job->second.source == id && job->second.source_epoch == held.lease.epoch;
        if (!job->second.done || is_source) {
          Fail("a result is kept until its tuner has it", absl::StrCat(job_id, " at ", id));
        }
      }
    }
  }
}

}  // namespace burnish::sim
