#include "tuner/app/emit_sketches.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/driver/schedule_source.h"
#include "compiler/ir/parser.h"
#include "compiler/target/device_model.h"
#include "tuner/app/build_bundle.h"
#include "tuner/sketch/sketch_text.h"

namespace burnish {

absl::StatusOr<std::string> EmitSketches(const Graph& graph, const BuildModelOptions& options,
                                         const std::string& what) {
  DefaultScheduleSource defaults;
  const absl::StatusOr<TunedModel> model = ModelTasks(graph, defaults, options);
  if (!model.ok()) return BuildError(model.status(), what);
  // From level 3 on rounding may change; as in a study.
  const SketchOptions sketches{.algorithms = !options.select.strict && options.opt_level >= 3};
  const DeviceModel device = DeviceModelOf(options.target);
  std::string text;
  for (const ExtractedTask& task : model->tasks) {
    ASSIGN_OR_RETURN(const Program workload, ParseProgram(task.workload));
    absl::StrAppend(&text, "# ", task.name, "\n");
    for (const Sketch& sketch : GenerateSketches(workload, device, sketches)) {
      absl::StrAppend(&text, ToText(sketch), "\n");
    }
  }
  return text;
}

}  // namespace burnish
