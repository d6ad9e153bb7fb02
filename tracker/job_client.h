// What a tuner asks of a tracker: submits jobs, and hands out each result once. TrackerClient is
// the one that talks gRPC; a simulation has one without threads.
#ifndef TRACKER_JOB_CLIENT_H_
#define TRACKER_JOB_CLIENT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "proto/job.h"
#include "tracker/tracker_types.h"

namespace burnish {

// How things stand; for progress and for giving up.
struct TrackerClientState {
  absl::Time unreachable_since = absl::InfiniteFuture();  // Steady clock. InfiniteFuture: it can.
  absl::Status last_error;                                // Of the last failed call.
  // The tracker has said no for good (IsFinalRefusal): nothing is sent any more, and nothing will
  // come.
  absl::Status refused;
  int64_t open_count = 0;  // Jobs without a result.
  int64_t held_count = 0;  // Results of jobs of an earlier run, not submitted again yet.
  std::vector<UnmatchedQueue> unmatched;  // Of this tuner: no worker can do them.
};

class JobClient {
 public:
  virtual ~JobClient() = default;

  // Takes the jobs over and returns; they are submitted, however long that takes. Their ids are
  // unique for ever. `resubmission`: an earlier run of this tuner may have submitted them.
  // INVALID_ARGUMENT: a job is malformed; then none is taken.
  virtual absl::Status Submit(std::vector<JobSpec> jobs, bool resubmission) = 0;
  absl::Status Submit(std::vector<JobSpec> jobs) {
    return Submit(std::move(jobs), /*resubmission=*/false);
  }

  // Call it once, when no job of an earlier run of this tuner will be submitted any more.
  virtual void AllResubmitted() = 0;

  // Waits until there is a result. Each is handed out once; its outcome is a payload, a Failure
  // (kCancelled, kPoisoned) or ArtifactMissing. Empty: the time was up. At most `count_max`.
  virtual std::vector<ResultEntry> Collect(absl::Duration timeout, int count_max) = 0;
  std::vector<ResultEntry> Collect(absl::Duration timeout) {
    return Collect(timeout, kResultsPerCollect);
  }

  // The results are safe: workers and tracker may forget them.
  virtual void Acknowledge(const std::vector<std::string>& job_ids) = 0;

  // Waits until the jobs have reached the tracker and asks it once, for about five seconds in all.
  // The jobs then have kCancelled as their result, or another one that came first. `study`: all of
  // it; empty: none. UNAVAILABLE, DEADLINE_EXCEEDED: the tracker does not know of all of it.
  virtual absl::Status Cancel(const std::vector<std::string>& job_ids,
                              const std::string& study) = 0;
  absl::Status Cancel(const std::vector<std::string>& job_ids) { return Cancel(job_ids, ""); }

  virtual TrackerClientState state() const = 0;

 private:
  // As many as the tracker sends in one reply (TrackerOptions::results_per_reply_max).
  static constexpr int kResultsPerCollect = 256;
};

}  // namespace burnish

#endif  // TRACKER_JOB_CLIENT_H_
