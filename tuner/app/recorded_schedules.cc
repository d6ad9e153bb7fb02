#include "tuner/app/recorded_schedules.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/target/device_model.h"
#include "db/stored_trace.h"
#include "proto/calibrated.h"
#include "proto/measurement.h"
#include "proto/workload.h"
#include "tuner/cost_model/analytic_model.h"
#include "tuner/sketch/default_schedule.h"

namespace burnish {
namespace {

// How much slower than the default a schedule of the same anchor may be by the analytic model. The
// default is the model's own optimum, so by the estimate alone nothing that was measured could ever
// win; but it won against the default of its own workload, and the other `finish` rarely changes
// that. The model is asked only whether it does. Its aim is to be within 0.8 to 1.25 of what is
// measured; what two such errors explain, 1.25 / 0.8, does not speak against a measurement.
constexpr double kEstimateSlack = 1.25 / 0.8;

// By the analytic model. Errors: a trace that is none of this workload's.
absl::StatusOr<double> EstimatedSeconds(const Program& workload, const std::string& trace_text,
                                        const DeviceModel& device) {
  ASSIGN_OR_RETURN(const Program scheduled, ApplyStoredTrace(trace_text, workload));
  ASSIGN_OR_RETURN(const Program lowered, Lower(scheduled, {.for_estimate = true}));
  return AnalyticSeconds(lowered, device, device.workers());
}

KnownSchedule ScheduleOf(const Record& record, const BestAnswer& answer) {
  if (answer.workload_match == WorkloadMatch::kSameAnchor) {
    // Its latency and its error are another workload's. The order of the answer stays.
    Numerics numerics = record.numerics;
    numerics.error = Numerics::kErrorNotMeasured;
    return {.trace = record.trace, .origin = ScheduleOrigin::kSameAnchor, .numerics = numerics};
  }
  return {.trace = record.trace,
          .origin = answer.exact_target ? ScheduleOrigin::kTuned : ScheduleOrigin::kCompatible,
          .latency_ns = record.rank_ns,
          .numerics = record.numerics};
}

// Weights that the iteration before has left in a cache arrive as fast as they are asked for:
// asking ahead takes as many slots as loading. LSTM of 64, a product of 1 x 64 x 256: 540 ns with
// and 390 without (EPYC Zen 5, by hand).
std::string WithoutPrefetch(const std::string& trace) {
  std::vector<absl::string_view> steps = absl::StrSplit(trace, '\n');
  std::erase_if(steps, [](absl::string_view step) { return absl::StartsWith(step, "prefetch@"); });
  return absl::StrJoin(steps, "\n");
}

// 0 where nothing is known.
double NsOf(double seconds) { return std::isfinite(seconds) ? seconds * 1e9 : 0; }

std::vector<KnownSchedule> Defaults(const std::vector<DefaultChoice>& choices, bool is_looped) {
  std::vector<KnownSchedule> schedules;
  // In order: the first of those that the accuracy allows is the fastest by the model.
  for (const DefaultChoice& choice : choices) {
    const std::string trace = PrintTrace(choice.trace);
    schedules.push_back({.trace = is_looped ? WithoutPrefetch(trace) : trace,
                         .origin = ScheduleOrigin::kDefault,
                         .estimated_ns = NsOf(choice.seconds),
                         .numerics = choice.numerics});
  }
  return schedules;
}

}  // namespace

BestFinder BestIn(const RecordStore& records) {
  return [&records](const BestQuery& query) { return records.Best(query); };
}

absl::StatusOr<BestAnswer> RecordedSchedules::LookUp(const ExtractedTask& task,
                                                     const Program& workload,
                                                     const Target& target) const {
  BestAnswer best;
  if (find_best_ == nullptr) return best;
  BestQuery query{.workload_id = Sha256Bytes(task.workload),
                  .target = target.ToText(),
                  .isa_key = target.IsaKey(),
                  .accuracy = options_.accuracy,
                  .limit = options_.limit};
  const std::string anchor_id = Sha256Bytes(PrintWorkload(workload, /*empty_finish=*/true));
  for (const std::string& anchor : {std::string(), anchor_id}) {
    query.anchor_id = anchor;
    // Timings of an older method do not compare with these; among themselves they do.
    for (const std::optional<int32_t> version :
         {std::optional<int32_t>(kMeasureMethodVersion), std::optional<int32_t>()}) {
      query.method_version = version;
      ASSIGN_OR_RETURN(best, find_best_(query));
      if (!best.records.empty()) return best;
    }
  }
  return best;
}

absl::StatusOr<std::vector<KnownSchedule>> RecordedSchedules::Find(const ExtractedTask& task,
                                                                   const Target& target) {
  ASSIGN_OR_RETURN(const Program workload, ParseProgram(task.workload));
  ASSIGN_OR_RETURN(const BestAnswer best, LookUp(task, workload, target));
  std::vector<KnownSchedule> schedules;
  for (const Record& record : best.records) schedules.push_back(ScheduleOf(record, best));
  const DeviceModel device = DeviceModelOf(target, options_.calibration);
  for (KnownSchedule& schedule : schedules) {
    if (!options_.estimates) break;
    const absl::StatusOr<double> seconds = EstimatedSeconds(workload, schedule.trace, device);
    if (seconds.ok()) schedule.estimated_ns = NsOf(*seconds);
  }
  // A schedule of this target that any accuracy allows will do without the defaults, which take a
  // second or so a task.
  const bool is_served =
      std::any_of(schedules.begin(), schedules.end(), [](const KnownSchedule& schedule) {
        return schedule.origin == ScheduleOrigin::kTuned &&
               schedule.numerics.kind != NumericsClass::kAlgorithm;
      });
  if (is_served) return schedules;
  const SketchOptions sketches{.algorithms = !options_.accuracy.strict};
  const DefaultNeeds needs{.by_form = options_.by_form, .call_parts = task.call_parts};
  const std::vector<DefaultChoice> choices =
      options_.cache == nullptr
          ? DefaultSchedules(workload, device, sketches, needs)
          : options_.cache->Defaults(workload, target, options_.calibration, sketches, needs);
  std::erase_if(schedules, [&](const KnownSchedule& schedule) {
    if (schedule.origin != ScheduleOrigin::kSameAnchor) return false;
    const absl::StatusOr<double> seconds = EstimatedSeconds(workload, schedule.trace, device);
    // One that does not apply stays in: the driver passes it over and reports why.
    return seconds.ok() && *seconds > kEstimateSlack * choices.front().seconds;
  });
  for (KnownSchedule& schedule : Defaults(choices, task.is_looped))
    schedules.push_back(std::move(schedule));
  return schedules;
}

absl::StatusOr<double> RecordedSchedules::Estimate(const ExtractedTask& task,
                                                   const std::string& trace, const Target& target) {
  ASSIGN_OR_RETURN(const Program workload, ParseProgram(task.workload));
  ASSIGN_OR_RETURN(const double seconds,
                   EstimatedSeconds(workload, trace, DeviceModelOf(target, options_.calibration)));
  return seconds * 1e9;
}

}  // namespace burnish
