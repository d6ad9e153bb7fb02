#include "tests/sim/tracker_model.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace burnish::sim {
namespace {

// As tracker_core_workers.cc: what a worker says above it was made up.
constexpr int64_t kEpochBelievedMax = int64_t{1} << 48;

}  // namespace

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
  acknowledged_order_.clear();
  counted_ = {};
  taken_count_ = 0;
  was_unsure_ = false;
  useless_.clear();
  tuners_.clear();
  sessions_.clear();
  workers_.clear();
  holdings_.clear();
  faulted_now_.clear();
  doubtful_.clear();
  ended_now_.clear();
  forgotten_count_ = 0;
  given_up_count_ = parked_count_ = 0;
  fetched_since_.clear();
  passed_over_.clear();
  starved_.clear();
  below_.clear();
  beside_.clear();
  reporting_.clear();
  listening_.clear();
  said_unmatched_.clear();
  ResetShares();
}

void TrackerModel::Submitted(absl::Time now, const std::string& tuner,
                             const std::vector<JobSpec>& jobs, bool resubmission,
                             const absl::StatusOr<int64_t>& session) {
  CheckAdmission(tuner, jobs, session.status());
  if (!session.ok()) return;
  tuners_[tuner] = now;
  const auto [known, is_new] = sessions_.try_emplace(tuner, *session);
  if (!is_new && known->second != *session) Fail("a session lasts", tuner);
  if (is_new && !all_sessions_.insert({tuner, *session}).second) {
    Fail("no two sessions have one number", tuner);
  }
  for (const JobSpec& spec : jobs) {
    if (const auto job = jobs_.find(spec.id); job != jobs_.end()) {
      ++counted_.resubmitted;
      job->second.from_before |= resubmission;
      job->second.number = 0;  // A result is new to the tuner again.
      continue;
    }
    if (IsAcknowledgedBy(tuner, spec.id)) continue;
    ++counted_.submitted;
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
    for (auto& [id, worker] : workers_) {
      for (Slot& slot : worker.slots) {
        if (slot.unclaimed.has_value() && slot.unclaimed->job_id == spec.id) slot.unclaimed.reset();
      }
    }
  }
}

void TrackerModel::Collecting(absl::Time now, const CollectRequest& request) {
  tuners_[request.tuner_id] = now;
  const auto session = sessions_.find(request.tuner_id);
  std::set<Worker*> sources;
  for (const std::string& id : request.acknowledged) {
    const auto job = jobs_.find(id);
    if (job == jobs_.end()) {
      RememberAcknowledged(request.tuner_id, id);
    } else if (job->second.tuner == request.tuner_id) {  // Else not its to give away.
      ++counted_.acknowledged;
      if (const auto worker = workers_.find(job->second.source); worker != workers_.end()) {
        sources.insert(&worker->second);
      }
      RememberAcknowledged(request.tuner_id, id);
      if (const auto said = acknowledged_.find(id); said != acknowledged_.end()) {
        said->second = request.tuner_id;
      }
      jobs_.erase(job);
    }
  }
  // Now, and not at the end of the event: of what others acknowledge without a job nobody is told.
  for (Worker* worker : sources) worker->may_discard_now |= MayDiscardMany(*worker);
  if (session == sessions_.end() || session->second != request.session) return;
  for (const int64_t number : request.unwanted) {
    for (auto job = jobs_.begin(); job != jobs_.end(); ++job) {
      if (job->second.tuner != request.tuner_id || job->second.number != number) continue;
      jobs_.erase(job);
      break;
    }
  }
}

bool TrackerModel::MayDiscardMany(const Worker& worker) const {
  const auto patience = worker.leaving ? 1 : options_.hurried_discards;
  return std::any_of(worker.slots.begin(), worker.slots.end(), [&](const Slot& slot) {
    const auto is_needless = [this](const HeldResult& held) {
      const std::string& id = held.lease.job_id;
      return !jobs_.contains(id) && acknowledged_.contains(id);
    };
    const std::vector<HeldResult>& results = slot.last.results;
    return std::count_if(results.begin(), results.end(), is_needless) >= patience;
  });
}

