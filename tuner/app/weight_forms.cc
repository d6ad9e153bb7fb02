#include "tuner/app/weight_forms.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/program.h"
#include "db/stored_trace.h"
#include "tuner/app/workload_facts.h"

namespace burnish {
namespace {

// How much longer a kernel may take by the cost model, whose aim is to be within 0.8 to 1.25 of
// what is measured: as in share_packs.cc for weights that hardly show in the file, and twice as
// long for the others, without which the bundle would lose its smaller bounds (build_range.cc):
// with them one word of GPT-2 takes 0.80 of the time.
constexpr double kLongerMax = 1.05, kLongerMaxOfMany = 2;
constexpr int64_t kManyBytes = int64_t{1} << 20;

// What tasks of other bounds have in common with this one.
std::string KeyOf(const std::string& name, const Program& program) {
  std::string key = name;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.role == BufferRole::kConstant) {
      absl::StrAppend(&key, "\n", static_cast<int>(buffer.dtype), " ",
                      absl::StrJoin(buffer.shape, "x"));
    }
  }
  return key;
}

}  // namespace

absl::Status WeightForms::Add(const BuiltModel& built) {
  for (const TaskReport& task : built.tasks) {
    if (const absl::Status added = Add(task.name, task.workload, task.trace); !added.ok()) {
      return absl::InternalError(absl::StrCat(task.name, ": ", added.message()));
    }
  }
  return absl::OkStatus();
}

void WeightForms::AddMeasured(const ExtractedTask& task, absl::Span<const KnownSchedule> found) {
  for (const KnownSchedule& schedule : found) {
    if (schedule.origin != ScheduleOrigin::kTuned) continue;
    if (Add(task.name, task.workload, schedule.trace).ok()) return;
  }
}

absl::Status WeightForms::Add(const std::string& name, const std::string& workload_text,
                              const std::string& trace) {
  ASSIGN_OR_RETURN(const Program workload, ParseProgram(workload_text));
  if (WorkloadConstantBytes(workload) == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Program scheduled, ApplyStoredTrace(trace, workload));
  known_[KeyOf(name, workload)].insert(PackedShapesOf(scheduled));
  return absl::OkStatus();
}

void WeightForms::Prefer(const ExtractedTask& task, std::vector<KnownSchedule>& schedules) const {
  if (known_.empty()) return;
  const absl::StatusOr<Program> workload = ParseProgram(task.workload);
  if (!workload.ok()) return;  // The driver says so.
  const auto known = known_.find(KeyOf(task.name, *workload));
  const auto first = std::find_if(
      schedules.begin(), schedules.end(),
      [](const KnownSchedule& each) { return each.origin == ScheduleOrigin::kDefault; });
  if (known == known_.end() || first == schedules.end()) return;
  const double longer_max =
      task.weight * WorkloadConstantBytes(*workload) < kManyBytes ? kLongerMax : kLongerMaxOfMany;
  const auto is_as_exact = [&](const KnownSchedule& each) {
    return each.numerics.kind != NumericsClass::kAlgorithm ||
           first->numerics.kind == NumericsClass::kAlgorithm;
  };
  for (auto each = first; each != schedules.end(); ++each) {
    if (each->estimated_ns > longer_max * first->estimated_ns) return;
    const absl::StatusOr<Program> scheduled = ApplyStoredTrace(each->trace, *workload);
    if (!scheduled.ok() || !known->second.contains(PackedShapesOf(*scheduled)) ||
        !is_as_exact(*each)) {
      continue;
    }
    std::rotate(first, each, each + 1);
    return;
  }
}

}  // namespace burnish
