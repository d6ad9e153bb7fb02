// Executors that take a given time and answer by a given function, for tests and load tests: many
// slots share one thread.
#ifndef WORKER_AGENT_FAKE_EXECUTOR_H_
#define WORKER_AGENT_FAKE_EXECUTOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
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
  mutable absl::Mutex mutex_;
  std::multimap<absl::Time, Execution> executions_ ABSL_GUARDED_BY(mutex_);  // By their end.
  Executor* finishing_ ABSL_GUARDED_BY(mutex_) = nullptr;  // Whose `done` is being called.
  int64_t started_count_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// Says "result of <payload>".
JobOutcome EchoOutcome(const JobSpec& job);

}  // namespace burnish

#endif  // WORKER_AGENT_FAKE_EXECUTOR_H_
