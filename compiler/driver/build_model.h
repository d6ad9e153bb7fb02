// A model and the best schedules that are known into one file that runs the model.
#ifndef COMPILER_DRIVER_BUILD_MODEL_H_
#define COMPILER_DRIVER_BUILD_MODEL_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "compiler/driver/model_error.h"
#include "compiler/driver/schedule_source.h"
#include "compiler/driver/select.h"
#include "compiler/driver/unwritten_bundle.h"
#include "compiler/driver/weight_pool.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/precision_pass.h"
#include "compiler/graph/prepare.h"
#include "compiler/target/target.h"
#include "proto/builder.h"
#include "proto/measurement.h"

namespace burnish {

// Where a build stands.
struct BuildProgress {
  enum class Stage { kSchedules, kKernels, kWeights, kError };

  Stage stage = Stage::kSchedules;
  int done = 0;   // Of kSchedules: tasks; of kError: runs that say what 16 bits cost.
  int total = 0;  // 0: the stage cannot tell.
};

struct BuildModelOptions {
  Target target;
  // 0: no fusion; 1: fusion; 2: layout, too, and views instead of copies; 3: schedules that round
  // otherwise than the definition, too, as far as `select` allows.
  int opt_level = 3;
  SelectOptions select = {};
  // Of f32 values between operators, and weights: 16 bits halve both, 8 bits (with ranges) are
  // quantized numbers. The built model is then compared with the same model in f32. While it is
  // over the budget of `select`, layers go back to f32, those with the most error per microsecond
  // first (docs/adr/0020-layers-in-16-bits.md).
  FloatStorage storage = {};
  // By layer, whatever is estimated or recorded as fastest within that budget; `storage` is f32,
  // and has ranges where 8 bits are a choice, too.
  bool fastest_storage = false;
  // What errors are measured on.
  ExampleInputs examples = {};
  // FAILED_PRECONDITION, naming the tasks, unless each has a schedule that was tuned for the
  // target.
  bool require_tuned = false;
  // All parameters can be replaced in the bundle, not only those that no pass computed with: how
  // the others became weights goes into it as code (refit_program.h).
  bool refit = false;
  // Of a range, with a bundle for each of several bounds (ladder.h): the weights that they have in
  // common; null: there is one bound.
  WeightPool* pool = nullptr;
  // For smaller bounds than the whole bundle's, which says how parameters become weights.
  bool is_variant = false;
  absl::Duration time_limit_per_kernel = absl::Seconds(30);
  PassOptions passes = {};
  // Called when a stage begins and after each part of it, from any thread, one call at a time.
  std::function<void(const BuildProgress&)> progress = nullptr;
};

struct TaskReport {
  std::string name;         // "conv+add+relu".
  std::string workload;     // Its text.
  std::string workload_id;  // SHA-256 of that, 64 hexadecimal digits.
  int64_t weight = 0;       // Steps of the model that are this task.
  int64_t flop_count = 0;   // Of one step.
  ScheduleOrigin origin = ScheduleOrigin::kDefault;
  int64_t latency_ns = 0;   // As recorded; 0: not known.
  double estimated_ns = 0;  // By the source's cost model where nothing is recorded; 0: not known.
  bool is_looped = false;   // See ExtractedTask.
  Numerics numerics;        // Its error as recorded, where it was measured.
  std::string trace;
  BuildFacts build;                   // Of the task's first step.
  std::vector<std::string> rejected;  // Why better schedules were not taken.
  DType works_in = DType::kF32;       // What its first step reads what it works on as.
};

// Steps that are stored alike.
struct LayerReport {
  std::string name;  // Of its first node.
  DType type = DType::kF32;
};

struct BuiltModel {
  std::string bundle;         // compiler/runtime/bundle.h.
  UnwrittenBundle unwritten;  // Of BuildUnwritten; and then there is no `bundle`.
  std::vector<TaskReport> tasks;
  int step_count = 0;
  int kernel_count = 0;  // Distinct bodies.
  int64_t arena_bytes = 0;
  int64_t weights_bytes = 0;
  int64_t refit_bytes = 0;  // Of the refit program; 0: there is none.
  // Tensor error of the outputs that algorithms with other rounding and fewer bits are behind:
  // what the algorithms' steps' errors add up to, and what the built model showed against the same
  // model without either (model_error.h). Nullopt: it was not run, since it is for another machine
  // or has none of them.
  double expected_error = 0;
  std::optional<double> measured_error = std::nullopt;
  std::string measured_on = {};          // For people.
  FloatStorage storage = {};             // As it was built.
  std::vector<LayerReport> layers = {};  // That might be narrow; none: nothing was chosen.
};

// Equal graph, schedules, target and builder give equal bytes. A schedule that cannot be applied or
// compiled is passed over for the next best. A model with algorithms that round otherwise is run
// here, where this machine can: while the error is over the budget of `select`, those that add most
// are replaced, or go back to f32. Errors: INVALID_ARGUMENT for the graph, the builder's,
// OUT_OF_RANGE where that does not help, or where it has to be measured and cannot be, INTERNAL
// where a default nest does not compile.
absl::StatusOr<BuiltModel> BuildModel(const Graph& graph, ScheduleSource& source, Builder& builder,
                                      const BuildModelOptions& options);

// As BuildModel, but for the file: for ComposeLadder.
absl::StatusOr<BuiltModel> BuildUnwritten(const Graph& graph, ScheduleSource& source,
                                          Builder& builder, const BuildModelOptions& options);

// How BuildModel would store the model with these schedules, but for what it finds when it has
// built it so. One build, of the model in f32. Errors: as there.
absl::StatusOr<FloatStorage> ChooseStorage(const Graph& graph, ScheduleSource& source,
                                           Builder& builder, const BuildModelOptions& options);

// What a study tunes.
struct TunedModel {
  std::vector<ExtractedTask> tasks;  // In order of first use; without those that need no kernel.
  std::vector<int> order;            // The task of each step, as the model runs them.
};
// As the model is cut with the source's schedules.
absl::StatusOr<TunedModel> ModelTasks(const Graph& graph, ScheduleSource& source,
                                      const BuildModelOptions& options);

// The model as a pass left it. INVALID_ARGUMENT: as BuildModel, or that pass does not run.
absl::StatusOr<Graph> GraphAfterPass(const Graph& graph, const BuildModelOptions& options,
                                     absl::string_view pass);

// Every kernel of the model as text, in the order of first use: "ir", "schedule", "lowered", "c",
// "llvm" or "asm", each after a line with the task's name. Schedules are those that the expected
// errors allow: nothing is run.
absl::StatusOr<std::string> EmitModel(const Graph& graph, ScheduleSource& source, Builder& builder,
                                      const BuildModelOptions& options, absl::string_view form);

}  // namespace burnish

#endif  // COMPILER_DRIVER_BUILD_MODEL_H_
