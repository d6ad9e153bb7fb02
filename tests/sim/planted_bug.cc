#include "tests/sim/planted_bug.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace burnish::sim {

const std::array<BugInfo, kBugCount>& AllBugs() {
  static constexpr std::array<BugInfo, kBugCount> kBugs = {{
      {Bug::kAcknowledgedAtSight, "acknowledged_at_sight"},
      {Bug::kRestartKeepsLeases, "restart_keeps_leases"},
      {Bug::kSilentNeverLost, "silent_never_lost"},
      {Bug::kJobLimitIgnored, "job_limit_ignored"},
      {Bug::kStaleReportsTaken, "stale_reports_taken"},
      {Bug::kNoFencing, "no_fencing"},
      {Bug::kLostOrdersAreLosses, "lost_orders_are_losses"},
      {Bug::kStaleOrdersApplied, "stale_orders_applied"},
      {Bug::kAcknowledgedForgotten, "acknowledged_forgotten"},
      {Bug::kOneStudyGetsAll, "one_study_gets_all"},
      {Bug::kTimeLimitIgnored, "time_limit_ignored"},
      {Bug::kTimerNotRearmed, "timer_not_rearmed"},
      {Bug::kCancelIgnored, "cancel_ignored"},
      {Bug::kResubmissionReversed, "resubmission_reversed"},
      {Bug::kGraceIgnored, "grace_ignored"},
      {Bug::kAcknowledgementsLeak, "acknowledgements_leak"},
      {Bug::kResultsSwapped, "results_swapped"},
      {Bug::kForgottenWhenSent, "forgotten_when_sent"},
      {Bug::kDiscardedWhenReceived, "discarded_when_received"},
      {Bug::kNudgeForgotten, "nudge_forgotten"},
      {Bug::kDrainIgnored, "drain_ignored"},
      {Bug::kEpochsRepeat, "epochs_repeat"},
      {Bug::kFaultIsResult, "fault_is_result"},
      {Bug::kPoisonAtFirstLoss, "poison_at_first_loss"},
      {Bug::kPrioritiesIgnored, "priorities_ignored"},
      {Bug::kNoPauseAfterFaults, "no_pause_after_faults"},
      {Bug::kResultsComeTwice, "results_come_twice"},
      {Bug::kJobsDroppedWhenFull, "jobs_dropped_when_full"},
      {Bug::kNewSessionIgnored, "new_session_ignored"},
      {Bug::kOutcomeForgotten, "outcome_forgotten"},
      {Bug::kCopiesAtOnce, "copies_at_once"},
      {Bug::kNeverCopied, "never_copied"},
      {Bug::kCopiesWithoutEnd, "copies_without_end"},
      {Bug::kAnyLeaseBelieved, "any_lease_believed"},
      {Bug::kImpossibleBelieved, "impossible_believed"},
  }};
  return kBugs;
}

const char* BugName(Bug bug) {
  for (const BugInfo& info : AllBugs()) {
    if (info.bug == bug) return info.name;
  }
  return "none";
}

// ---- Tracker ----

SuspectTracker::SuspectTracker(TrackerOptions options, absl::Time now, Bug bug)
    : bug_(bug), recovered_at_(now + options.recovery_period), core_(Spoil(options, bug), now) {}

TrackerOptions SuspectTracker::Spoil(TrackerOptions options, Bug bug) {
  if (bug == Bug::kSilentNeverLost) options.lease_duration = absl::Hours(1000);
  if (bug == Bug::kJobLimitIgnored) options.jobs_max = 1'000'000;
  if (bug == Bug::kAcknowledgedForgotten) options.acknowledged_memory = 0;
  if (bug == Bug::kGraceIgnored) options.recovery_period = absl::ZeroDuration();
  if (bug == Bug::kEpochsRepeat) options.first_epoch = 1;
  if (bug == Bug::kCopiesAtOnce) options.copy_silence = absl::ZeroDuration();
  if (bug == Bug::kNeverCopied) options.copy_silence = absl::InfiniteDuration();
  if (bug == Bug::kPoisonAtFirstLoss) options.losses_max = 1;
  if (bug == Bug::kNoPauseAfterFaults) {
    options.fault_pause_min = options.fault_pause_max = absl::ZeroDuration();
  }
  return options;
}