void TrackerModel::RememberAcknowledged(const std::string& tuner, const std::string& job_id) {
  // Nobody counts on what workers have of it any more, also once it is forgotten.
  for (const auto& [id, worker] : workers_) {
    for (const Slot& slot : worker.slots) {
      for (const HeldResult& held : slot.last.results) {
        if (held.lease.job_id == job_id) useless_.insert(TextOf(held.lease));
      }
    }
  }
  if (!acknowledged_.try_emplace(job_id, tuner).second) return;
  acknowledged_order_.push_back(job_id);
  if (acknowledged_order_.size() <= static_cast<size_t>(options_.acknowledged_memory)) return;
  acknowledged_.erase(acknowledged_order_.front());
  acknowledged_order_.pop_front();
}

void TrackerModel::WasCollected(const CollectRequest& request, const Collected& collected) {
  const std::string& tuner = request.tuner_id;
  const auto [known, is_new] = sessions_.try_emplace(tuner, collected.session);
  if (!is_new && known->second != collected.session) Fail("a session lasts", tuner);
  if (is_new && !all_sessions_.insert({tuner, collected.session}).second) {
    Fail("no two sessions have one number", tuner);
  }
  CheckCollected(request, collected);
  said_unmatched_.emplace_back(tuner, collected.unmatched);
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
    const auto found = jobs_.find(result.job_id);
    if (found == jobs_.end()) {
      return Fail(acknowledged_.contains(result.job_id)
                      ? "what was acknowledged does not come again"
                      : "a result is of a job that was asked for",
                  result.job_id);
    }
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
    } else if (failure != nullptr && failure->kind == FailureKind::kCancelled &&
               job.was_cancelled && job.unsure) {
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
    } else if (job.outcome != result.outcome || job.source != result.worker_id ||
               result.worker_address != AddressOf(result.worker_id)) {
      Fail("the first result stands", result.job_id);
    }
    job.number = result.number;
    if (result.attempt_count != job.attempts) {
      Fail("attempts are counted", absl::StrCat(result.job_id, " has had ", result.attempt_count,
                                                ", by the model ", job.attempts));
    }
  }
}

void TrackerModel::Cancelled(absl::Time now, const std::string& tuner,
                             const std::vector<std::string>& ids, const std::string& study,
                             int64_t count) {
  int64_t sure = 0, unsure = 0;
  if (tuners_.contains(tuner)) tuners_[tuner] = now;
  for (auto& [id, job] : jobs_) {
    const bool is_named = std::find(ids.begin(), ids.end(), id) != ids.end() ||
                          (!study.empty() && job.spec.study == study);
    if (!is_named || job.done || job.tuner != tuner) continue;
    ++(job.unsure ? unsure : sure);
    job.was_cancelled = true;
    if (job.unsure) continue;  // Poisoned first, perhaps.
    FinishJob(job, Failure{.kind = FailureKind::kCancelled}, "", 0);
  }
  if (count < sure || count > sure + unsure) {
    Fail("a tuner cancels its own jobs that are open",
         absl::StrCat(tuner, " ended ", count, ", by the model ", sure));
  }
  counted_.cancelled += count;
}

void TrackerModel::Drained(const std::string& worker, bool undo) {
  if (const auto found = workers_.find(worker); found != workers_.end()) {
    found->second.drained = !undo;
  }
}

void TrackerModel::FinishJob(Job& job, const JobOutcome& outcome, const std::string& source,
                             int64_t epoch) {
  LeaveLine(job);
  job.done = job.done_now = true;
  job.unsure = false;
  job.outcome = outcome;
  job.source = source;
  job.source_epoch = epoch;
  job.number = 0;
}

bool TrackerModel::IsOf(const Lease& lease, const Job& job, const std::string& worker,
                        const SlotInfo& slot) const {
  if (!Serves(slot, job.spec)) return false;
  const auto issued = job.issued.find(lease.epoch);
  if (issued != job.issued.end()) return issued->second == worker;
  // A number that this tracker has yet to give is no earlier one's. Sessions have some of them.
  const bool is_given =
      grants_.contains(lease.epoch) ||
      std::any_of(all_sessions_.begin(), all_sessions_.end(),
                  [&](const auto& session) { return session.second == lease.epoch; });
  return job.from_before && (lease.epoch < options_.first_epoch || is_given);
}

