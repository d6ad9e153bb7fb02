// What executes the jobs of one slot: the builder or the runner implements it.
#ifndef WORKER_AGENT_SLOT_EXECUTOR_H_
#define WORKER_AGENT_SLOT_EXECUTOR_H_

#include <functional>

#include "proto/job.h"
#include "proto/synchronize.h"

namespace burnish {

class SlotExecutor {
 public:
  using Done = std::function<void(JobOutcome)>;

  // Ends what is executing, without calling `done` any more.
  virtual ~SlotExecutor() = default;

  // Once, before the first Start. `tell` is called from any thread, but not from within Start or
  // Cancel: true when the execution waits for what others on this host hold, false when that is
  // over. An executor that never waits for anybody needs no such thing.
  virtual void TellWaiting(std::function<void(bool waiting)> tell) {}

  // Begins to execute and returns soon. Nothing is executing. `lease`: that the job is executed
  // under, for whoever has to be shown it. `done` is called exactly once, from
  // any thread, but not from within Start or Cancel: with a BuildResult's or RunResult's bytes,
  // ArtifactMissing, or WorkerFault when this worker is at fault. A candidate that fails is a
  // result.
  virtual void Start(const JobSpec& job, const Lease& lease, Done done) = 0;

  // Nobody wants the outcome any more: end soon. `done` still comes, and its outcome is dropped.
  // Harmless when nothing executes.
  virtual void Cancel() = 0;
};

}  // namespace burnish

#endif  // WORKER_AGENT_SLOT_EXECUTOR_H_