absl::StatusOr<int64_t> SuspectTracker::Submit(absl::Time now, const std::string& tuner_id,
                                               std::vector<JobSpec> jobs, bool resubmission,
                                               const std::string& client) {
  for (JobSpec& job : jobs) {
    if (first_study_.empty()) first_study_ = job.study;
    if (bug_ == Bug::kOneStudyGetsAll && job.study == first_study_) job.priority += 100;
    if (bug_ == Bug::kPrioritiesIgnored) job.priority = 0;
    if (bug_ == Bug::kCopiesWithoutEnd) specs_[job.id] = job;
    if (bug_ == Bug::kTimeLimitIgnored) job.timeout = absl::ZeroDuration();
  }
  // Of a job from before the core cannot know who had it.
  const bool is_from_before =
      resubmission || (bug_ == Bug::kAnyLeaseBelieved && now >= recovered_at_);
  return core_.Submit(now, tuner_id, std::move(jobs), is_from_before, client);
}

Collected SuspectTracker::Collect(absl::Time now, CollectRequest request) {
  if (bug_ == Bug::kAcknowledgementsLeak) {
    std::erase_if(request.acknowledged,
                  [this](const std::string&) { return ++acknowledged_count_ % 5 == 0; });
  }
  Collected collected = core_.Collect(now, request);
  std::vector<std::string> ids;
  for (const ResultEntry& result : collected.results) {
    ids.push_back(result.job_id);
  }
  if (bug_ == Bug::kForgottenWhenSent && !ids.empty()) {
    core_.Collect(now, {.tuner_id = request.tuner_id,
                        .client = request.client,
                        .acknowledged = ids,
                        .seen_number = request.seen_number,
                        .session = request.session});
  }
  if (bug_ == Bug::kResultsSwapped && collected.results.size() > 1) {
    std::swap(collected.results[0].outcome, collected.results[1].outcome);
  }
  return collected;
}

int64_t SuspectTracker::Cancel(absl::Time now, const std::string& tuner_id,
                               const std::vector<std::string>& ids, const std::string& study) {
  std::vector<std::string> told = ids;
  if (bug_ == Bug::kCancelIgnored) {
    for (const WorkerStatus& worker : core_.ListWorkers(now)) {
      for (const SlotStatus& slot : worker.slots) {
        if (slot.executing.has_value()) std::erase(told, slot.executing->job_id);
      }
    }
  }
  return core_.Cancel(now, tuner_id, told, bug_ == Bug::kCancelIgnored ? "" : study);
}

bool SuspectTracker::HasAliases() const {
  return bug_ == Bug::kRestartKeepsLeases || bug_ == Bug::kStaleReportsTaken ||
         bug_ == Bug::kNoFencing || bug_ == Bug::kLostOrdersAreLosses;
}

bool SuspectTracker::Pass(Alias& alias, WorkerReport& report, SyncReply& turned_away) {
  alias.last_epoch = std::max(alias.last_epoch, report.epoch);
  if (alias.incarnation == 0) alias.incarnation = alias.first = report.incarnation;
  const bool is_old = alias.replaced.contains(report.incarnation);
  if (report.incarnation == alias.incarnation || is_old) return true;
  if (alias.claims.contains(report.incarnation) &&
      alias.claims[report.incarnation] == report.epoch) {
    return true;
  }
  // As the core itself would: whoever is not known has to echo an epoch.
  const int64_t epoch = alias.claims[report.incarnation] = ++alias.last_epoch;
  turned_away = {
      .admitted = false, .orders = {.sequence = report.sequence, .epoch = epoch}, .urgent = true};
  return false;
}

void SuspectTracker::Disguise(absl::Time now, WorkerReport& report) {
  Alias& alias = aliases_[report.worker_id];
  const bool is_new = report.incarnation != alias.incarnation;
  if (is_new) alias.replaced.insert(alias.incarnation);
  if (is_new) alias.outer = 0;
  alias.incarnation = report.incarnation;
  const bool is_stale = report.sequence <= alias.outer;
  if (bug_ == Bug::kRestartKeepsLeases) {
    report.incarnation = alias.first;
    report.epoch = 0;
  } else {
    // For the core a process that it has never met, and that has echoed already.
    if (is_new) ++alias.made_up;
    report.incarnation = alias.first + alias.made_up * 1'000'000;
    if (is_new) {
      report.epoch = 0;
      WorkerReport claim = report;
      claim.sequence = ++alias.sequence;
      const absl::StatusOr<SyncReply> reply = core_.Synchronize(now, claim);
      if (reply.ok()) alias.core_epoch = reply->orders.epoch;
    }
    report.epoch = alias.core_epoch;
  }
  if (is_stale && bug_ != Bug::kStaleReportsTaken) {
    report.sequence = alias.sequence;
    return;
  }
  alias.outer = report.sequence;
  alias.executing.resize(report.slots.size());
  alias.ordered.resize(report.slots.size());
  if (bug_ == Bug::kLostOrdersAreLosses && !is_new) {
    // As if it had said that it executes what it was ordered to.
    WorkerReport made_up = report;
    made_up.sequence = ++alias.sequence;
    bool differs = false;
    for (size_t i = 0; i < report.slots.size(); ++i) {
      const std::optional<Lease>& ordered = alias.ordered[i];
      if (!ordered.has_value() || report.slots[i].executing == ordered) continue;
      const auto& results = report.slots[i].results;
      const bool is_done = std::any_of(results.begin(), results.end(), [&](const auto& result) {
        return result.lease == *ordered;
      });
      if (is_done) continue;
      made_up.slots[i].executing = ordered;
      made_up.slots[i].cancelling = false;
      differs = true;
    }
    if (differs) core_.Synchronize(now, made_up).IgnoreError();
  }
  if (bug_ == Bug::kRestartKeepsLeases && alias.incarnation != alias.first) {
    for (size_t i = 0; i < report.slots.size(); ++i) {
      if (!report.slots[i].executing.has_value() && report.slots[i].results.empty()) {
        report.slots[i].executing = alias.executing[i];
      }
    }
  }
  report.sequence = ++alias.sequence;
  for (size_t i = 0; i < report.slots.size(); ++i) {
    alias.executing[i] = report.slots[i].executing;
  }
}

