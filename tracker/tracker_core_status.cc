// What people see of the tracker.
#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tracker/tracker_core.h"

namespace burnish {

absl::Status TrackerCore::Drain(absl::Time now, const std::string& worker_id, bool undo) {
  const auto entry = workers_.find(worker_id);
  if (entry == workers_.end()) {
    return absl::NotFoundError(absl::StrCat("no worker ", worker_id));
  }
  // Nothing is taken away: what runs is finished, and no more is given.
  if (std::exchange(entry->second.draining, !undo) == undo) {
    Note(undo ? TrackerEvent::Kind::kUndrained : TrackerEvent::Kind::kDrained, worker_id,
         undo ? "takes jobs again" : "is drained: it gets no more jobs");
  }
  NoteOffer(entry->second);
  Nudge(entry->second);
  // A job that others have lost, and that waited for this worker, is theirs again.
  Dispatch(now);
  return absl::OkStatus();
}

// For people, who read a line of it.
constexpr size_t kTextBytesMax = 1024;

void TrackerCore::Note(TrackerEvent::Kind kind, absl::string_view who, std::string text) {
  if (events_.size() == kEventsMax) {
    ++more_events_;
    return;
  }
  text.resize(std::min(text.size(), kTextBytesMax));
  events_.push_back({.kind = kind, .who = std::string(who), .text = std::move(text)});
}

std::vector<TrackerEvent> TrackerCore::TakeEvents() {
  std::vector<TrackerEvent> events = std::exchange(events_, {});
  if (const int64_t more = std::exchange(more_events_, 0); more > 0) {
    events.push_back({.kind = TrackerEvent::Kind::kMore,
                      .text = absl::StrCat("had ", more, " more events at once")});
  }
  return events;
}

std::vector<UnmatchedQueue> TrackerCore::FindUnmatched(const Tuner* tuner) const {
  // By lanes, of which there are few, and not by jobs.
  std::map<Demands, int64_t> waiting;
  const auto add = [&waiting](const Tuner& owner) {
    for (const auto& [key, lane] : owner.lanes) {
      if (lane.queued_count > 0) waiting[key.line.demands] += lane.queued_count;
    }
  };
  if (tuner != nullptr) {
    add(*tuner);
  } else {
    for (const auto& [id, owner] : book_.tuners()) add(owner);
  }
  if (waiting.empty()) return {};
  std::vector<const SlotInfo*> slots;
  for (const auto& [id, worker] : workers_) {
    // A worker that drains will not do it: jobs that only such a one could do are unmatched.
    if (!worker.TakesJobs()) continue;
    for (const SlotState& slot : worker.slots) slots.push_back(&slot.info);
  }
  std::vector<UnmatchedQueue> unmatched;
  for (const auto& [demands, job_count] : waiting) {
    if (unmatched.size() >= kUnmatchedShownMax) break;
    const bool is_met = std::any_of(slots.begin(), slots.end(), [&demands = demands](auto* slot) {
      return Meets(*slot, demands);
    });
    if (is_met) continue;
    unmatched.push_back(
        {.demands = demands, .job_count = job_count, .reason = WhyUnmet(demands, slots)});
  }
  return unmatched;
}

std::vector<WorkerStatus> TrackerCore::ListWorkers(absl::Time now) const {
  std::vector<WorkerStatus> statuses;
  for (const auto& [id, worker] : workers_) {
    WorkerStatus status{.worker_id = id,
                        .host = worker.host,
                        .liveness = worker.lost       ? WorkerLiveness::kLost
                                    : worker.leaving  ? WorkerLiveness::kLeaving
                                    : worker.draining ? WorkerLiveness::kDraining
                                                      : WorkerLiveness::kAlive,
                        .since_seen = now - worker.seen_at,
                        .calibration = worker.calibration};
    if (const auto doubt = book_.doubts().find(id); doubt != book_.doubts().end()) {
      for (const auto& [study, job_count] : doubt->second) {
        if (status.doubted_by.size() < kDoubtsShownMax) status.doubted_by.push_back(study);
      }
    }
    for (const SlotState& slot : worker.slots) {
      SlotStatus& out = status.slots.emplace_back();
      out.info = slot.info;
      out.held_count = static_cast<int64_t>(slot.held.size());
      out.done_count = slot.done_count;
      out.fault_count = slot.fault_count;
      out.paused_for = std::max(absl::ZeroDuration(), slot.paused_until - now);
      if (slot.job != nullptr) {
        out.executing = slot.lease();
        out.executing_for = now - slot.leased_at;
      } else if (slot.KeptOrphan() != nullptr) {
        out.executing = slot.orphan->lease;
        out.executing_for = now - slot.orphan->since;
      }
    }
    statuses.push_back(std::move(status));
  }
  return statuses;
}

TrackerStatus TrackerCore::GetStatus(absl::Time now) const {
  TrackerStatus status{.uptime = now - started_at_,
                       .tuner_count = static_cast<int64_t>(book_.tuners().size()),
                       .queued_count = queues_.size(),
                       .unacknowledged_count = book_.done_count(),
                       .unmatched = FindUnmatched(nullptr),
                       .counters = counters_};
  for (const auto& [id, worker] : workers_) {
    status.worker_count += worker.lost ? 0 : 1;
    for (const SlotState& slot : worker.slots) {
      // A job with a copy is one job.
      const bool is_first =
          slot.job != nullptr &&
          &slot.job->places[0].worker->slots[slot.job->places[0].slot_index] == &slot;
      status.leased_count += (is_first ? 1 : 0) + slot.fetching.size();
    }
  }
  // Held back until the recovery period ends.
  status.queued_count = book_.job_count() - status.leased_count - status.unacknowledged_count;
  return status;
}

}  // namespace burnish
