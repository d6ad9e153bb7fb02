// What the tracker knows of one worker: what it last reported, and what it was told to do.
#ifndef TRACKER_WORKER_STATE_H_
#define TRACKER_WORKER_STATE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "proto/calibration_row.h"
#include "proto/synchronize.h"
#include "tracker/job_book.h"

namespace burnish {

// A result that the worker said it holds. The outcome itself is in the job book by now, or it is
// not wanted, or nobody asked for it yet.
struct HeldState {
  Lease lease;
  bool sent_outcome = false;  // The last report held the outcome itself.
  bool is_fault = false;      // A worker's fault: dealt with, nobody waits for it.
  bool is_duplicate = false;  // Counted as such.
  bool is_expired = false;    // Of a job that no tuner submitted for too long.
  bool is_foreign = false;    // The worker cannot have had this lease: nothing is taken.
  bool is_withheld = false;   // It was asked to send the outcome, and did not in time.
  absl::Time since;           // First reported.
};

// A job in execution that no tuner has submitted: from before the tracker was restarted. Kept for a
// while, because its tuner will submit it again.
struct Orphan {
  Lease lease;
  absl::Time since;
  // Nobody submitted it in time: the worker is to stop, however often it says that it is at it.
  bool is_expired = false;
};

struct SlotState {
  SlotInfo info;
  std::optional<Lease> reported;  // What it said that it executes.
  bool cancelling = false;
  TrackedJob* job = nullptr;  // What it is to execute (kLeased); null: nothing or an orphan.
  // Of `job`, which another worker may have a lease of too.
  int64_t lease_epoch = 0;
  bool started = false;  // The worker said that it executes it.
  bool copied = false;   // Given to another one too, since this worker fell silent.
  absl::Time leased_at;
  std::optional<Orphan> orphan;
  std::vector<HeldState> held;
  // Ids of jobs (kFetching) whose results it was asked to send, and since when.
  std::map<std::string, absl::Time> fetching;
  absl::Time paused_until = absl::InfinitePast();
  // Of `job`: it waits for others on its host since, and did so before for this long.
  absl::Time waiting_since = absl::InfiniteFuture();
  absl::Duration waited = absl::ZeroDuration();
  int fault_streak = 0;  // Faults since the last outcome that was taken.
  int64_t done_count = 0;
  int64_t fault_count = 0;

  // When the job's time limit is over, as things stand; InfiniteFuture: not by time alone.
  absl::Time TimeoutAt() const {
    const bool runs = job != nullptr && job->spec.timeout > absl::ZeroDuration() &&
                      waiting_since == absl::InfiniteFuture();
    return runs ? leased_at + waited + job->spec.timeout : absl::InfiniteFuture();
  }
  // Of `job`, which is not null.
  Lease lease() const { return {.job_id = job->spec.id, .epoch = lease_epoch}; }
  void Begin(absl::Time now, TrackedJob& new_job, int64_t epoch, bool has_started);
  void SetWaiting(absl::Time now, bool waiting);
  // What it may go on with although nobody has asked for it.
  const Orphan* KeptOrphan() const {
    return orphan.has_value() && !orphan->is_expired ? &*orphan : nullptr;
  }
  bool IsIdle() const { return !reported.has_value() && job == nullptr && !orphan.has_value(); }
};

// How a lease ended, for the question whether a worker does well.
struct LeaseEnd {
  std::string job_id;
  bool lost = false;  // By a fault, silence or an interruption; else by a result.
};

struct WorkerState {
  std::string id;
  std::string host;     // As it says.
  std::string address;  // As its last call came (WorkerReport).
  int64_t incarnation = 0;
  int64_t epoch = 0;  // Of the incarnation.
  // Another process that says it has this id, and the epoch that it has to echo to get it; 0: none.
  int64_t claimant = 0;
  int64_t claimant_epoch = 0;
  int64_t replaced = 0;  // The incarnation before this one; 0: none.
  int64_t sequence = 0;
  absl::Time seen_at;
  bool lost = false;  // Not heard of for a lease's duration: holds nothing.
  // Its last call was answered, and no other has come since; InfiniteFuture: its call hangs.
  absl::Time answered_at = absl::InfiniteFuture();
  bool silent = false;                            // For long after that.
  absl::Time closed_at = absl::InfiniteFuture();  // Its call broke, and no other has come since.
  bool leaving = false;
  bool draining = false;
  bool told_draining = false;
  bool took_jobs = false;  // TakesJobs, as last noted.
  bool waiting = false;    // Its call hangs: it can be told something at any time.
  bool ready = false;      // There is something to tell it.
  std::vector<SlotState> slots;
  std::optional<CalibrationRow> calibration;  // Passed on, never read.
  // Over its restarts: a worker that starts anew again and again does not do well.
  int64_t done_count = 0;
  std::deque<LeaseEnd> recent_ends;  // The last ones, newest last.

  bool TakesJobs() const { return !lost && !leaving && !draining; }
  // `lost`: without a result.
  void NoteEnd(const std::string& job_id, bool lost);
  // A loss that was none: the worker had only been cut off.
  void TakeBackLoss(const std::string& job_id);
};

}  // namespace burnish

#endif  // TRACKER_WORKER_STATE_H_
