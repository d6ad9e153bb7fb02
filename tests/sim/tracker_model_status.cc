// What a tracker says, by the word of the model: to tuners, to workers, and to people.
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "tests/sim/tracker_model.h"
#include "tracker/retry_after.h"

namespace burnish::sim {
namespace {

// As tracker_core.cc: when whoever was refused is told to come again.
constexpr absl::Duration kRetryAfterMin = absl::Milliseconds(100);
constexpr absl::Duration kRetryAfterMax = absl::Seconds(2);

// As job_book.cc: of a text beside its bytes, in whatever a tuner may make long.
constexpr int64_t kTextBytes = 64;

int64_t BytesOf(const JobOutcome& outcome) {
  if (const auto* missing = std::get_if<ArtifactMissing>(&outcome)) {
    return static_cast<int64_t>(missing->sha256.size()) * kTextBytes;
  }
  const auto* payload = std::get_if<std::string>(&outcome);
  return payload == nullptr ? 0 : static_cast<int64_t>(payload->size());
}

int64_t BytesOf(const JobSpec& job) {
  auto bytes = static_cast<int64_t>(job.payload.size());
  for (const auto& [name, value] : job.labels) {
    bytes += 2 * (kTextBytes + static_cast<int64_t>(name.size() + value.size()));
  }
  for (const std::string& worker : job.avoid_workers) {
    bytes += 2 * (kTextBytes + static_cast<int64_t>(worker.size()));
  }
  return bytes;
}

bool Has(const std::vector<std::string>& ids, const std::string& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// What the model sees each time.
struct Counted {
  const char* name;
  int64_t Counters::* value;
};
constexpr Counted kCounted[] = {
    {"submitted", &Counters::submitted},
    {"resubmitted", &Counters::resubmitted},
    {"refused_full", &Counters::refused_full},
    {"dispatched", &Counters::dispatched},
    {"copies", &Counters::copies},
    {"stale_reports", &Counters::stale_reports},
    {"workers_lost", &Counters::workers_lost},
    {"leases_lost", &Counters::leases_lost},
    {"worker_faults", &Counters::worker_faults},
    {"interruptions", &Counters::interruptions},
    {"refusals", &Counters::refusals},
    {"timed_out", &Counters::timed_out},
    {"cancelled", &Counters::cancelled},
    {"acknowledged", &Counters::acknowledged},
};

}  // namespace

bool TrackerModel::AnyUnsure() const {
  return std::any_of(jobs_.begin(), jobs_.end(),
                     [](const auto& entry) { return entry.second.unsure; });
}

// ---- Tuners ----

bool TrackerModel::HasRoomForTuner(const std::string& tuner) const {
  if (tuners_.contains(tuner)) return true;
  const int64_t left = options_.tuners_max - static_cast<int64_t>(tuners_.size()) - 1;
  const auto own = std::count_if(tuners_.begin(), tuners_.end(), [&](const auto& other) {
    return ClientOf(other.first) == ClientOf(tuner);
  });
  return left >= 0 && own + 1 <= std::max(options_.share_tuners_min, 7 * left);
}

void TrackerModel::CheckRoom(const std::string& tuner, bool is_there) {
  if (HasRoomForTuner(tuner) != is_there) Fail("each client has room for its tuners", tuner);
}

void TrackerModel::CheckAdmission(const std::string& tuner, const std::vector<JobSpec>& jobs,
                                  const absl::Status& answer) {
  counted_.refused_full += absl::IsResourceExhausted(answer) ? 1 : 0;
  if (absl::IsResourceExhausted(answer)) {
    const std::optional<absl::Duration> again = GetRetryAfter(answer);
    if (!again.has_value() || *again < kRetryAfterMin || *again > kRetryAfterMax) {
      Fail("who is refused is told when to come again", tuner);
    }
  }
  if (AnyUnsure()) return;  // Nobody knows how much room there is.
  // In the order of `limits` below.
  using Room = std::array<int64_t, 5>;
  int64_t new_count = 0, open_count = 0, done_count = 0;
  Room all{}, of_tuner{}, of_client{};
  std::set<std::tuple<std::string, Line, std::string, int32_t>> lanes;
  const auto add = [&](const std::string& owner, const Room& room) {
    for (size_t i = 0; i < room.size(); ++i) {
      all[i] += room[i];
      of_tuner[i] += owner == tuner ? room[i] : 0;
      of_client[i] += ClientOf(owner) == ClientOf(tuner) ? room[i] : 0;
    }
  };
  const auto add_open = [&](const std::string& owner, const JobSpec& spec) {
    const bool is_new =
        lanes.insert({owner, LineOf({.spec = spec}), spec.study, spec.priority}).second;
    add(owner, {1, BytesOf(spec), 0, 0, is_new ? 1 : 0});
  };
  bool is_anothers = false;
  for (const JobSpec& spec : jobs) {
    const auto known = jobs_.find(spec.id);
    if (known != jobs_.end()) {
      is_anothers |= known->second.tuner != tuner;
      continue;
    }
    ++new_count;
    add_open(tuner, spec);
  }
  for (const auto& [id, job] : jobs_) {
    ++(job.done ? done_count : open_count);
    job.done ? add(job.tuner, {0, 0, 1, BytesOf(job.outcome), 0}) : add_open(job.tuner, job.spec);
  }
  // One result more than there is: what is open will end.
  ++all[2];
  ++all[3];
  const Room limits = {options_.jobs_max, options_.job_bytes_max, options_.results_max,
                       options_.result_bytes_max, options_.lanes_max};
  const Room shares = {options_.share_jobs_min, options_.share_bytes_min, options_.share_jobs_min,
                       options_.share_bytes_min, options_.share_lanes_min};
  bool is_full = false;
  for (size_t i = 0; i < limits.size(); ++i) {
    const int64_t left = limits[i] - all[i];
    // A tuner has no more than it leaves, a client no more than seven times as much.
    is_full |= left < 0 || of_tuner[i] > std::max(shares[i], left) ||
               of_client[i] > std::max(shares[i], 7 * left);
  }
  is_full &= new_count > 0;
  const absl::StatusCode want = !HasRoomForTuner(tuner) ? absl::StatusCode::kResourceExhausted
                                : is_anothers           ? absl::StatusCode::kPermissionDenied
                                : is_full               ? absl::StatusCode::kResourceExhausted
                                                        : absl::StatusCode::kOk;
  if (answer.code() != want) {
    Fail("a tracker takes what is a tuner's own and fits",
         absl::StrCat(tuner, " with ", new_count, " beside ", open_count, " and ", done_count, ": ",
                      answer.ToString()));
  }
}

void TrackerModel::CheckCollected(const CollectRequest& request, const Collected& collected) {
  int64_t bytes = 0, next_bytes = 0;
  for (const ResultEntry& result : collected.results) bytes += BytesOf(result.outcome);
  const int64_t seen = request.session == collected.session ? request.seen_number : 0;
  std::set<std::string> sent;
  for (const ResultEntry& result : collected.results) sent.insert(result.job_id);
  bool is_all = true;
  for (const auto& [id, job] : jobs_) {
    const bool is_news = job.done && job.tuner == request.tuner_id &&
                         (job.number == 0 || job.number > seen) && !sent.contains(id);
    is_all &= !is_news;
    if (is_news) next_bytes = std::max(next_bytes, BytesOf(job.outcome));
  }
  const auto count = static_cast<int64_t>(collected.results.size());
  if (count > options_.results_per_reply_max ||
      (count > 1 && bytes > options_.result_bytes_per_reply_max)) {
    Fail("an answer has a bounded size", request.tuner_id);
  }
  if (!is_all && count < options_.results_per_reply_max &&
      bytes + next_bytes <= options_.result_bytes_per_reply_max) {
    Fail("an answer has all results that fit", request.tuner_id);
  }
  if (collected.urgent != (count > 0 || request.session != collected.session)) {
    Fail("a call hangs when there is nothing to say", request.tuner_id);
  }
}

// ---- Workers ----

void TrackerModel::CheckUrgency(const WorkerReport& report, const SyncReply& answer,
                                const Worker& worker) {
  bool has_news = worker.drained != worker.told_drained;
  const auto patience = static_cast<size_t>(report.leaving ? 1 : options_.hurried_discards);
  for (size_t i = 0; i < answer.orders.slots.size() && i < report.slots.size(); ++i) {
    const SlotOrders& orders = answer.orders.slots[i];
    const SlotReport& slot = report.slots[i];
    has_news |= orders.lease != slot.executing && !slot.cancelling;
    has_news |= !orders.send.empty() || orders.discard.size() >= patience;
  }
  if (answer.urgent != has_news) {
    Fail("a call hangs when there is nothing to say", report.worker_id);
  }
}

void TrackerModel::CheckSlotOrders(const std::string& text, const SlotOrders& orders,
                                   const SlotStatus& status, const SlotReport& report) {
  if (orders.lease != status.executing) {
    Fail("orders say how things stand", absl::StrCat(text, ", of its lease"));
  }
  if (!orders.lease.has_value()) {
    if (orders.job.has_value()) Fail("a job comes with its lease", text);
    return;
  }
  const auto job = jobs_.find(orders.lease->job_id);
  const bool has_begun = report.executing == orders.lease;
  if (orders.job.has_value() != (job != jobs_.end() && !has_begun)) {
    Fail("a job is sent until its worker has begun it",
         absl::StrCat(text, ": ", TextOf(*orders.lease)));
  } else if (orders.job.has_value() && *orders.job != job->second.spec) {
    Fail("a job arrives as it was sent", absl::StrCat(text, ": ", TextOf(*orders.lease)));
  }
}

// Of results that a worker holds: which it has to send, which it need not send again, and which it
// may throw away.
void TrackerModel::CheckHeld(absl::Time now, const std::string& id, const SlotOrders& orders,
                             const SlotReport& report, const Slot& slot) {
  std::map<std::string, int> leases;
  for (const HeldResult& held : report.results) ++leases[held.lease.job_id];
  for (const std::vector<std::string>* ids : {&orders.send, &orders.received, &orders.discard}) {
    for (const std::string& job_id : *ids) {
      if (!leases.contains(job_id)) Fail("orders are of results that the worker holds", job_id);
    }
  }
  for (const HeldResult& held : report.results) {
    const std::string& job_id = held.lease.job_id;
    const std::string text = absl::StrCat(job_id, " at ", id);
    const auto job = jobs_.find(job_id);
    // Orders are by job: of two leases of one job either may be meant.
    if (leases[job_id] > 1 || (job != jobs_.end() && job->second.unsure)) continue;
    const auto since = slot.held_since.find(TextOf(held.lease));
    const absl::Duration age =
        since == slot.held_since.end() ? absl::ZeroDuration() : now - since->second;
    if (job == jobs_.end()) {
      const bool is_needless = acknowledged_.contains(job_id) || age > options_.orphan_timeout;
      const bool is_discarded = Has(orders.discard, job_id);
      if (is_needless && !is_discarded) Fail("what nobody needs is thrown away", text);
      if (!is_needless && age < options_.orphan_timeout && is_discarded && !IsFault(held)) {
        // Its like may have been thrown away as what the worker could not have had.
        if (!useless_.contains(TextOf(held.lease))) {
          Fail("what nobody has asked for yet is kept for a while", text);
        }
      }
    } else if (IsFault(held) || !IsOf(held.lease, job->second, id, report.info)) {
      continue;
    } else if (!job->second.done) {
      if (!held.outcome.has_value() && !Has(orders.send, job_id)) {
        Fail("a result that is needed is asked for", text);
      }
    } else if (job->second.source == id && job->second.source_epoch == held.lease.epoch) {
      if (held.outcome.has_value() && !Has(orders.received, job_id)) {
        Fail("a result is sent until it has come", text);
      }
    } else if (useless_.contains(TextOf(held.lease)) && !Has(orders.discard, job_id)) {
      // Known since the report: what came since is for the answer to the next one.
      Fail("what nobody needs is thrown away", text);
    }
  }
}

void TrackerModel::Delivered(absl::Time now, const std::string& id, int64_t incarnation,
                             const Lease& lease, const absl::Status& answer) {
  const auto worker = workers_.find(id);
  const bool is_present = worker != workers_.end() && worker->second.incarnation == incarnation;
  const auto job = jobs_.find(lease.job_id);
  bool may_be = false, must_be = false;
  for (const auto& [place, holding] : holdings_) {
    if (!is_present || job == jobs_.end() || holding.worker != id) continue;
    if (holding.lease.job_id != lease.job_id || job->second.spec.kind != JobKind::kBuild) continue;
    const SlotInfo& info = worker->second.slots.at(holding.slot).last.info;
    may_be |= IsOf(lease, job->second, id, info);
    must_be |= holding.lease == lease;
  }
  const std::string text = absl::StrCat(TextOf(lease), " by ", id, ": ", answer.ToString());
  if (answer.ok() ? !may_be : must_be)
    Fail("what is built under a lease is taken, and nothing else", text);
  // Only who may get the lease yet is asked to try again.
  const bool is_early = now < started_at_ + options_.lease_duration;
  if (absl::IsUnavailable(answer) && !is_present && !is_early) {
    Fail("who never had a lease is told so", text);
  }
  if (absl::IsUnavailable(answer) && is_present && job != jobs_.end()) {
    const auto& slots = worker->second.slots;
    const bool may_hold = std::any_of(slots.begin(), slots.end(), [&](const Slot& slot) {
      return IsOf(lease, job->second, id, slot.last.info);
    });
    if (!may_hold || job->second.done) Fail("who never had a lease is told so", text);
  }
}

// ---- People ----

void TrackerModel::CheckWorkers(absl::Time now, const TrackerView& view) {
  int64_t present = 0;
  for (const WorkerStatus& status : view.workers) {
    const Worker& worker = workers_.at(status.worker_id);
    present += worker.lost ? 0 : 1;
    const WorkerLiveness liveness = worker.lost      ? WorkerLiveness::kLost
                                    : worker.leaving ? WorkerLiveness::kLeaving
                                    : worker.drained ? WorkerLiveness::kDraining
                                                     : WorkerLiveness::kAlive;
    std::set<std::string> doubts;
    for (const auto& [id, job] : jobs_) {
      if (!job.done && Has(job.spec.avoid_workers, status.worker_id)) doubts.insert(job.spec.study);
    }
    if (status.liveness != liveness || status.host != worker.host ||
        status.since_seen != now - worker.seen_at || status.calibration != worker.calibration ||
        status.slots.size() != worker.slots.size() ||
        (status.doubted_by != std::vector<std::string>(doubts.begin(), doubts.end()) &&
         !AnyUnsure())) {
      Fail("a worker is shown as it is", status.worker_id);
      return;
    }
    CheckSlots(now, status, worker);
  }
  const TrackerStatus& status = view.status;
  if (status.worker_count != present ||
      status.tuner_count != static_cast<int64_t>(tuners_.size()) ||
      status.uptime != now - started_at_) {
    Fail("a tracker says who is there",
         absl::StrCat(status.worker_count, " workers, ", status.tuner_count, " tuners"));
  }
}

void TrackerModel::CheckSlots(absl::Time now, const WorkerStatus& status, const Worker& worker) {
  for (size_t i = 0; i < status.slots.size(); ++i) {
    const SlotStatus& shown = status.slots[i];
    const Slot& slot = worker.slots[i];
    const std::string place = PlaceOf(status.worker_id, static_cast<int>(i));
    const absl::Duration paused = std::max(absl::ZeroDuration(), slot.paused_until - now);
    if (shown.paused_for != paused) {
      Fail("a pause is as long as the faults in a row",
           absl::StrCat(place, ": ", absl::FormatDuration(shown.paused_for), ", by the model ",
                        absl::FormatDuration(paused)));
    }
    const auto holding = holdings_.find(place);
    const bool is_right_time =
        holding == holdings_.end() || shown.executing_for == now - holding->second.since;
    if (shown.info != slot.last.info || !is_right_time ||
        shown.held_count != static_cast<int64_t>(slot.last.results.size())) {
      Fail("a slot is shown as it is",
           absl::StrCat(place, " for ", absl::FormatDuration(shown.executing_for), " with ",
                        shown.held_count));
    }
    if (AnyUnsure()) continue;
    if (shown.done_count != slot.done_count || shown.fault_count != slot.fault_count) {
      Fail("a slot's results and faults are counted",
           absl::StrCat(place, ": ", shown.done_count, " and ", shown.fault_count,
                        ", by the model ", slot.done_count, " and ", slot.fault_count));
    }
  }
}

void TrackerModel::CheckCounters(absl::Time now, const TrackerView& view) {
  const Counters& shown = view.status.counters;
  was_unsure_ |= AnyUnsure();
  if (was_unsure_) return;
  for (const Counted& counted : kCounted) {
    if (shown.*counted.value == counted_.*counted.value) continue;
    Fail("what happens is counted", absl::StrCat(counted.name, " is ", shown.*counted.value,
                                                 ", by the model ", counted_.*counted.value));
  }
  if (shown.finished != taken_count_ + shown.cancelled + shown.poisoned + shown.parked) {
    Fail("what happens is counted",
         absl::StrCat("finished is ", shown.finished, ", by the model ", taken_count_,
                      " taken, cancelled ", shown.cancelled, ", given up ",
                      shown.poisoned + shown.parked));
  }
}

void TrackerModel::CheckUnmatched(const TrackerView& view, const std::string& tuner,
                                  const std::vector<UnmatchedQueue>& shown) {
  const auto is_met = [&](const JobSpec& spec) {
    return std::any_of(view.workers.begin(), view.workers.end(), [&](const WorkerStatus& worker) {
      return worker.liveness == WorkerLiveness::kAlive &&
             std::any_of(worker.slots.begin(), worker.slots.end(),
                         [&](const SlotStatus& slot) { return Serves(slot.info, spec); });
    });
  };
  // At least those that wait, at most those that have no result.
  std::map<Demands, std::pair<int64_t, int64_t>> unmet;
  for (const auto& [id, job] : jobs_) {
    if (!tuner.empty() && job.tuner != tuner) continue;
    if (job.done || HoldingOf(id) != nullptr || is_met(job.spec)) continue;
    auto& [low, high] = unmet[DemandOf(job.spec)];
    low += IsWaiting(job) ? 1 : 0;
    ++high;
  }
  for (const UnmatchedQueue& queue : shown) {
    const auto found = unmet.find(queue.demands);
    if (found == unmet.end() || queue.reason.empty() || queue.job_count < found->second.first ||
        queue.job_count > found->second.second) {
      Fail("jobs that nobody can do are shown", absl::StrCat(queue.job_count, ": ", queue.reason));
    }
    if (found != unmet.end()) unmet.erase(found);
  }
  if (shown.size() >= kUnmatchedShownMax) return;
  for (const auto& [demands, count] : unmet) {
    if (count.first > 0) Fail("jobs that nobody can do are shown", absl::StrCat(count.first));
  }
}

}  // namespace burnish::sim
