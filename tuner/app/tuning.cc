#include "tuner/app/tuning.h"

#include <filesystem>
#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "proto/workload.h"
#include "tuner/app/build_bundle.h"
#include "tuner/app/error.h"
#include "tuner/app/operator_spec.h"
#include "tuner/app/target_text.h"
#include "tuner/app/workload_facts.h"

namespace burnish {
namespace {

absl::Status CheckModelFile(const StudySpec& spec) {
  if (spec.model_path.empty() || spec.model_sha256.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string bytes, ReadModelFile(spec.model_path));
  // A study that goes on with another file under the same name would put its records under tasks
  // that are not the model's.
  if (Sha256Bytes(bytes) == spec.model_sha256) return absl::OkStatus();
  return MakeError(ErrorCode::kModelChanged, "the file has changed since it was submitted",
                   spec.model_path);
}

absl::StatusOr<StudyTaskSpec> ToStudyTask(const ExtractedTask& task) {
  ASSIGN_OR_RETURN(const Program program, ParseProgram(task.workload));
  // The second text, without `finish`, is the anchor's: records of workloads that differ only there
  // are history for each other (docs/contracts.md).
  ASSIGN_OR_RETURN(Workload workload,
                   MakeWorkload(task.workload, PrintWorkload(program, /*empty_finish=*/true)));
  return StudyTaskSpec{.name = WorkloadTitle(task.name, task.workload),
                       .workload = std::move(workload),
                       .weight = static_cast<double>(task.weight)};
}

}  // namespace

DType TypeOfPrecision(const std::string& precision) {
  DType type = DType::kI8;  // "int8" is its name in other runtimes.
  if (precision != "int8") ParseDType(precision, &type);
  return type;
}

FloatStorage StorageOf(const StudySpec& spec) {
  FloatStorage storage;
  if (spec.precision != "auto") storage.type = TypeOfPrecision(spec.precision);
  for (const auto& [value, range] : spec.ranges) {
    storage.ranges[value] = {.least = range.first, .greatest = range.second};
  }
  for (const auto& [layer, type] : spec.layer_types) {
    ParseDType(type, &storage.layers[layer]);
  }
  return storage;
}

BuildModelOptions BuildOptions(const Tuning& tuning) {
  return {.target = tuning.target,
          .opt_level = tuning.spec.opt_level,
          .select = {.error_budget = tuning.spec.error_max, .strict = tuning.spec.strict},
          .storage = StorageOf(tuning.spec)};
}

std::string TitleOf(const StudySpec& spec) {
  if (!spec.task.empty()) return spec.task;
  return std::filesystem::path(spec.model_path).filename().string();
}

absl::StatusOr<Tuning> PrepareTuning(const StudySpec& spec) {
  RETURN_IF_ERROR(CheckModelFile(spec));
  Tuning tuning{.spec = spec};
  ASSIGN_OR_RETURN(tuning.target, ResolveTarget(spec.target, 0));
  tuning.loader = std::make_shared<ModelLoader>(ModelRequest{.task = spec.task,
                                                             .model = spec.model_path,
                                                             .shapes = spec.shapes,
                                                             .batch = spec.batch,
                                                             .seed = spec.seed});
  ASSIGN_OR_RETURN(tuning.graph, tuning.loader->Load(spec.shapes));
  // Without schedules: which copies one asks for is no matter of the study, and must not depend on
  // what was recorded meanwhile.
  DefaultScheduleSource defaults;
  const absl::StatusOr<TunedModel> model = ModelTasks(tuning.graph, defaults, BuildOptions(tuning));
  if (!model.ok()) return BuildError(model.status(), TitleOf(spec));
  // An operator's neighbours are not those that it will have.
  if (!IsOperatorSpec(spec.task)) tuning.model_order = model->order;
  for (const ExtractedTask& task : model->tasks) {
    ASSIGN_OR_RETURN(StudyTaskSpec study_task, ToStudyTask(task));
    tuning.tasks.push_back(std::move(study_task));
    tuning.flop_counts.push_back(task.flop_count);
    tuning.constant_bytes += task.weight * WorkloadConstantBytes(task.workload);
  }
  if (tuning.tasks.empty()) {
    return MakeError(ErrorCode::kUsage, "there is nothing to tune: no operator computes anything",
                     TitleOf(spec), "`tuner compile` builds the model as it is");
  }
  return tuning;
}

}  // namespace burnish
