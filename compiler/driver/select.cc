#include "compiler/driver/select.h"

#include <cmath>
#include <limits>
#include <tuple>

namespace burnish {
namespace {

bool IsLossless(const Numerics& numerics) {
  return numerics.kind == NumericsClass::kExact || numerics.kind == NumericsClass::kReassociated;
}

// Smaller is better.
std::tuple<int, int64_t, int> RankOf(const KnownSchedule& schedule, int index) {
  const int64_t latency_ns =
      schedule.latency_ns > 0 ? schedule.latency_ns : std::numeric_limits<int64_t>::max();
  return {static_cast<int>(schedule.origin), latency_ns, index};
}

// The best schedule with an error below `error_limit`; -1: none.
int BestBelow(const TaskChoices& task, double error_limit, bool strict) {
  int best = -1;
  for (int i = 0; i < static_cast<int>(task.schedules.size()); ++i) {
    const KnownSchedule& schedule = task.schedules[i];
    if (strict && !IsLossless(schedule.numerics)) continue;
    if (ErrorOf(schedule.numerics) >= error_limit) continue;
    if (best < 0 || RankOf(schedule, i) < RankOf(task.schedules[best], best)) best = i;
  }
  return best;
}

double ErrorOfChoice(const TaskChoices& task, int choice) {
  return choice < 0 ? 0 : ErrorOf(task.schedules[choice].numerics);
}

}  // namespace

double ErrorOf(const Numerics& numerics) {
  if (IsLossless(numerics)) return 0;
  if (numerics.error >= 0) return numerics.error;
  if (numerics.kind != NumericsClass::kWinograd) return std::numeric_limits<double>::max();
  // Above the largest that ResNet-50's layers show with random inputs: 8e-7, 6.4e-6, 1.8e-5.
  return numerics.winograd_m <= 2 ? 2e-6 : numerics.winograd_m <= 4 ? 7e-6 : 2e-5;
}

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
      const double square = error * error * static_cast<double>(tasks[i].weight);
      total += square;
      if (square > most) {
        most = square;
        worst = i;
      }
    }
    if (std::sqrt(total) <= options.error_budget) return choices;
    choices[worst] =
        BestBelow(tasks[worst], ErrorOfChoice(tasks[worst], choices[worst]), options.strict);
  }
}

}  // namespace burnish
