// Somebody who speaks the protocol and means no good: under names of its own, since others' need a
// secret that it lacks, it says whatever a tracker may be told.
#ifndef TESTS_SIM_ROGUE_H_
#define TESTS_SIM_ROGUE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "base/rng.h"
#include "tests/sim/event_loop.h"
#include "tests/sim/sim_tracker.h"
#include "tests/sim/sim_worker.h"

namespace burnish::sim {

class Rogue {
 public:
  // How many tuner ids it uses.
  static constexpr int kTunerCount = 3;

  Rogue(EventLoop* loop, SimTracker* tracker, const ExecutorWorld* world)
      : loop_(loop),
        tracker_(tracker),
        world_(world),
        rng_(RngStream{.seed = world->seed, .purpose = "rogue"}) {}

  void ActAsWorkerUntil(absl::Time end);
  void ActAsTunerUntil(absl::Time end);

 private:
  void Report();
  Lease SomeLease();
  JobOutcome SomeOutcome();
  void Submit(const std::string& tuner_id);
  void Collect(const std::string& tuner_id);

  EventLoop* const loop_;
  SimTracker* const tracker_;
  const ExecutorWorld* const world_;
  Rng rng_;
  int64_t sequence_ = 0;
  int64_t incarnation_ = 1;
  int job_count_ = 0;
  WorkerOrders orders_ = {};  // The last ones.
};

}  // namespace burnish::sim

#endif  // TESTS_SIM_ROGUE_H_
