#include "tracker/worker_state.h"

#include <algorithm>

namespace burnish {
namespace {

// Enough to tell one loss in eight (tracker_core_losses.cc) from chance, and few enough that a
// worker that was mended does well again within minutes. Not tuned.
constexpr size_t kRecentMax = 32;

}  // namespace

void SlotState::Begin(absl::Time now, TrackedJob& new_job, int64_t epoch, bool has_started) {
  job = &new_job;
  lease_epoch = epoch;
  started = has_started;
  copied = false;
  leased_at = now;
  waited = absl::ZeroDuration();
  waiting_since = absl::InfiniteFuture();
}

void SlotState::SetWaiting(absl::Time now, bool waiting) {
  const bool waits_already = waiting_since != absl::InfiniteFuture();
  if (waiting == waits_already) return;
  if (!waiting) waited += now - waiting_since;
  waiting_since = waiting ? now : absl::InfiniteFuture();
}

void WorkerState::NoteEnd(const std::string& job_id, bool lost) {
  if (!lost) ++done_count;
  recent_ends.push_back({.job_id = job_id, .lost = lost});
  if (recent_ends.size() > kRecentMax) recent_ends.pop_front();
}

void WorkerState::TakeBackLoss(const std::string& job_id) {
  const auto end = std::find_if(recent_ends.begin(), recent_ends.end(), [&](const LeaseEnd& ended) {
    return ended.lost && ended.job_id == job_id;
  });
  if (end != recent_ends.end()) recent_ends.erase(end);
}

}  // namespace burnish
