// A pool's threads in small on made-up CPUs: they work, meet at barriers and wait as wait_policy.h
// and team_policy.h decide, beside whatever a seed puts on the host.
#ifndef COMPILER_RUNTIME_WAIT_SIMULATION_H_
#define COMPILER_RUNTIME_WAIT_SIMULATION_H_

#include <cstdint>
#include <vector>

#include "compiler/runtime/simulated_cpus.h"

namespace burnish {

// What goes in and out of the real core is altered as a core with that bug would do it.
enum class WaitBug {
  kNone,
  kNeverLends,
  kLendsWithoutLooking,    // The thread with the next number gets the CPU.
  kLendsWhatItHasNot,      // Its own clock does not count as evidence.
  kSpinsBesideItsVictim,   // Instead of sleeping on the CPU that two share.
  kNeverTakesBack,         // Within a region.
  kSleepsAtOnce,           // Where all others run.
  kSpinsForEver,           // Instead of sleeping after kSpinOnNs.
  kKeepsMasks,             // After a region victims stay where they were moved to.
  kNeverLeavesOut,         // Regions go on with a thread that has no CPU.
  kNeverBringsBack,        // Whoever is left out stays so.
  kNapsHaveNoEnd,          // Nobody looks again.
  kWokenLooksAsleep,       // Whoever slept and was woken need not have run yet.
  kSleepsWithoutEvidence,  // Where clocks say nothing.
  kMarksLoansLate,         // When the helper has its CPU again, which its victim may take at once.
  kWidensMasksAlone,       // Instead of moving victims off the CPU that they shared.
  kLast,
};

struct WaitHost {
  struct Neighbour {
    CpuMask mask;
    bool is_first = false;  // Real-time.
    int64_t from_ns = 0, until_ns = 0, busy_ns = 0, idle_ns = 0;
  };
  int cpu_count = 2;
  bool is_pinned = false;  // Thread i to CPU i.
  std::vector<Neighbour> neighbours;
  double steals_per_s = 0, steal_mean_ns = 0;  // Of each CPU.
  int64_t wake_ns = 20'000;                    // What a sleeper needs at least to wake up,
  double wake_mean_ns = 10'000;                // and in the mean beyond that.
  int64_t balance_ns = 100'000;
  bool has_clocks = true, may_move = true;
  int64_t clock_step_ns = 1;
  // Not before 0.
  int offline_cpu = -1, stopped_thread = -1;
  int64_t offline_ns = 0, stopped_ns = 0, stopped_for_ns = 0;
};

struct WaitWork {
  struct Step {
    int64_t work_ns = 0;    // On one thread.
    bool is_shared = true;  // Else the first thread does all.
    double uneven = 0;      // The first thread has so much more of its share than others.
  };
  std::vector<Step> steps;  // Of a region.
  int region_count = 1;
  int64_t gap_ns = 0;  // The caller sleeps between regions.
};

struct WaitOutcome {
  bool ended = false;         // Before the horizon.
  int64_t time_ns = 0;        // From the first region's begin to the last one's end, without gaps.
  int64_t taken_ns = 0;       // By neighbours, the host and the debugger, of all CPUs meanwhile.
  int64_t waited_cpu_ns = 0;  // CPU time of waits at barriers, the most that one wait took,
  int64_t longest_spin_ns = 0;
  int64_t sleep_count = 0;  // At barriers.
  int64_t loan_count = 0;
  bool masks_are_kept = true;
};

// The same for the same arguments, to the last tick.
WaitOutcome SimulateWaits(const WaitHost& host, const WaitWork& work, int thread_count,
                          uint64_t seed, int64_t horizon_ns, WaitBug bug = WaitBug::kNone);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_WAIT_SIMULATION_H_
