// One build of a model whose passes have run. Private to build_model.
#ifndef COMPILER_DRIVER_BUILD_ONCE_H_
#define COMPILER_DRIVER_BUILD_ONCE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "compiler/driver/assemble.h"
#include "compiler/driver/build_model.h"
#include "compiler/driver/planned_model.h"
#include "compiler/driver/refit_program.h"
#include "compiler/driver/schedule_chooser.h"
#include "proto/builder.h"
#include "proto/compile.h"

namespace burnish {

// The steps of a model, and what the builder has to compile for them: one item a task and contract.
struct CompilePlan {
  std::vector<StepPlan> steps;
  std::vector<CompileItem> items;
  std::vector<int> task_of_item;
};

CompilePlan PlanSteps(const PlannedModel& model);

CompileRequest RequestOf(const BuildModelOptions& options, const CompilePlan& plan);

void Tell(const BuildModelOptions& options, BuildProgress::Stage stage, int done = 0,
          int total = 0);

// With schedules and storage.
absl::StatusOr<PlannedModel> PlanModel(const PlannedModel& cut, const BuildModelOptions& options,
                                       ScheduleChooser& chooser);
// As it is compiled. What a study tunes is cut without sharing: which rows of a table lie where is
// another schedule's choice, and would change the tasks with every record.
absl::StatusOr<PlannedModel> PlanShared(const PlannedModel& cut, const BuildModelOptions& options,
                                        ScheduleChooser& chooser);

// What a bundle was made of.
struct BuildParts {
  PlannedModel model;
  std::vector<StepPlan> steps;
  CompileReply reply;
};

// `cut`: of `graph`. Schedules that cannot be compiled are passed over. `parts` may be null.
absl::StatusOr<BuiltModel> BuildOnce(const Graph& graph, const PlannedModel& cut,
                                     const RefitProgram* refit, ScheduleChooser& chooser,
                                     Builder& builder, const BuildModelOptions& options,
                                     BuildParts* parts = nullptr);

}  // namespace burnish

#endif  // COMPILER_DRIVER_BUILD_ONCE_H_