void SuspectTracker::Remember(Alias& alias, WorkerOrders& orders) {
  for (size_t i = 0; i < orders.slots.size(); ++i) {
    alias.ordered[i] = orders.slots[i].lease;
    if (orders.slots[i].lease != alias.executing[i]) alias.executing[i].reset();
  }
  orders.sequence = alias.outer;
  orders.epoch = alias.last_epoch;
}

absl::Status SuspectTracker::CheckBuildLease(absl::Time now, const std::string& worker_id,
                                             int64_t incarnation, const Lease& lease) const {
  if (HasAliases()) return absl::OkStatus();
  return core_.CheckBuildLease(now, worker_id, incarnation, lease);
}

absl::StatusOr<SyncReply> SuspectTracker::Synchronize(absl::Time now, WorkerReport report) {
  if (HasAliases()) {
    Alias& alias = aliases_[report.worker_id];
    SyncReply turned_away;
    const bool is_old = alias.replaced.contains(report.incarnation);
    if (is_old && bug_ != Bug::kNoFencing) return absl::FailedPreconditionError("replaced");
    if (!Pass(alias, report, turned_away)) return turned_away;
    Disguise(now, report);
  }
  if (bug_ == Bug::kFaultIsResult) {
    for (SlotReport& slot : report.slots) {
      for (HeldResult& result : slot.results) {
        if (result.outcome.has_value() && std::holds_alternative<WorkerFault>(*result.outcome)) {
          result.outcome = std::string("fault");
        }
      }
    }
  }
  absl::StatusOr<SyncReply> reply = core_.Synchronize(now, report);
  if (reply.ok() && HasAliases()) Remember(aliases_[report.worker_id], reply->orders);
  if (reply.ok() && bug_ == Bug::kCopiesWithoutEnd) CopyOnceMore(now, report, *reply);
  return reply;
}

