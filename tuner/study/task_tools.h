// The tools of a real task: sketches of its program, its default schedule, a model on features of
// lowered candidates.
#ifndef TUNER_STUDY_TASK_TOOLS_H_
#define TUNER_STUDY_TASK_TOOLS_H_

#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/program.h"
#include "compiler/target/target.h"
#include "proto/calibration_row.h"
#include "tuner/sketch/default_schedule.h"
#include "tuner/sketch/sketch.h"
#include "tuner/study/study_types.h"

namespace burnish {

struct TaskToolsOptions {
  // Operations a second that the machine computes a workload at, at most, with all of the target's
  // threads: for the roofline bound. Null: not known. Where an algorithm needs fewer operations
  // than the definition, the bound is by its count.
  std::function<double(const Program& workload)> peak_flops = nullptr;
  // TaskTools::least of a workload whose algorithms save at most so much. Null: there is none.
  std::function<LeastTimes(const Program& workload, const Target& target, double saving_max,
                           const std::optional<CalibrationRow>& row)>
      least = nullptr;
  int make_threads = 1;  // That the tools are made on.
  // What DefaultSchedules gives for the target's machine with that row, from wherever it is kept:
  // half a second of a core a task otherwise. Null: made anew. From several threads at a time.
  std::function<std::vector<DefaultChoice>(const Program& workload, const Target& target,
                                           const std::optional<CalibrationRow>& calibration,
                                           const SketchOptions& sketches)>
      defaults = nullptr;
};

// The space that a study with these settings searches: its preset, accuracy and optimization level
// decide which rules have a say. INVALID_ARGUMENT: a workload that does not parse, or a scheduler
// that there is not.
absl::StatusOr<std::vector<Sketch>> SketchesOf(const StudyTaskSpec& task, const Target& target,
                                               const StudySpec& spec);

// A TaskToolsMaker but for the options: one model for all tasks. `spec.cost_model`: "xgboost",
// "analytic" (which learns nothing) or "random". With `spec.no_default` the analytic model is
// withheld. INVALID_ARGUMENT: a workload that does not parse, an unknown model, or the one that is
// withheld.
absl::StatusOr<std::vector<TaskTools>> MakeTaskTools(const TaskToolsOptions& options,
                                                     absl::Span<const StudyTaskSpec> tasks,
                                                     const Target& target, const StudySpec& spec);

}  // namespace burnish

#endif  // TUNER_STUDY_TASK_TOOLS_H_
