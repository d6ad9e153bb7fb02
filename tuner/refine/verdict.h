// Who is best inside the model: times of several fresh processes against the A/A spread, which is
// what two entries that are the same candidate differ by.
#ifndef TUNER_REFINE_VERDICT_H_
#define TUNER_REFINE_VERDICT_H_

#include <vector>

#include "absl/types/span.h"
#include "proto/measurement.h"

namespace burnish {

// So many fresh processes declare a winner: pages and code lie elsewhere in each.
inline constexpr int kRefineProcesses = 3;

// One task's entries in the processes so far. Entries 0 and 1 are the incumbent, loaded twice; the
// others contend. One entry alone: there is nothing to choose.
struct RefineTimes {
  // [entry][process]: nanoseconds, the median of its passes in that process. An entry that has left
  // has fewer processes.
  std::vector<std::vector<double>> entry_ns;
};

struct RefineVerdict {
  int winner = 0;           // Index of an entry; 0: the incumbent stays.
  double incumbent_ns = 0;  // Mean over entries 0 and 1 and the processes.
  // Latency of the winner as a share of the incumbent's; 1: it stays, else less.
  double ratio = 1;
  double spread_ns = 0;  // What a winner had to beat.
};

// By task and entry: whether it may still win, when the processes so far count. Entries 0 and 1 of
// a task stay while another of the task does; of a task without contenders entry 0 stays, to keep
// its place in the model.
std::vector<std::vector<bool>> Contenders(absl::Span<const RefineTimes> tasks);

// A winner beats the mean of entries 0 and 1 in every one of kRefineProcesses processes by more
// than the spread: the largest difference between those two that any process showed, or the upper
// quartile of all tasks' relative ones, whichever is more. Of several the one that is fastest in
// sum.
std::vector<RefineVerdict> Judge(absl::Span<const RefineTimes> tasks);

// Of one process; 0: none.
double MedianNs(const ProcessLatencies& process);

}  // namespace burnish

#endif  // TUNER_REFINE_VERDICT_H_
