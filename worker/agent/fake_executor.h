// Executors that take a given time and answer by a given function, for tests and load tests: many
// slots share one thread.
#ifndef WORKER_AGENT_FAKE_EXECUTOR_H_
#define WORKER_AGENT_FAKE_EXECUTOR_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/time/time.h"
#include "worker/agent/slot_executor.h"

namespace burnish {

// Outlives its executors.
class FakeLab {
 public:
  using Outcome = std::function<JobOutcome(const JobSpec&)>;

  // `duration`: of each execution; a cancelled one ends at once.
  FakeLab(absl::Duration duration, Outcome outcome);
  ~FakeLab();

  std::unique_ptr<SlotExecutor> MakeExecutor();
  // Begun so far.
  int64_t started_count() const;

 private:
  class Executor;
  struct Execution {
    Executor* executor = nullptr;
    JobSpec job;
    SlotExecutor::Done done;
  };

  void Run();

  const absl::Duration duration_;
  const Outcome outcome_;
  mutable std::mutex mutex_;  // For all below.
  std::condition_variable changed_;
  std::multimap<absl::Time, Execution> executions_;  // By their end.
  Executor* finishing_ = nullptr;                    // Whose `done` is being called.
  int64_t started_count_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

// Says "result of <payload>".
JobOutcome EchoOutcome(const JobSpec& job);

}  // namespace burnish

#endif  // WORKER_AGENT_FAKE_EXECUTOR_H_
