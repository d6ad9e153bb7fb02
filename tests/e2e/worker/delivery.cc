#include "tests/e2e/worker/delivery.h"

#include <thread>
#include <utility>
#include <vector>

#include "base/entropy.h"
#include "proto/artifact_client.h"
#include "proto/protocol.h"
#include "proto/rpc.h"
#include "proto/synchronize.h"
#include "worker/agent/slot_executor.h"

namespace burnish {
namespace {

const Labels& Marked() {
  // So that no other builder gets its jobs, nor it theirs.
  static const Labels& labels = *new Labels{{"delivers", "what it is sent"}};
  return labels;
}

class Deliverer : public SlotExecutor {
 public:
  Deliverer(const std::shared_ptr<grpc::Channel>& tracker, int64_t incarnation)
      : client_(tracker), incarnation_(incarnation) {}
  ~Deliverer() override {
    if (thread_.joinable()) thread_.join();
  }

  void Start(const JobSpec& job, const Lease& lease, Done done) override {
    if (thread_.joinable()) thread_.join();
    thread_ = std::thread([this, job, lease, done = std::move(done)] {
      const absl::Status status =
          client_
              .Put(job.payload,
                   {.worker_id = kDeliverer, .incarnation = incarnation_, .lease = lease})
              .status();
      done(status.ok() ? JobOutcome("delivered")
                       : JobOutcome(WorkerFault{.message = status.ToString()}));
    });
  }
  void Cancel() override {}

 private:
  ArtifactClient client_;
  const int64_t incarnation_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<AgentClient> StartDeliverer(const std::string& tracker) {
  const int64_t incarnation = EntropyNumber();
  const std::shared_ptr<grpc::Channel> channel = OpenChannel(tracker, ThisVersion("worker"));
  std::vector<AgentSlot> slots;
  slots.push_back({.info = {.kind = JobKind::kBuild, .labels = Marked()},
                   .executor = std::make_unique<Deliverer>(channel, incarnation)});
  return std::make_unique<AgentClient>(
      AgentOptions{.tracker = tracker,
                   .channel = channel,
                   .identity = {.worker_id = kDeliverer, .incarnation = incarnation}},
      std::move(slots));
}

JobSpec DeliveryOf(const std::string& artifact, const std::string& job_id) {
  return {.id = job_id, .kind = JobKind::kBuild, .labels = Marked(), .payload = artifact};
}

}  // namespace burnish
