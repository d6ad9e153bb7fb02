#include "tuner/sketch/default_schedule.h"

#include <optional>
#include <utility>

#include "compiler/ir/lower.h"
#include "compiler/schedule/trace_replay.h"
#include "tuner/cost_model/analytic_model.h"
#include "tuner/sketch/sketch.h"

namespace burnish {
namespace {

// Points of one sketch that are looked at; spaces of single operators are smaller.
constexpr int64_t kPointsMax = 4000;

}  // namespace

Trace DefaultSchedule(const Program& workload, const IsaModel& isa, int threads,
                      const SketchOptions& options) {
  Trace best;
  std::optional<double> best_seconds;
  TraceReplay replay(workload);
  for (const Sketch& sketch : GenerateSketches(workload, isa, threads, options)) {
    for (const Point& point : EnumeratePoints(sketch, kPointsMax)) {
      absl::StatusOr<Trace> trace = Bind(sketch, point);
      if (!trace.ok()) continue;
      const absl::StatusOr<const Program*> scheduled = replay.Apply(*trace);
      if (!scheduled.ok()) continue;
      const absl::StatusOr<Program> lowered = Lower(**scheduled);
      if (!lowered.ok()) continue;
      const double seconds = AnalyticSeconds(*lowered, isa, threads);
      if (best_seconds.has_value() && *best_seconds <= seconds) continue;
      best_seconds = seconds;
      best = *std::move(trace);
    }
  }
  return best;
}

}  // namespace burnish
