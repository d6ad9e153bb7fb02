// A tracker's process: the real core behind what its gRPC service does with calls that hang.
#ifndef TESTS_SIM_SIM_TRACKER_H_
#define TESTS_SIM_SIM_TRACKER_H_

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/sim/event_loop.h"
#include "tests/sim/planted_bug.h"
#include "tests/sim/tracker_model.h"
#include "tests/sim/verdict.h"
#include "tracker/content_store.h"

namespace burnish::sim {

class SimTracker {
 public:
  using OrdersReply = std::function<void(absl::StatusOr<WorkerOrders>)>;
  using CollectReply = std::function<void(absl::StatusOr<Collected>)>;

  SimTracker(EventLoop* loop, Verdict* verdict, TrackerModel* model, const TrackerOptions& options,
             int64_t artifact_bytes_max, Bug bug);

  // A process that knows nothing of the one before.
  void Start();
  // Calls that hang break.
  void Kill();
  bool is_alive() const { return core_ != nullptr; }

  // UNAVAILABLE: nobody listens.
  void Synchronize(WorkerReport report, OrdersReply reply);
  absl::StatusOr<int64_t> Submit(const std::string& tuner_id, const std::vector<JobSpec>& jobs,
                                 bool resubmission);
  void Collect(const CollectRequest& request, CollectReply reply);
  absl::Status Cancel(const std::string& tuner_id, const std::vector<std::string>& ids,
                      const std::string& study);
  void Drain(const std::string& worker_id, bool undo);
  // The connection that the call came over is gone.
  void BreakWorkerCall(const std::string& worker_id, int64_t incarnation);
  void BreakTunerCall(const std::string& tuner_id);

  // As the service's: only from the worker that has the build's lease.
  absl::Status PutArtifact(const std::string& worker_id, int64_t incarnation, const Lease& lease,
                           const std::string& sha256, const std::string& bytes);
  // Whose word is not to be held against the tracker.
  void NoteLiar(const std::string& worker_id) { model_->NoteLiar(worker_id); }
  bool KnowsJobOf(const std::string& job_id, const std::string& tuner_id) const {
    return is_alive() && model_->IsJobOf(job_id, tuner_id);
  }
  // It looks at its clock and wakes those who wait more often than it has to.
  void set_hasty(bool hasty) { is_hasty_ = hasty; }
  // Whether it is there. The tracker is not away.
  bool GetArtifact(const std::string& sha256);
  void ForgetArtifacts();

  // Nothing is queued, leased or waiting to be acknowledged.
  bool IsEmpty() const;
  std::string Describe() const;

 private:
  struct WorkerCall {
    int64_t incarnation = 0;
    int64_t sequence = 0;
    OrdersReply reply;
  };
  struct TunerCall {
    CollectRequest request;
    int64_t number = 0;
    CollectReply reply;
  };

  void AnswerWorker(const std::string& id);
  void AnswerTuner(const std::string& id);
  // The core may have something to say to others.
  void After();
  void Hurry();
  WorkerStatus StatusOf(const std::string& worker_id) const;
  TrackerView View() const;
  void ArmTimer();
  void KeepArtifact(const std::string& sha256, const std::string& bytes);

  EventLoop* const loop_;
  Verdict* const verdict_;
  TrackerModel* const model_;
  const TrackerOptions options_;
  const int64_t artifact_bytes_max_;
  const Bug bug_;
  std::unique_ptr<SuspectTracker> core_;
  std::unique_ptr<ContentStore> artifacts_;
  // What is in it by the model, least recently used first: names and sizes.
  std::list<std::pair<std::string, int64_t>> kept_;
  int64_t life_ = 0;
  bool is_hasty_ = false;
  int64_t hurry_count_ = 0;
  absl::Time next_tick_ = absl::InfiniteFuture();
  int64_t call_count_ = 0;
  std::map<std::string, WorkerCall> worker_calls_;
  std::map<std::string, TunerCall> tuner_calls_;
};

}  // namespace burnish::sim

#endif  // TESTS_SIM_SIM_TRACKER_H_
