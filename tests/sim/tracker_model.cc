#include "tests/sim/tracker_model.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace burnish::sim {

bool TrackerModel::IsFault(const HeldResult& result) {
  return result.outcome.has_value() && std::holds_alternative<WorkerFault>(*result.outcome);
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
  poisoned_count_ = 0;
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
      job->second.number = 0;  // A result is new to the tuner again.
      continue;
    }
    if (acknowledged_.contains(spec.id)) continue;
    Job& job = jobs_[spec.id];
    job.spec = spec;
    job.tuner = tuner;
    job.order = ++last_order_;
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
    if (!job.done && failure != nullptr && failure->kind == FailureKind::kPoisoned) {
      if (static_cast<int>(job.losses.size()) < options_.losses_max) {
        Fail("only what was lost often is poison",
             absl::StrCat(result.job_id, ": ", failure->message));
      }
      FinishJob(job, result.outcome, "", 0);
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

void TrackerModel::CountFault(absl::Time now, Slot& slot) {
  const int doublings = std::min(slot.fault_streak++, 20);
  slot.paused_until = now + std::min(options_.fault_pause_max,
                                     options_.fault_pause_min * (int64_t{1} << doublings));
}

void TrackerModel::Reported(absl::Time now, const WorkerReport& report,
                            const absl::Status& status) {
  const auto known = workers_.find(report.worker_id);
  const bool is_of_past =
      known != workers_.end() &&
      (report.boot_epoch < known->second.boot ||
       (report.boot_epoch == known->second.boot && report.sequence <= known->second.sequence));
  if (is_of_past) {
    if (status.ok()) {
      Fail("reports of the past have no effect",
           absl::StrCat(report.worker_id, " boot ", report.boot_epoch, " report ", report.sequence,
                        " after boot ", known->second.boot, " report ", known->second.sequence));
    }
    return;
  }
  if (!status.ok()) {
    if (!absl::IsResourceExhausted(status)) {
      Fail("a report of the present is taken",
           absl::StrCat(report.worker_id, ": ", status.ToString()));
    }
    return;
  }
  Worker& worker = workers_[report.worker_id];
  if (worker.boot != report.boot_epoch) {
    worker.restarted_now = worker.boot != 0;
    worker.boot = report.boot_epoch;
    worker.slots.assign(report.slots.size(), Slot());
    worker.stopping.clear();
    worker.reports.clear();
  }
  worker.sequence = report.sequence;
  worker.seen_at = now;
  worker.lost = false;
  worker.leaving = report.leaving;
  worker.reports[report.sequence] = report.slots;
  while (worker.reports.size() > 8) worker.reports.erase(worker.reports.begin());
  worker.slots.resize(report.slots.size());
  for (int i = 0; i < static_cast<int>(report.slots.size()); ++i) {
    for (const HeldResult& result : report.slots[i].results) {
      TakeResult(now, report.worker_id, i, result);
    }
    worker.slots[i].last = report.slots[i];
  }
}

void TrackerModel::TakeResult(absl::Time now, const std::string& id, int slot_index,
                              const HeldResult& result) {
  if (!result.outcome.has_value()) return;
  const auto found = jobs_.find(result.lease.job_id);
  if (found == jobs_.end() || found->second.done) return;
  Job& job = found->second;
  Slot& slot = workers_[id].slots[slot_index];
  if (IsFault(result)) {
    const auto holding = holdings_.find(PlaceOf(id, slot_index));
    if (holding == holdings_.end() || holding->second.lease != result.lease) return;
    faulted_now_.insert(TextOf(result.lease));
    return;
  }
  if (job.unsure) return;  // It may have been poisoned before this came.
  slot.fault_streak = 0;
  FinishJob(job, *result.outcome, id, result.lease.epoch);
}

void TrackerModel::Ordered(const std::string& id, const WorkerOrders& orders) {
  const auto found = workers_.find(id);
  if (found == workers_.end()) return;
  Worker& worker = found->second;
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