bool TrackerModel::Serves(const SlotInfo& slot, const JobSpec& job) {
  const bool has_labels = std::all_of(job.labels.begin(), job.labels.end(), [&](const auto& label) {
    const auto own = slot.labels.find(label.first);
    return own != slot.labels.end() && own->second == label.second;
  });
  return slot.kind == job.kind && has_labels &&
         (job.device_key.empty() || slot.device_keys.empty() ||
          std::find(slot.device_keys.begin(), slot.device_keys.end(), job.device_key) !=
              slot.device_keys.end());
}

bool TrackerModel::AreSlotsOf(const WorkerReport& report, const Worker& worker) {
  return std::equal(
      report.slots.begin(), report.slots.end(), worker.slots.begin(), worker.slots.end(),
      [](const SlotReport& now, const Slot& slot) { return now.info.kind == slot.last.info.kind; });
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
    worker.told_drained = false;
    ++counted_.workers_lost;
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
    counted_.stale_reports += report.incarnation == known->second.incarnation ? 1 : 0;
    return;
  }
  if (!answer.ok()) {
    const bool is_other = known != workers_.end() && known->second.slots.size() != 0 &&
                          !AreSlotsOf(report, known->second) &&
                          absl::IsInvalidArgument(answer.status());
    const bool is_full = known == workers_.end() && absl::IsResourceExhausted(answer.status()) &&
                         workers_.size() >= static_cast<size_t>(options_.workers_max) &&
                         std::none_of(workers_.begin(), workers_.end(),
                                      [](const auto& entry) { return entry.second.lost; });
    const bool is_made_up =
        known != workers_.end() && known->second.incarnation != report.incarnation &&
        report.epoch > kEpochBelievedMax && absl::IsFailedPrecondition(answer.status());
    if (!is_other && !is_full && !is_made_up) {
      Fail("a report of the present is taken",
           absl::StrCat(report.worker_id, ": ", answer.status().ToString()));
    }
    return;
  }
  if (answer->orders.epoch > kEpochBelievedMax) {
    Fail("no number is derived from what a worker makes up", report.worker_id);
  }
  if (!is_taken) {
    if (known == workers_.end() || known->second.incarnation == report.incarnation) {
      Fail("a report of the present is taken", report.worker_id);
    } else {
      known->second.claims[report.incarnation] = answer->orders.epoch;
    }
    return;
  }
  if (known != workers_.end() && known->second.incarnation == report.incarnation &&
      !AreSlotsOf(report, known->second)) {
    Fail("a worker's slots stay what they are", report.worker_id);
    return;
  }
  reporting_ = report.worker_id;
  Worker& worker = workers_[report.worker_id];
  TakeOver(report, *answer, worker);
  worker.host = report.host;
  worker.calibration = report.calibration;
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
    Slot& slot = worker.slots[i];
    slot.last = report.slots[i];
    std::map<std::string, absl::Time> held_since;
    std::map<std::string, bool> held_fault;
    for (const HeldResult& result : report.slots[i].results) {
      const std::string text = TextOf(result.lease);
      const auto since = slot.held_since.find(text);
      held_since[text] = since == slot.held_since.end() ? now : since->second;
      held_fault[text] = slot.held_fault[text];
      TakeResult(now, report.worker_id, i, result, held_fault[text]);
    }
    slot.held_since = std::move(held_since);
    slot.held_fault = std::move(held_fault);
    NoteWaiting(now, PlaceOf(report.worker_id, i), report.slots[i]);
    const std::optional<Lease>& executing = report.slots[i].executing;
    const bool is_known = !executing.has_value() || jobs_.contains(executing->job_id);
    if (!is_known && slot.unclaimed == executing) continue;
    // What was acknowledged is stopped at once, and is nobody's again when that is forgotten.
    const bool is_unclaimed = !is_known && !acknowledged_.contains(executing->job_id);
    slot.unclaimed = is_unclaimed ? executing : std::nullopt;
    slot.unclaimed_since = now;
  }
  CheckUrgency(report, *answer, worker);
}

void TrackerModel::NoteWaiting(absl::Time now, const std::string& place, const SlotReport& report) {
  const auto found = holdings_.find(place);
  if (found == holdings_.end() || report.executing != found->second.lease) return;
  Holding& holding = found->second;
  // Nobody counts the time of what nobody has asked for.
  const bool waits = holding.waiting_since != absl::InfiniteFuture();
  if (holding.unclaimed || report.waiting == waits) return;
  if (waits) holding.waited += now - holding.waiting_since;
  holding.waiting_since = report.waiting ? now : absl::InfiniteFuture();
}

