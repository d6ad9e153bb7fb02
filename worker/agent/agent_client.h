// A worker's Synchronize loop over gRPC: keeps the tracker informed, and starts and stops its
// slots' executors as the tracker wants.
#ifndef WORKER_AGENT_AGENT_CLIENT_H_
#define WORKER_AGENT_AGENT_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "proto/protocol.h"
#include "proto/synchronize.h"
#include "worker/agent/agent_core.h"
#include "worker/agent/slot_executor.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace burnish {

struct AgentSlot {
  SlotInfo info = {};
  std::unique_ptr<SlotExecutor> executor;  // Not null.
};

struct AgentOptions {
  std::string tracker = "";  // Address, see OpenChannel.
  // To it, where whoever makes this has one: a worker has one connection. Null: opened here.
  std::shared_ptr<grpc::Channel> channel = nullptr;
  AgentIdentity identity = {};
  uint64_t seed = 0;                     // Of the jitter between attempts to reach the tracker.
  Speaker self = ThisVersion("worker");  // Of a channel that is opened here; another one in tests.
};

// Thread-safe. While the tracker cannot be reached, executions go on and results are kept.
class AgentClient {
 public:
  // Begins at once.
  AgentClient(const AgentOptions& options, std::vector<AgentSlot> slots);
  // Ends executions and the loop; the tracker finds out by itself.
  ~AgentClient();

  // Takes no more jobs. WaitUntilEmpty then says when all is done.
  void Leave();
  // Until nothing executes and no result is held. False: the time was up.
  bool WaitUntilEmpty(absl::Duration timeout);
  // Until the tracker turns this worker away for good: FAILED_PRECONDITION, another process with
  // this worker id was started later, or the two speak no common protocol (IsProtocolRefusal);
  // INVALID_ARGUMENT, the tracker does not understand it; UNAUTHENTICATED, it asks for a secret
  // (Greeter).
  // OK: the time was up.
  absl::Status WaitUntilRefused(absl::Duration timeout);

  // Since when the tracker could not be reached; InfiniteFuture: it can. Steady clock.
  absl::Time unreachable_since() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace burnish

#endif  // WORKER_AGENT_AGENT_CLIENT_H_
