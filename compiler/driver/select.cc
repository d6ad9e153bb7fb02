#include "compiler/driver/select.h"

#include <cmath>
#include <limits>
#include <tuple>

#include "base/numerics.h"

namespace burnish {
namespace {

// Smaller is better.
std::tuple<int, int64_t, int> RankOf(const KnownSchedule& schedule, int index) {
  const int64_t latency_ns =
      schedule.latency_ns > 0 ? schedule.latency_ns : std::numeric_limits<int64_t>::max();
  // Origin first: a time on this target is worth more than one from another, and that more than a
  // prediction. The index makes the order total, as the same bytes are promised for the same
  // records.
  return {static_cast<int>(schedule.origin), latency_ns, index};
}

// The best schedule with an error below `error_limit`; -1: none.
int BestBelow(const TaskChoices& task, double error_limit, bool strict) {
  int best = -1;
  for (int i = 0; i < static_cast<int>(task.schedules.size()); ++i) {
    const KnownSchedule& schedule = task.schedules[i];
    if (strict && !schedule.numerics.lossless()) continue;
    // Strictly less in each round, so that the loop of Select ends.
    if (ErrorOf(schedule.numerics) >= error_limit) continue;
    if (best < 0 || RankOf(schedule, i) < RankOf(task.schedules[best], best)) best = i;
  }
  return best;
}

double ErrorOfChoice(const TaskChoices& task, int choice) {
  return choice < 0 ? 0 : ErrorOf(task.schedules[choice].numerics);
}

}  // namespace

std::vector<int> Select(absl::Span<const TaskChoices> tasks, const SelectOptions& options) {
  std::vector<int> choices;
  for (const TaskChoices& task : tasks) {
    choices.push_back(BestBelow(task, std::numeric_limits<double>::infinity(), options.strict));
  }
  while (true) {
    double total = 0, most = 0;  // Squares.
    size_t worst = 0;
    for (size_t i = 0; i < tasks.size(); ++i) {
      const double error = ErrorOfChoice(tasks[i], choices[i]);
      // By its weight: a task that the model has five times adds five independent errors.
      const double square = error * error * static_cast<double>(tasks[i].weight);
      total += square;
      if (square > most) {
        most = square;
        worst = i;
      }
    }
    if (std::sqrt(total) <= options.error_budget) return choices;
    // Greedy: the task that adds most gives way first, by one step. An exact choice would be a
    // knapsack, for a bound that is itself a guess.
    choices[worst] =
        BestBelow(tasks[worst], ErrorOfChoice(tasks[worst], choices[worst]), options.strict);
  }
}

}  // namespace burnish
