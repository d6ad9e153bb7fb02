// Which of the jobs that wait goes next.
#include <algorithm>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "tests/sim/tracker_model.h"

namespace burnish::sim {
namespace {

// ClientOf.
constexpr int kClients = 3;
// Of eight jobs in a row.
constexpr int kTurnsByPriority = 7;

}  // namespace

void TrackerModel::CheckOrder(const std::string& text, const Job& job) {
  for (const auto& [id, other] : jobs_) {
    if (&other == &job || !IsWaiting(other) || LineOf(other) != LineOf(job)) continue;
    if (other.spec.priority == job.spec.priority && other.spec.study == job.spec.study &&
        other.order < job.order) {
      Fail("a study's jobs keep their order", absl::StrCat(text, " before ", id));
    }
  }
  CheckPriority(text, job);
}

// Whatever waits for other slots, and however much of it, is in nobody's way.
void TrackerModel::CheckLines(const TrackerView& view, const Holding& holding, const Job& job) {
  const SlotInfo& slot = workers_[holding.worker].slots[holding.slot].last.info;
  std::map<Line, int32_t> waiting;  // The highest priority of each.
  std::set<Line> open;
  for (const auto& [id, other] : jobs_) {
    if (other.done || !Serves(slot, other.spec)) continue;
    open.insert(LineOf(other));
    if (&other == &job || !IsWaiting(other)) continue;
    if (IsAvoided(other, holding.worker) && HasUntriedWorker(view, other)) continue;
    int32_t& top = waiting.try_emplace(LineOf(other), other.spec.priority).first->second;
    top = std::max(top, other.spec.priority);
  }
  for (const auto& [line, top] : waiting) {
    if (line == LineOf(job)) continue;
    const bool is_below = top < job.spec.priority;
    Starved& starved = (is_below ? below_ : beside_)[line];
    starved.bands_max = std::max(starved.bands_max, static_cast<int>(open.size()));
    // As many lines may be owed a turn before one below. Beside it, its client has the turns of its
    // other lines before, and each other client one before each of those and one before its own.
    const int bound =
        is_below ? kTurnsByPriority + starved.bands_max : kClients * starved.bands_max - 1;
    if (++starved.passed_over > bound) {
      Fail(
          "every line has its turns",
          absl::StrCat(TextOf(holding.lease), " before another line, ", starved.passed_over,
                       " times beside ", starved.bands_max, " lines", is_below ? " above it" : ""));
    }
  }
  below_.erase(LineOf(job));
  beside_.erase(LineOf(job));
}

void TrackerModel::CheckPriority(const std::string& text, const Job& job) {
  std::map<int32_t, int>& passed_over = passed_over_[LineOf(job)];
  // Those whose time has just come are in the queue by now, or will be in this instant.
  std::set<int32_t> waiting = {job.spec.priority}, queued = {job.spec.priority};
  for (const auto& [id, other] : jobs_) {
    if (&other == &job || other.done || LineOf(other) != LineOf(job)) continue;
    if (IsWaiting(other)) waiting.insert(other.spec.priority);
    if (HoldingOf(id) == nullptr) queued.insert(other.spec.priority);
  }
  std::erase_if(passed_over, [&](const auto& band) { return !queued.contains(band.first); });
  // One turn in eight is for a lower one that was passed over in the seven before.
  if (*waiting.rbegin() > job.spec.priority && passed_over[job.spec.priority] < kTurnsByPriority) {
    Fail("a higher priority goes first",
         absl::StrCat(text, " after ", passed_over[job.spec.priority], " others"));
  }
  for (const int32_t priority : queued) ++passed_over[priority];
  std::map<int32_t, Starved>& starved = starved_[LineOf(job)];
  for (const int32_t priority : waiting) {
    Starved& band = starved[priority];
    if (priority == job.spec.priority) continue;
    // As many priorities as there were at once may be owed a turn before it.
    band.bands_max = std::max(band.bands_max, static_cast<int>(queued.size()));
    if (++band.passed_over > kTurnsByPriority + band.bands_max) {
      Fail("a lower priority has its turns", absl::StrCat(text, " before priority ", priority));
    }
  }
  starved[job.spec.priority] = {};
  passed_over[job.spec.priority] = 0;
}

// A line whose last job goes, and that has another one in the same event, has only just come.
void TrackerModel::LeaveLine(const Job& job) {
  if (HoldingOf(job.spec.id) != nullptr) return;
  below_.erase(LineOf(job));
  beside_.erase(LineOf(job));
}

// After each event, since a priority whose last job goes between two grants has nobody who starves:
// whoever comes next has only just come. Likewise a client or a study that has no job for a moment
// is owed nothing.
void TrackerModel::ForgetFed() {
  std::map<Line, std::set<int32_t>> waiting;
  std::set<std::tuple<Line, std::string, std::string>> sharing;
  for (const auto& [id, job] : jobs_) {
    if (!IsWaiting(job)) continue;
    const Line line = LineOf(job);
    waiting[line].insert(job.spec.priority);
    if (shares_.empty()) continue;
    sharing.insert({line, "", ClientOf(job.tuner)});
    sharing.insert({line, ClientOf(job.tuner), job.spec.study});
  }
  std::erase_if(shares_, [&](const auto& share) {
    const Pair& pair = share.first;
    return !sharing.contains({pair.line, pair.kind, pair.first}) ||
           !sharing.contains({pair.line, pair.kind, pair.second});
  });
  std::erase_if(below_, [&](const auto& line) { return !waiting.contains(line.first); });
  std::erase_if(beside_, [&](const auto& line) { return !waiting.contains(line.first); });
  for (auto& [line, starved] : starved_) {
    std::erase_if(starved, [&](const auto& band) { return !waiting[line].contains(band.first); });
  }
}

void TrackerModel::CheckFairness(const Job& job) {
  const Line line = LineOf(job);
  const std::string client = ClientOf(job.tuner);
  std::set<std::string> clients, studies;
  for (const auto& [id, other] : jobs_) {
    if (&other == &job || !IsWaiting(other) || LineOf(other) != line) continue;
    clients.insert(ClientOf(other.tuner));
    if (ClientOf(other.tuner) == client) studies.insert(other.spec.study);
  }
  CheckShare(line, "", client, job.spec.cost, clients);
  CheckShare(line, client, job.spec.study, job.spec.cost, studies);
}

void TrackerModel::CheckShare(const Line& line, const std::string& kind, const std::string& own,
                              int32_t cost, const std::set<std::string>& waiting) {
  // Both must wait before and after, else the one without jobs would be owed for nothing.
  std::erase_if(shares_, [&](const auto& share) {
    const Pair& pair = share.first;
    return pair.line == line && pair.kind == kind &&
           (!waiting.contains(pair.first) || !waiting.contains(pair.second));
  });
  if (!waiting.contains(own)) return;
  // FairQueue: quantum + 2 * the highest cost of a job.
  const int64_t bound = options_.queue_quantum + 2 * 4;
  for (const std::string& other : waiting) {
    if (other == own) continue;
    int64_t& difference = shares_[{line, kind, std::min(own, other), std::max(own, other)}];
    difference += own < other ? cost : -cost;
    if (std::abs(difference) > bound) {
      Fail(kind.empty() ? "clients share evenly" : "studies share evenly",
           absl::StrCat(own, " is ahead of ", other, " by ", std::abs(difference)));
    }
  }
}

}  // namespace burnish::sim