void TrackerModel::CallBroke(absl::Time now, const std::string& worker, int64_t sequence) {
  const auto found = workers_.find(worker);
  if (found == workers_.end() || found->second.sequence != sequence) return;
  found->second.closed_at = now;
}

void TrackerModel::TakeResult(absl::Time now, const std::string& id, int slot_index,
                              const HeldResult& result, bool& is_fault) {
  const auto found = jobs_.find(result.lease.job_id);
  if (found == jobs_.end()) {
    is_fault |= IsFault(result);
    return;
  }
  Job& job = found->second;
  Slot& slot = workers_[id].slots[slot_index];
  const bool is_source = job.source == id && job.source_epoch == result.lease.epoch;
  // Whatever the slot says that it can do by now.
  const auto holding = holdings_.find(PlaceOf(id, slot_index));
  if (IsFault(result) && holding != holdings_.end() && holding->second.lease == result.lease) {
    const auto* fault = std::get_if<WorkerFault>(&*result.outcome);
    const Ending ending = fault == nullptr     ? Ending::kFault
                          : fault->refused     ? Ending::kRefusal
                          : fault->interrupted ? Ending::kInterruption
                                               : Ending::kFault;
    faulted_now_.try_emplace(TextOf(result.lease), ending);
  }
  if (IsFault(result)) useless_.insert(TextOf(result.lease));
  if (job.done ? !is_source : !IsOf(result.lease, job, id, slot.last.info)) {
    useless_.insert(TextOf(result.lease));
    return;
  }
  if (job.done) return;
  is_fault |= IsFault(result);
  if (is_fault || !result.outcome.has_value()) return;
  if (job.unsure) {
    doubtful_.push_back({id, slot_index, result});
  } else {
    TakeFirst(job, id, slot, result);
  }
}

void TrackerModel::TakeFirst(Job& job, const std::string& id, Slot& slot,
                             const HeldResult& result) {
  slot.fault_streak = 0;
  ++slot.done_count;
  ++taken_count_;
  NoteEnd(workers_[id], result.lease.job_id, /*lost=*/false);
  FinishJob(job, *result.outcome, id, result.lease.epoch);
  NotePoison();
}

// What its slot counts says whether the job was given up before its result came.
void TrackerModel::TakeDoubtful(const TrackerView& view) {
  for (const Doubtful& doubtful : std::exchange(doubtful_, {})) {
    const auto job = jobs_.find(doubtful.result.lease.job_id);
    const auto status = std::find_if(
        view.workers.begin(), view.workers.end(),
        [&](const WorkerStatus& worker) { return worker.worker_id == doubtful.worker; });
    if (job == jobs_.end() || !job->second.unsure || status == view.workers.end()) continue;
    Slot& slot = workers_[doubtful.worker].slots.at(doubtful.slot);
    if (status->slots.at(doubtful.slot).done_count > slot.done_count) {
      TakeFirst(job->second, doubtful.worker, slot, doubtful.result);
    } else {
      FinishJob(job->second, Failure{.kind = FailureKind::kParked}, "", 0);
    }
  }
}

void TrackerModel::Ordered(absl::Time now, const WorkerStatus& status, const WorkerOrders& orders) {
  const std::string& id = status.worker_id;
  const auto found = workers_.find(id);
  if (found == workers_.end()) return;
  Worker& worker = found->second;
  if (orders.sequence == worker.sequence) worker.answered_at = now;
  if (orders.draining != worker.drained || orders.epoch != worker.epoch ||
      orders.lease_duration != options_.lease_duration ||
      orders.slots.size() != worker.slots.size()) {
    Fail("orders say how things stand", id);
    return;
  }
  worker.told_drained = orders.draining;
  const auto report = worker.reports.find(orders.sequence);
  if (report == worker.reports.end()) return;
  for (size_t i = 0; i < orders.slots.size() && i < report->second.size(); ++i) {
    CheckSlotOrders(PlaceOf(id, static_cast<int>(i)), orders.slots[i], status.slots.at(i),
                    report->second[i]);
    if (!liars_.contains(id)) {
      CheckHeld(now, id, orders.slots[i], report->second[i], worker.slots[i]);
    }
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
        // Once a fault, always one: who contradicts itself is not believed.
        if (liars_.contains(id) && useless_.contains(TextOf(held.lease))) continue;
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
