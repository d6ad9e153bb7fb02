#include "tuner/sketch/default_schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/numerics.h"
#include "base/stand_aside.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/packed_shapes.h"
#include "compiler/schedule/trace_replay.h"
#include "tuner/cost_model/analytic_model.h"
#include "tuner/sketch/point_visit.h"
#include "tuner/sketch/sketch.h"

namespace burnish {
std::vector<DefaultChoice> DefaultSchedules(const Program& workload, const DeviceModel& device,
                                            const SketchOptions& options, bool by_form) {
  std::map<std::pair<int64_t, PackedShapes>, DefaultChoice> best;  // By AlgorithmKey, and form.
  // What applies everywhere: the default nest.
  best[{0, {}}].seconds = std::numeric_limits<double>::infinity();
  TraceReplay replay(workload);
  for (const Sketch& sketch : GenerateSketches(workload, device, options)) {
    VisitPoints(sketch, [&](const Point& point) -> std::optional<double> {
      absl::StatusOr<Trace> trace = Bind(sketch, point);
      if (!trace.ok()) return std::nullopt;
      const absl::StatusOr<const Program*> scheduled = replay.Apply(*trace);
      if (!scheduled.ok()) return std::nullopt;
      const absl::StatusOr<Program> lowered = Lower(**scheduled, {.for_estimate = true});
      if (!lowered.ok()) return std::nullopt;
      StandAsidePoint();
      const double seconds = AnalyticSeconds(*lowered, device, device.workers());
      const auto [at, is_new] =
          best.try_emplace({AlgorithmKey(lowered->numerics),
                            by_form ? PackedShapesOf(**scheduled) : PackedShapes()});
      if (is_new || seconds < at->second.seconds) {
        at->second = {*std::move(trace), seconds, lowered->numerics};
      }
      return seconds;
    });
  }
  std::vector<DefaultChoice> choices;
  for (auto& [key, choice] : best) choices.push_back(std::move(choice));
  std::sort(choices.begin(), choices.end(), [](const DefaultChoice& a, const DefaultChoice& b) {
    return std::pair(a.seconds, AlgorithmKey(a.numerics)) <
           std::pair(b.seconds, AlgorithmKey(b.numerics));
  });
  // The default nest, where forms are all packed ones.
  if (by_form && choices.size() > 1 && std::isinf(choices.back().seconds)) choices.pop_back();
  return choices;
}

Trace DefaultSchedule(const Program& workload, const DeviceModel& device,
                      const SketchOptions& options) {
  return DefaultSchedules(workload, device, options).front().trace;
}

}  // namespace burnish
