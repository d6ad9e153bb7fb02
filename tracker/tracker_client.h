// A tuner's connection to a tracker: submits jobs, hands out each result once, moves artifacts.
// Goes on by itself when the tracker is restarted: open jobs are submitted again under their ids.
// A tuner that was restarted itself submits what it has no result of again, and then says so by
// AllResubmitted. Until then a result is kept, here and by the tracker, whether or not its job has
// been submitted again; afterwards results of unknown jobs are dropped. Nothing is acknowledged
// but by Acknowledge.
#ifndef TRACKER_TRACKER_CLIENT_H_
#define TRACKER_TRACKER_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "proto/job.h"
#include "tracker/tracker_types.h"

namespace burnish {

struct TrackerClientOptions {
  std::string tracker = "";   // Address: "unix:PATH" or "HOST:PORT".
  std::string tuner_id = "";  // Stays the same over restarts; 1 to 128 bytes.
  uint64_t seed = 0;          // Of the jitter between attempts.
};

// How things stand; for progress and for giving up.
struct TrackerClientState {
  absl::Time unreachable_since = absl::InfiniteFuture();  // Steady clock. InfiniteFuture: it can.
  absl::Status last_error;                                // Of the last failed call.
  int64_t open_count = 0;                                 // Jobs without a result.
  int64_t held_count = 0;  // Results of jobs of an earlier run, not submitted again yet.
  std::vector<UnmatchedQueue> unmatched;  // Of this tuner: no worker can do them.
};

// Thread-safe.
class TrackerClient {
 public:
  explicit TrackerClient(const TrackerClientOptions& options);
  // Jobs stay with the tracker, until it forgets this tuner; see Cancel.
  ~TrackerClient();

  // Takes the jobs over and returns; they are submitted, however long that takes. Their ids are
  // unique for ever. `resubmission`: an earlier run of this tuner may have submitted them.
  // INVALID_ARGUMENT: a job is malformed; then none is taken.
  absl::Status Submit(std::vector<JobSpec> jobs, bool resubmission = false);

  // Call it once, when no job of an earlier run of this tuner will be submitted any more.
  void AllResubmitted();

  // Waits until there is a result. Each is handed out once; its outcome is a payload, a Failure
  // (kCancelled, kPoisoned) or ArtifactMissing. Empty: the time was up. At most `count_max`.
  std::vector<ResultEntry> Collect(absl::Duration timeout, int count_max = 256);

  // The results are safe: workers and tracker may forget them.
  void Acknowledge(const std::vector<std::string>& job_ids);

  // Waits until the jobs have reached the tracker and asks it once, for about five seconds in all.
  // The jobs then have kCancelled as their result, or another one that came first. `study`: all of
  // it; empty: none. UNAVAILABLE, DEADLINE_EXCEEDED: the tracker does not know of all of it.
  absl::Status Cancel(const std::vector<std::string>& job_ids, const std::string& study = "");

  // See ArtifactClient.
  absl::StatusOr<std::string> PutArtifact(absl::string_view artifact);
  absl::StatusOr<std::string> GetArtifact(const std::string& sha256);

  TrackerClientState state() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace burnish

#endif  // TRACKER_TRACKER_CLIENT_H_
