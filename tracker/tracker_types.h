// What goes into and comes out of TrackerCore, beside the types of proto/.
#ifndef TRACKER_TRACKER_TYPES_H_
#define TRACKER_TRACKER_TYPES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "proto/job.h"
#include "proto/synchronize.h"
#include "tracker/job_queues.h"

namespace burnish {

struct TrackerOptions {
  // A worker that is not heard of for this long is lost, with all that it holds.
  absl::Duration lease_duration = absl::Seconds(15);
  // A worker that does not call again for this long after an answer is silent, and its jobs may go
  // to idle slots as well (tracker_core_copies.cc). A call follows its answer within milliseconds,
  // so this is far from what is usual, on a busy host too. A call hangs for at most five seconds:
  // within seven a worker that was stopped is silent. Not tuned.
  absl::Duration copy_silence = absl::Seconds(2);
  // A worker whose call breaks has this long to call again: an agent tries after 50 ms, and a
  // channel connects within as much again. Then its jobs are handed on.
  absl::Duration reconnect_grace = absl::Milliseconds(500);
  // A job that was lost on so many different workers, each of which does well otherwise, is
  // poisoned. Lost as often on fewer workers, it is parked.
  int losses_max = 3;
  // A job that so many different workers refuse is parked: they were asked for what no worker of
  // this farm does. Two, since one may be of another version or have less memory.
  int refusals_max = 2;
  // A job over which the processes of so many different workers ended is parked at once, before it
  // ends a third: it may be its doing, and nobody can tell from outside.
  int deaths_max = 2;
  // For how long a job that was lost so often waits for its workers to show that they do well: by
  // then each has finished another job, which take up to a minute.
  absl::Duration verdict_timeout = absl::Seconds(60);
  // A job whose executions were interrupted from outside so often (restarts, evictions, kills) is
  // parked: one that takes down each worker would empty the farm without an end. On a worker of
  // whose processes two in three die over a job, a good one meets so many once in 400,000 times.
  // From the third on it pauses before it is handed out again, doubling between these bounds: 13
  // minutes in all for whatever ails the farm. Not tuned.
  int interruptions_max = 32;
  absl::Duration interruption_pause_min = absl::Seconds(1);
  absl::Duration interruption_pause_max = absl::Seconds(30);
  // A tuner that is not heard of for this long is forgotten with its jobs; it will come back with
  // them if it still wants them.
  absl::Duration tuner_timeout = absl::Seconds(60);
  // How long a worker keeps executing, or keeps a result of, a job that no tuner has submitted.
  absl::Duration orphan_timeout = absl::Seconds(60);
  // After a start, jobs that were submitted before are held back for this long, for workers to say
  // that they are at them.
  absl::Duration recovery_period = absl::Seconds(2);
  // A worker may say for this long that a job waits for others on its host, while the job's time
  // stands still: longer than a runner itself waits, which is ten minutes.
  absl::Duration waiting_max = absl::Minutes(15);
  // A worker that says that it holds a result has so long to send it: twice what a call may hang.
  absl::Duration fetch_timeout = absl::Seconds(10);
  // For how long a lost worker is still listed.
  absl::Duration lost_worker_memory = absl::Minutes(10);
  // After a fault a slot gets no job for this long, doubled with each further fault in a row.
  absl::Duration fault_pause_min = absl::Milliseconds(100);
  absl::Duration fault_pause_max = absl::Seconds(30);