void SuspectTracker::CopyOnceMore(absl::Time now, const WorkerReport& report, SyncReply& reply) {
  std::map<std::string, std::vector<Lease>> leases;  // By job.
  for (const WorkerStatus& worker : core_.ListWorkers(now)) {
    for (const SlotStatus& slot : worker.slots) {
      if (slot.executing.has_value()) leases[slot.executing->job_id].push_back(*slot.executing);
    }
  }
  for (size_t i = 0; i < reply.orders.slots.size(); ++i) {
    SlotOrders& orders = reply.orders.slots[i];
    third_leases_.erase({report.worker_id, i});
    if (orders.lease.has_value() || report.slots[i].executing.has_value()) continue;
    for (const auto& [id, of_job] : leases) {
      const auto spec = specs_.find(id);
      if (of_job.size() < 2 || spec == specs_.end()) continue;
      if (spec->second.kind != report.slots[i].info.kind) continue;
      orders.job = spec->second;
      // As the core would number it.
      orders.lease = Lease{.job_id = id, .epoch = of_job.back().epoch + 500'000};
      third_leases_[{report.worker_id, i}] = *orders.lease;
      reply.urgent = true;
      break;
    }
  }
}

std::vector<WorkerStatus> SuspectTracker::ListWorkers(absl::Time now) const {
  std::vector<WorkerStatus> workers = core_.ListWorkers(now);
  for (WorkerStatus& worker : workers) {
    for (size_t i = 0; i < worker.slots.size(); ++i) {
      const auto third = third_leases_.find({worker.worker_id, i});
      if (third == third_leases_.end() || worker.slots[i].executing.has_value()) continue;
      worker.slots[i].executing = third->second;
    }
  }
  return workers;
}

std::optional<WorkerOrders> SuspectTracker::OrdersFor(absl::Time now, const std::string& id,
                                                      int64_t sequence) {
  if (!HasAliases()) return core_.OrdersFor(now, id, sequence);
  Alias& alias = aliases_[id];
  if (alias.outer != sequence) return std::nullopt;
  std::optional<WorkerOrders> orders = core_.OrdersFor(now, id, alias.sequence);
  if (orders.has_value()) Remember(alias, *orders);
  return orders;
}

void SuspectTracker::CallBroke(absl::Time now, const std::string& worker_id, int64_t sequence) {
  if (HasAliases()) {
    const Alias& alias = aliases_[worker_id];
    if (alias.outer != sequence) return;
    sequence = alias.sequence;
  }
  core_.CallBroke(now, worker_id, sequence);
}

void SuspectTracker::Tick(absl::Time now) {
  ++tick_count_;
  core_.Tick(now);
}

absl::Time SuspectTracker::NextTick() const {
  if (bug_ == Bug::kTimerNotRearmed && tick_count_ > 0) return absl::InfiniteFuture();
  return core_.NextTick();
}

std::vector<std::string> SuspectTracker::TakeReadyWorkers() {
  std::vector<std::string> ready = core_.TakeReadyWorkers();
  if (bug_ == Bug::kNudgeForgotten) {
    std::erase_if(ready, [this](const std::string&) { return ++nudge_count_ % 3 == 0; });
  }
  return ready;
}

void SuspectTracker::Drain(absl::Time now, const std::string& worker_id, bool undo) {
  if (bug_ != Bug::kDrainIgnored) core_.Drain(now, worker_id, undo).IgnoreError();
}

// ---- Client ----

std::vector<ResultEntry> SuspectClient::Add(std::vector<JobSpec> jobs, bool resubmission) {
  std::vector<ResultEntry> results = core_.Add(std::move(jobs), resubmission);
  if (bug_ == Bug::kAcknowledgedAtSight) {
    for (const ResultEntry& result : results) core_.Acknowledge({result.job_id});
  }
  return results;
}

std::optional<SubmitBatch> SuspectClient::NextBatch() {
  std::optional<SubmitBatch> batch = core_.NextBatch();
  if (bug_ == Bug::kResubmissionReversed && batch.has_value() && batch->resubmission) {
    std::reverse(batch->jobs.begin(), batch->jobs.end());
  }
  return batch;
}

void SuspectClient::BatchTaken(int64_t session) {
  if (session_ == 0) session_ = session;
  core_.BatchTaken(bug_ == Bug::kNewSessionIgnored ? session_ : session);
}

void SuspectClient::BatchFailed(bool too_many) {
  if (bug_ == Bug::kJobsDroppedWhenFull && session_ != 0) {
    core_.BatchTaken(session_);
  } else {
    core_.BatchFailed(too_many);
  }
}

std::vector<ResultEntry> SuspectClient::Collect(const CollectRequest& request,
                                                Collected collected) {
  if (session_ == 0) session_ = collected.session;
  if (bug_ == Bug::kNewSessionIgnored) {
    collected.session = session_;
  } else {
    session_ = collected.session;
  }
  std::vector<ResultEntry> results = core_.Collect(request, collected);
  if (bug_ == Bug::kAcknowledgedAtSight) {
    for (const ResultEntry& result : results) core_.Acknowledge({result.job_id});
  }
  if (bug_ == Bug::kResultsComeTwice && !results.empty() && ++result_count_ % 10 == 0) {
    results.push_back(results.back());
  }
  return results;
}

// ---- Agent ----

WorkerReport SuspectAgent::MakeReport() {
  WorkerReport report = core_.MakeReport();
  sequence_ = report.sequence;
  if (bug_ == Bug::kOutcomeForgotten) {
    for (SlotReport& slot : report.slots) {
      if (slot.executing.has_value()) slot.results.clear();
    }
  }
  return report;
}

std::vector<SlotAction> SuspectAgent::Apply(WorkerOrders orders) {
  if (bug_ == Bug::kStaleOrdersApplied) orders.sequence = sequence_;
  if (bug_ == Bug::kDiscardedWhenReceived) {
    for (SlotOrders& slot : orders.slots) {
      slot.discard.insert(slot.discard.end(), slot.received.begin(), slot.received.end());
    }
  }
  return core_.Apply(orders);
}

void SuspectAgent::Finished(int slot_index, JobOutcome outcome) {
  core_.Finished(slot_index, std::move(outcome));
}

}  // namespace burnish::sim
