#include "compiler/driver/schedule_chooser.h"

#include <cmath>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/parallel_for.h"
#include "base/status_macros.h"
#include "base/usable_cpus.h"
#include "compiler/driver/share_packs.h"
#include "compiler/ir/parser.h"
#include "db/stored_trace.h"

namespace burnish {
absl::Status ScheduleChooser::LookUp(const TaskList& tasks) {
  std::vector<const ExtractedTask*> asked;
  for (const ExtractedTask& task : tasks.tasks) {
    if (known_.count(task.workload) == 0) asked.push_back(&task);
  }
  std::vector<absl::StatusOr<std::vector<KnownSchedule>>> found(asked.size());
  const int cpus = UsableCpuCount();
  // Without records a source generates and scores sketches, each task's by themselves.
  const auto total = static_cast<int>(asked.size());
  std::mutex mutex;
  int done = 0;
  const auto tell = [&](int more) {
    const std::lock_guard<std::mutex> lock(mutex);
    done += more;
    if (progress_ != nullptr && total > 0) progress_(done, total);
  };
  tell(0);
  ParallelFor(asked.size(), cpus, [&](size_t i) {
    found[i] = source_.Find(*asked[i], target_);
    tell(1);
  });
  for (size_t i = 0; i < asked.size(); ++i) {
    RETURN_IF_ERROR(found[i].status());
    known_[asked[i]->workload].schedules = *std::move(found[i]);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ChosenSchedule>> ScheduleChooser::Choose(const TaskList& tasks,
                                                                    const SelectOptions& options) {
  RETURN_IF_ERROR(LookUp(tasks));
  std::vector<Program> definitions;
  for (const ExtractedTask& task : tasks.tasks) {
    absl::StatusOr<Program> definition = ParseProgram(task.workload);
    if (!definition.ok()) {
      return absl::InternalError(
          absl::StrCat("task ", task.name, ": ", definition.status().message()));
    }
    definitions.push_back(*std::move(definition));
  }
  std::vector<std::vector<KnownSchedule>> offered(tasks.tasks.size());
  ASSIGN_OR_RETURN(std::vector<ChosenSchedule> chosen,
                   ChooseFrom(tasks, definitions, offered, options));
  bool any = false;
  for (SharedPack& shared : SharePacks(tasks, definitions, chosen, source_, target_)) {
    const Known& known = known_.at(tasks.tasks[shared.task].workload);
    if (known.rejected.contains(shared.schedule.trace)) continue;
    offered[shared.task].push_back(std::move(shared.schedule));
    any = true;
  }
  if (!any) return chosen;
  // Errors add up anew, so all are selected anew.
  return ChooseFrom(tasks, definitions, offered, options);
}

absl::StatusOr<std::vector<ChosenSchedule>> ScheduleChooser::ChooseFrom(
    const TaskList& tasks, const std::vector<Program>& definitions,
    const std::vector<std::vector<KnownSchedule>>& offered, const SelectOptions& options) {
  std::vector<ChosenSchedule> chosen(tasks.tasks.size());
  std::vector<bool> done(tasks.tasks.size(), false);
  // A schedule that does not apply is put aside and all are selected anew: another task may now
  // afford a larger error. Each round takes one away, so this ends.
  for (bool again = true; again;) {
    again = false;
    std::vector<TaskChoices> choices;
    for (size_t i = 0; i < tasks.tasks.size(); ++i) {
      const Known& known = known_.at(tasks.tasks[i].workload);
      TaskChoices& of_task = choices.emplace_back(TaskChoices{.weight = tasks.tasks[i].weight});
      for (const std::vector<KnownSchedule>* more : {&offered[i], &known.schedules}) {
        for (const KnownSchedule& schedule : *more) {
          if (!known.rejected.contains(schedule.trace)) of_task.schedules.push_back(schedule);
        }
      }
    }
    const std::vector<int> selected = Select(choices, options);
    for (size_t i = 0; i < selected.size(); ++i) {
      KnownSchedule schedule =
          selected[i] < 0 ? KnownSchedule() : choices[i].schedules[selected[i]];
      if (done[i] && chosen[i].schedule.trace == schedule.trace) continue;
      absl::StatusOr<Program> scheduled = ApplyStoredTrace(schedule.trace, definitions[i]);
      if (!scheduled.ok()) {
        if (!Reject(tasks.tasks[i].workload, schedule.trace, scheduled.status().message())) {
          return absl::InternalError(
              absl::StrCat("task ", tasks.tasks[i].name, ": ", scheduled.status().message()));
        }
        again = true;
        continue;
      }
      chosen[i] = {.schedule = std::move(schedule), .scheduled = *std::move(scheduled)};
      done[i] = true;
    }
  }
  return chosen;
}

bool ScheduleChooser::Reject(const std::string& workload, const std::string& trace,
                             absl::string_view reason) {
  // The definition's own nest: there is nothing left to fall back to.
  if (trace.empty()) return false;
  Known& known = known_[workload];
  known.rejections.push_back(std::string(reason));
  return known.rejected.insert(trace).second;
}

double ScheduleChooser::EstimatedNs(const ExtractedTask& task,
                                    const KnownSchedule& schedule) const {
  if (schedule.latency_ns > 0) return 0;
  if (schedule.estimated_ns > 0) return schedule.estimated_ns;
  // From another workload's record, or the default nest.
  const absl::StatusOr<double> ns = source_.Estimate(task, schedule.trace, target_);
  return ns.ok() && std::isfinite(*ns) ? *ns : 0;
}

std::vector<std::string> ScheduleChooser::Rejections(const std::string& workload) const {
  const auto found = known_.find(workload);
  return found == known_.end() ? std::vector<std::string>() : found->second.rejections;
}

}  // namespace burnish
