// What goes wrong in one run: a list of faults that a seed writes, so that a failing run can be
// repeated with fewer of them.
#ifndef TESTS_SIM_FAULT_PLAN_H_
#define TESTS_SIM_FAULT_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace burnish::sim {

enum class FaultKind {
  kKillTracker,      // And starts it again after `duration`, with nothing of what it knew.
  kFlappingTracker,  // Dies and starts again every second or so.
  kKillWorker,       // Likewise; `level` > 0.5: its host goes with it, so that no call breaks.
  kKillTuner,        // Likewise; `level`: at which of its next writes it dies.
  kFlappingTuner,    // Dies at one of its next writes and starts again, again and again.
  kTwinWorker,       // A second process under the worker's id, and a third if `level` > 0.5; the
                     // first lives on.
  kStopWorker,       // SIGSTOP: does nothing for `duration`, then goes on where it was; `level` >
                     // 0.5: goes on for a moment now and then.
  kLeave,            // The worker wants to go, and comes back after `duration`.
  kDrain,            // An operator drains the worker for `duration`.
  kPartition,        // Between node and tracker, both ways, for `duration`.
  kPartitionToNode,  // What the tracker sends to the node is lost.
  kPartitionFrom,    // What the node sends to the tracker is lost.
  kFlappingLink,     // The worker's connection breaks every second or so, and comes back.
  kLoss,             // Of a share `level` of all messages of the node.
  kRepeat,           // Likewise: requests come twice, the second one late.
  kDelay,            // Likewise: messages take up to twelve seconds and overtake each other.
  kSickWorker,       // A share `level` of executions ends with the worker's fault.
  kSlowWorker,       // Executions take up to a minute.
  kHangingWorker,    // Executions never end by themselves.
  kFlappingWorker,   // Its process dies and starts again every second or so.
  kLyingWorker,      // A share `level` of what it says is made up. Of one worker of a run only:
                     // what two say alike is believed, as it has to be.
  kWaitingWorker,    // What it executes waits for others on its host.
  kHastyTracker,     // It looks at its clock, and answers calls that hang, at any time.
  kRogueWorker,      // Somebody under a worker id of its own says whatever the protocol allows.
  kRogueTuner,       // Likewise as a tuner.
  kClockStep,        // The node's date jumps by `duration` (with its sign) and stays there.
  kDiskFull,         // The tuner's stores refuse to write.
  kDiskSlow,         // The tuner's stores take seconds.
  kForgetArtifacts,  // The content store has lost everything.
};
inline constexpr int kFaultKindCount = 29;

inline constexpr int kEverybody = -1;

struct Fault {
  FaultKind kind = FaultKind::kKillTracker;
  absl::Duration at = absl::ZeroDuration();  // Since the start.
  absl::Duration duration = absl::ZeroDuration();
  // Of the workers or tuners, by kind of fault; of the network's: workers first, or kEverybody.
  int node = 0;
  double level = 0;  // In [0, 1].

  std::string Text() const;
};

struct PlanOptions {
  int worker_count = 0;
  int tuner_count = 0;
};

// All faults lie before kFaultsEnd, durations included.
inline constexpr absl::Duration kFaultsEnd = absl::Seconds(70);

std::vector<Fault> MakePlan(uint64_t seed, const PlanOptions& options);

}  // namespace burnish::sim

#endif  // TESTS_SIM_FAULT_PLAN_H_