  // Of all tuners together; what one of them may have is less (JobBook::Excess).
  // Open jobs and their bytes; results that are not acknowledged, and their outcomes. Apart,
  // since a tuner keeps a build's result until its run has one: were both to share a limit, a
  // tracker full of builds that are done would take no run, and so would be full for ever. Beyond
  // the limit of results are only tuners that do not collect.
  int64_t jobs_max = 100'000;
  int64_t job_bytes_max = 512 << 20;
  int64_t results_max = 200'000;
  int64_t result_bytes_max = 512 << 20;
  // Different lines that open jobs wait in (LaneKey): every look for a job goes through them.
  int64_t lanes_max = 1024;
  // What one tuner, or one client, may have of these, however little it leaves: jobs and results,
  // the bytes of each, lanes, tuners. The first two are what one call brings at most
  // (tracker_messages.h, proto/rpc.h), so that nobody who has little here is turned away for what
  // others have. Lanes: of a study that builds, runs and confirms on a few devices. Tuners: not
  // tuned.
  int64_t share_jobs_min = 1024;
  int64_t share_bytes_min = 8 << 20;
  int64_t share_lanes_min = 32;
  int64_t share_tuners_min = 64;
  int acknowledged_memory = 1 << 16;  // Ids.
  int workers_max = 4096;
  int tuners_max = 4096;
  int results_per_reply_max = 256;
  int64_t result_bytes_per_reply_max = 2 << 20;
  int queue_quantum = 8;                                 // See FairQueue.
  int held_results_max = WorkerReport::kHeldResultsMax;  // A slot with so many gets no job.
  // A worker may discard results at its leisure; it is told in a hurry when it may so many.
  int hurried_discards = 16;
  // Leases and sessions are numbered from here. Drawn at random, so that no two trackers give one
  // number; no clock, since clocks are set back.
  int64_t first_epoch = 1;
};

struct CollectRequest {
  std::string tuner_id = "";
  std::string client = "";  // As of TrackerCore::Submit.
  std::vector<std::string> acknowledged = {};
  std::vector<int64_t> unwanted = {};  // Numbers of results, of `session`.
  int64_t seen_number = 0;             // Of `session`.
  int64_t session = 0;
};

struct ResultEntry {
  int64_t number = 0;
  std::string job_id = "";
  JobOutcome outcome = {};
  std::string worker_id = "";  // Empty: the tracker's own outcome.
  // Where that worker's call came from, as the tracker saw it (WorkerReport).
  std::string worker_address = "";
  int32_t attempt_count = 0;

  bool operator==(const ResultEntry&) const = default;
};

// Jobs that no slot of a worker that takes jobs could do.
struct UnmatchedQueue {
  Demands demands = {};
  int64_t job_count = 0;
  std::string reason = "";  // For people: what is missing.
};

struct Collected {
  int64_t session = 0;
  std::vector<ResultEntry> results = {};  // By number.
  std::vector<UnmatchedQueue> unmatched = {};
  bool urgent = false;  // False: nothing that the tuner does not know.
};

struct SyncReply {
  // False: another process has this worker's id. Nothing was taken of the report; `orders` has an
  // epoch to echo and nothing else.
  bool admitted = true;
  WorkerOrders orders = {};
  bool urgent = false;  // False: nothing that the worker does not know.
};

// Since the start. tracker/README.md says what each counts.
struct Counters {
  int64_t submitted = 0;
  int64_t resubmitted = 0;
  int64_t refused_full = 0;
  int64_t dispatched = 0;
  int64_t copies = 0;
  int64_t adopted = 0;
  int64_t finished = 0;
  int64_t duplicates_dropped = 0;
  int64_t stale_reports = 0;
  int64_t foreign_reports = 0;
  int64_t workers_lost = 0;
  int64_t leases_lost = 0;
  int64_t worker_faults = 0;
  int64_t interruptions = 0;
  int64_t refusals = 0;
  int64_t timed_out = 0;
  int64_t poisoned = 0;
  int64_t parked = 0;
  int64_t cancelled = 0;
  int64_t acknowledged = 0;
  int64_t tuners_forgotten = 0;
};

struct SlotStatus {
  SlotInfo info = {};
  std::optional<Lease> executing = std::nullopt;
  absl::Duration executing_for = absl::ZeroDuration();
  int64_t held_count = 0;
  int64_t done_count = 0;
  int64_t fault_count = 0;
  absl::Duration paused_for = absl::ZeroDuration();
};

// The numbers are those of v1.WorkerStatus.State.
enum class WorkerLiveness { kAlive = 1, kDraining = 2, kLeaving = 3, kLost = 4 };

constexpr size_t kDoubtsShownMax = 16;
constexpr size_t kUnmatchedShownMax = 16;  // Queues: each takes a look at every slot.

struct WorkerStatus {
  std::string worker_id = "";
  std::string host = "";
  WorkerLiveness liveness = WorkerLiveness::kAlive;
  absl::Duration since_seen = absl::ZeroDuration();
  std::vector<SlotStatus> slots = {};
  std::optional<CalibrationRow> calibration = std::nullopt;  // As it last reported.
  // Studies with open jobs that avoid it, sorted; no more than kDoubtsShownMax.
  std::vector<std::string> doubted_by = {};
};

struct TrackerStatus {
  absl::Duration uptime = absl::ZeroDuration();
  int64_t worker_count = 0;  // Not lost.
  int64_t tuner_count = 0;
  int64_t queued_count = 0;
  int64_t leased_count = 0;  // With the ones whose results are being fetched.
  int64_t unacknowledged_count = 0;
  std::vector<UnmatchedQueue> unmatched = {};
  Counters counters = {};
};

}  // namespace burnish

#endif  // TRACKER_TRACKER_TYPES_H_
