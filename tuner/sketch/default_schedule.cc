#include "tuner/sketch/default_schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/numerics.h"
#include "base/stand_aside.h"
#include "compiler/ir/join_parallel.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/packed_shapes.h"
#include "compiler/schedule/trace_replay.h"
#include "tuner/cost_model/analytic_model.h"
#include "tuner/sketch/point_visit.h"
#include "tuner/sketch/sketch.h"

namespace burnish {
namespace {

// A range has a bound of its own at a sixteenth (compiler/driver/ladder.h).
constexpr double kCallPartsMax = 16;

// What the calls of a task take: those that want all, and those that want the least.
class CallTimes {
 public:
  CallTimes(const DeviceModel& device, double call_parts)
      : device_(device),
        workers_(device.workers()),
        // A call that wants one part in two on two workers is to each of them what four would have
        // of the whole.
        shares_(
            static_cast<int>(std::lround(workers_ * std::clamp(call_parts, 1.0, kCallPartsMax)))) {}

  // Seconds of all. nullopt: the point does not lower.
  std::optional<double> OfAll(const Program& scheduled) const { return On(scheduled, workers_); }

  // The mean of `all` and the least, as if the least were all of it; `all` where calls want that.
  double Mean(const Program& scheduled, double all) const {
    if (shares_ == workers_) return all;
    // As kernels of ranges are compiled.
    Program joined = scheduled;
    JoinParallel(joined);
    const std::optional<double> part = On(joined, shares_);
    return part.has_value() ? (all + *part * shares_ / workers_) / 2 : all;
  }

 private:
  std::optional<double> On(const Program& scheduled, int workers) const {
    const absl::StatusOr<Program> lowered = Lower(scheduled, {.for_estimate = true});
    if (!lowered.ok()) return std::nullopt;
    return AnalyticSeconds(*lowered, device_, workers);
  }

  const DeviceModel& device_;
  const int workers_, shares_;
};

struct BestSoFar {
  DefaultChoice choice = {.seconds = std::numeric_limits<double>::infinity()};
  double score = std::numeric_limits<double>::infinity();  // Seconds, of CallTimes::Mean.
};

}  // namespace

std::vector<DefaultChoice> DefaultSchedules(const Program& workload, const DeviceModel& device,
                                            const SketchOptions& options,
                                            const DefaultNeeds& needs) {
  std::map<std::pair<int64_t, PackedShapes>, BestSoFar> best;  // By AlgorithmKey, and form.
  // What applies everywhere: the default nest.
  best[{0, {}}] = {};
  const CallTimes times(device, needs.call_parts);
  TraceReplay replay(workload);
  for (const Sketch& sketch : GenerateSketches(workload, device, options)) {
    VisitPoints(sketch, [&](const Point& point) -> std::optional<double> {
      absl::StatusOr<Trace> trace = Bind(sketch, point);
      if (!trace.ok()) return std::nullopt;
      const absl::StatusOr<const Program*> scheduled = replay.Apply(*trace);
      if (!scheduled.ok()) return std::nullopt;
      const std::optional<double> seconds = times.OfAll(**scheduled);
      if (!seconds.has_value()) return std::nullopt;
      StandAsidePoint();
      BestSoFar& at = best[{AlgorithmKey((*scheduled)->numerics),
                            needs.by_form ? PackedShapesOf(**scheduled) : PackedShapes()}];
      // Parts take no less than the whole does in the same share: most points need no second look.
      const double score = *seconds < at.score ? times.Mean(**scheduled, *seconds) : *seconds;
      if (score < at.score) at = {{*std::move(trace), *seconds, (*scheduled)->numerics}, score};
      return score;
    });
  }
  std::vector<DefaultChoice> choices;
  for (auto& [key, found] : best) choices.push_back(std::move(found.choice));
  std::sort(choices.begin(), choices.end(), [](const DefaultChoice& a, const DefaultChoice& b) {
    return std::pair(a.seconds, AlgorithmKey(a.numerics)) <
           std::pair(b.seconds, AlgorithmKey(b.numerics));
  });
  // The default nest, where forms are all packed ones.
  if (needs.by_form && choices.size() > 1 && std::isinf(choices.back().seconds)) choices.pop_back();
  return choices;
}

Trace DefaultSchedule(const Program& workload, const DeviceModel& device,
                      const SketchOptions& options) {
  return DefaultSchedules(workload, device, options).front().trace;
}

}  // namespace burnish
