// What the points of a task's space take that the analytic model likes best, on one thread of this
// machine: a rough look at a space, not a search.
// usage: space_trial POINTS TRIALS SPACE,SPACE.. MODEL|FILE...
//
// Of each space (space_tasks.h) the TRIALS best by estimate of POINTS draws are compiled and timed.
// Prints microseconds of the best of each, the ratio to the first space, and how often of two timed
// points the one with the lower estimate was the faster (pairs that differ by 5 % or more).
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/parser.h"
#include "compiler/schedule/trace.h"
#include "compiler/target/device_model.h"
#include "tests/bench/kernel_timing.h"
#include "tests/bench/search/search_table.h"
#include "tests/bench/search/space_tasks.h"
#include "tuner/sketch/sketch.h"

namespace burnish {
namespace {

constexpr double kPairRatioMin = 1.05;

struct Trial {
  double estimate = 0, seconds = 0;
  std::string sketch;
};

absl::StatusOr<std::vector<Trial>> TrialsOf(const NamedTask& task, const DeviceModel& device,
                                            uint32_t spaces, int points, int trials) {
  ASSIGN_OR_RETURN(const Program program, ParseProgram(task.workload));
  ASSIGN_OR_RETURN(const SampledSpace sampled, SampleSpace(task.workload, device, spaces, points));
  std::vector<const DrawnPoint*> order;
  for (const DrawnPoint& point : sampled.draw.points) order.push_back(&point);
  std::sort(order.begin(), order.end(), [](const DrawnPoint* a, const DrawnPoint* b) {
    return a->estimate_seconds < b->estimate_seconds;
  });
  std::vector<Trial> timed;
  for (const DrawnPoint* point : order) {
    if (static_cast<int>(timed.size()) == trials) break;
    const Sketch& sketch = sampled.space->sketches()[point->proposal.sketch_index];
    ASSIGN_OR_RETURN(const Trace trace, Bind(sketch, point->proposal.point));
    ASSIGN_OR_RETURN(const Program scheduled, ApplyTrace(trace, program));
    ASSIGN_OR_RETURN(const Program lowered, Lower(scheduled));
    Compiled compiled = Compile(lowered, /*avx2=*/false);
    timed.push_back({point->estimate_seconds, Time(compiled, 1), sketch.name});
  }
  return timed;
}

double PairsInOrder(const std::vector<Trial>& trials) {
  int pairs = 0, right = 0;
  for (const Trial& a : trials) {
    for (const Trial& b : trials) {
      if (a.seconds * kPairRatioMin >= b.seconds) continue;
      ++pairs;
      right += a.estimate < b.estimate;
    }
  }
  return pairs == 0 ? 1 : static_cast<double>(right) / pairs;
}

absl::Status Run(int argc, char** argv) {
  int points = 0, trials = 0;
  if (!absl::SimpleAtoi(argv[1], &points) || !absl::SimpleAtoi(argv[2], &trials) || points < 1 ||
      trials < 1) {
    return absl::InvalidArgumentError("POINTS and TRIALS are counts");
  }
  const DeviceModel device = DeviceModelOf(BenchTarget(1, /*avx2=*/false));
  for (int i = 4; i < argc; ++i) {
    ASSIGN_OR_RETURN(const std::vector<NamedTask> tasks, TasksOf(argv[i], device));
    for (const NamedTask& task : tasks) {
      double first = 0;
      std::printf("%-34s", task.name.c_str());
      for (const absl::string_view space : absl::StrSplit(argv[3], ',')) {
        ASSIGN_OR_RETURN(const uint32_t spaces, SpacesOfName(space));
        ASSIGN_OR_RETURN(const std::vector<Trial> timed,
                         TrialsOf(task, device, spaces, points, trials));
        const Trial& best =
            *std::min_element(timed.begin(), timed.end(),
                              [](const Trial& a, const Trial& b) { return a.seconds < b.seconds; });
        if (first == 0) first = best.seconds;
        std::printf("  %9.1f us %5.2f pairs %.2f %s", 1e6 * best.seconds, best.seconds / first,
                    PairsInOrder(timed), best.sketch.c_str());
        std::fflush(stdout);
      }
      std::printf("\n");
    }
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: space_trial POINTS TRIALS SPACE,SPACE.. MODEL|FILE...\n");
    return 64;
  }
  const absl::Status done = Run(argc, argv);
  if (done.ok()) return 0;
  std::fprintf(stderr, "space_trial: %s\n", std::string(done.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) { return burnish::Main(argc, argv); }
