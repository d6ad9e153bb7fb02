// A tuner's side of its talk with the tracker, without the network: which jobs are open, which must
// be submitted (again), and which results are new. Pure: no I/O, no thread, no clock. Not
// thread-safe.
//
// Each submitted job's result comes out exactly once, over lost and repeated messages and restarts
// of the tracker. After a restart of the tuner results may come before the caller has submitted
// their jobs again: those are held here, and the tracker keeps them, until the job is added or
// AllResubmitted says that it never will be. What it has recorded already only the caller knows.
#ifndef TRACKER_CLIENT_CORE_H_
#define TRACKER_CLIENT_CORE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "proto/job.h"
#include "tracker/tracker_types.h"

namespace burnish {

// What goes into one SubmitJobs call.
struct SubmitBatch {
  std::vector<JobSpec> jobs = {};
  bool resubmission = false;
};

// A call stays well under gRPC's 4 MiB for a message: payloads up to 2 MiB, ids beside them. A
// larger job goes alone.
struct ClientLimits {
  size_t batch_jobs_max = 256;  // > 0, as the others.
  size_t batch_bytes_max = 2 << 20;
  size_t acknowledgements_per_call = 4096;
};

class ClientCore {
 public:
  explicit ClientCore(const std::string& tuner_id, const ClientLimits& limits = {});

  // Opens the jobs. `resubmission`: an earlier run of this tuner may have submitted them. An id
  // that is open already is left as it is; one whose result is out must not come again. Returns
  // the results that are here already: these jobs are not open.
  std::vector<ResultEntry> Add(std::vector<JobSpec> jobs, bool resubmission);
  // No job of an earlier run will be added any more: results of unknown jobs are unwanted from now
  // on.
  void AllResubmitted();
  // Jobs that no tracker has seen are taken back: their results, kCancelled, are returned. Of the
  // others nothing changes here: the tracker is to be asked. `study`: all of it; empty: none.
  std::vector<ResultEntry> TakeBack(const std::vector<std::string>& job_ids,
                                    const std::string& study);

  // Jobs to submit now; nothing: the tracker has all of them, as far as is known. One batch at a
  // time: call one of the next two before asking for another.
  std::optional<SubmitBatch> NextBatch();
  void BatchTaken(int64_t session);
  // `too_many`: the tracker has no room for it. The next one is half as large, since no tracker has
  // to have room for the largest there is; and twice as large once one was taken.
  void BatchFailed(bool too_many = false);

  CollectRequest MakeCollect();
  // Returns the results that are new. Then call Acknowledge once they are safe.
  // `request`: that `collected` answers.
  std::vector<ResultEntry> Collect(const CollectRequest& request, const Collected& collected);
  void Acknowledge(const std::vector<std::string>& job_ids);

  bool has_batch() const { return !unsent_.empty(); }
  // Whether no tracker needs to be told of any of these jobs any more.
  bool AllSent(const std::vector<std::string>& job_ids, const std::string& study) const;
  bool has_acknowledgements() const { return !acknowledged_.empty() || !unwanted_.empty(); }
  int64_t open_count() const { return static_cast<int64_t>(open_.size()); }
  int64_t held_count() const { return static_cast<int64_t>(held_.size()); }

 private:
  struct Open {
    JobSpec spec;
    bool may_be_known = false;  // To some tracker: it may have been submitted before.
  };

  void MeetSession(int64_t session);
  void Forget(const std::string& job_id);

  const std::string tuner_id_;
  const ClientLimits limits_;
  std::map<std::string, Open> open_;  // By job id.
  // Ids of open jobs to submit, in order of submission.
  std::map<int64_t, std::string> unsent_;
  std::map<std::string, int64_t> positions_;  // Of every open job.
  int64_t last_position_ = 0;
  std::vector<std::string> batch_;                   // Under way.
  int64_t batch_session_ = 0;                        // When it was made.
  size_t batch_jobs_max_;                            // > 0.
  absl::flat_hash_set<std::string> unacknowledged_;  // Results that are out with the caller.
  std::vector<std::string> acknowledged_;            // To tell the tracker, until it has answered.
  std::vector<int64_t> unwanted_;  // Numbers of results of this session; likewise.
  // Of jobs that have not been added here, by job id. Number 0: of an earlier session.
  std::map<std::string, ResultEntry> held_;
  bool all_resubmitted_ = false;
  int64_t session_ = 0;
  int64_t seen_number_ = 0;
};

}  // namespace burnish

#endif  // TRACKER_CLIENT_CORE_H_
