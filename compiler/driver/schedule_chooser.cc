#include "compiler/driver/schedule_chooser.h"

#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/parallel_for.h"
#include "base/status_macros.h"
#include "base/usable_cpus.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/verifier.h"
#include "compiler/schedule/trace.h"
#include "db/stored_trace.h"

namespace burnish {
namespace {

// The task's program with the trace applied; names as in the workload's text.
absl::StatusOr<Program> ApplyTo(const Program& definition, const std::string& trace_text) {
  ASSIGN_OR_RETURN(const Trace trace, ParseStoredTrace(trace_text));
  ASSIGN_OR_RETURN(Program scheduled, ApplyTrace(trace, definition));
  // Records are files that somebody may have edited. The primitives do not verify
  // (compiler/schedule/README.md).
  RETURN_IF_ERROR(Verify(scheduled));
  return scheduled;
}

}  // namespace

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
  std::vector<Known*> known;
  for (const ExtractedTask& task : tasks.tasks) {
    absl::StatusOr<Program> definition = ParseProgram(task.workload);
    if (!definition.ok()) {
      return absl::InternalError(
          absl::StrCat("task ", task.name, ": ", definition.status().message()));
    }
    definitions.push_back(*std::move(definition));
    known.push_back(&known_.at(task.workload));
  }
  std::vector<ChosenSchedule> chosen(tasks.tasks.size());
  std::vector<bool> done(tasks.tasks.size(), false);
  // A schedule that does not apply is put aside and all are selected anew: another task may now
  // afford a larger error. Each round takes one away, so this ends.
  for (bool again = true; again;) {
    again = false;
    std::vector<TaskChoices> choices;
    for (size_t i = 0; i < known.size(); ++i) {
      choices.push_back({.weight = tasks.tasks[i].weight, .schedules = known[i]->schedules});
    }
    const std::vector<int> selected = Select(choices, options);
    for (size_t i = 0; i < selected.size(); ++i) {
      KnownSchedule schedule = selected[i] < 0 ? KnownSchedule() : known[i]->schedules[selected[i]];
      if (done[i] && chosen[i].schedule.trace == schedule.trace) continue;
      absl::StatusOr<Program> scheduled = ApplyTo(definitions[i], schedule.trace);
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
  const size_t count = known.schedules.size();
  std::erase_if(known.schedules,
                [&](const KnownSchedule& schedule) { return schedule.trace == trace; });
  known.rejections.push_back(std::string(reason));
  return known.schedules.size() < count;
}

std::vector<std::string> ScheduleChooser::Rejections(const std::string& workload) const {
  const auto found = known_.find(workload);
  return found == known_.end() ? std::vector<std::string>() : found->second.rejections;
}

}  // namespace burnish
