#include "tuner/study/task_tools.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/numerics.h"
#include "base/parallel_for.h"
#include "base/rng.h"
#include "base/stand_aside.h"
#include "base/status_macros.h"
#include "compiler/ir/parser.h"
#include "compiler/schedule/trace.h"
#include "compiler/target/device_model.h"
#include "compiler/te/operator.h"
#include "db/stored_trace.h"
#include "proto/calibrated.h"
#include "tuner/cost_model/candidate_features.h"
#include "tuner/cost_model/features.h"
#include "tuner/cost_model/prior_model.h"
#include "tuner/cost_model/random_model.h"
#include "tuner/cost_model/xgboost_model.h"
#include "tuner/search/model_scorer.h"
#include "tuner/sketch/default_schedule.h"
#include "tuner/study/search_preset.h"

namespace burnish {
namespace {

absl::StatusOr<std::unique_ptr<CostModel>> MakeModel(const StudySpec& spec) {
  const uint64_t seed = Rng(RngStream{.seed = spec.seed, .purpose = "cost model"}).Next();
  if (spec.cost_model == "random") return std::make_unique<RandomModel>(seed, kFeatureCount);
  if (spec.cost_model == "analytic") {
    if (spec.no_default) {
      return absl::InvalidArgumentError(
          "got cost model analytic, which the study withholds (--no-default, or its scheduler): "
          "want xgboost or random there");
    }
    return std::make_unique<PriorModel>(kFeatureCount, kLogAnalyticSeconds);
  }
  if (spec.cost_model == "xgboost") {
    return std::make_unique<XgboostModel>(
        XgboostModelOptions{.columns = kFeatureCount,
                            .prior_column = kLogAnalyticSeconds,
                            .analytic_column_count = kAnalyticFeatureCount,
                            .use_prior = !spec.no_default,
                            .seed = seed});
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "got cost model ", spec.cost_model, ", want one of ", absl::StrJoin(CostModelNames(), ", ")));
}

// INVALID_ARGUMENT: an unknown scheduler.
absl::StatusOr<SketchOptions> SketchOptionsOf(const StudySpec& spec) {
  ASSIGN_OR_RETURN(const SearchPreset preset, FindSearchPreset(spec.scheduler));
  return SketchOptions{.algorithms = preset.algorithms && !spec.strict && spec.opt_level >= 3,
                       .prefetch = preset.prefetch,
                       .spaces = preset.spaces};
}

// What a strategy that asks the scorer to choose has it choose by: a model that learns. Others have
// their score alone.
std::optional<ProcessColumns> ColumnsFor(const StudySpec& spec) {
  if (spec.cost_model != "xgboost") return std::nullopt;
  if (!spec.no_default) return ProcessColumns{.prior = kLogAnalyticSeconds};
  return ProcessColumns{.hidden_begin = kLogAnalyticSeconds, .hidden_count = kAnalyticFeatureCount};
}

// Of a candidate of the search, or from elsewhere. INVALID_ARGUMENT: from elsewhere, and no trace.
absl::StatusOr<Trace> StepsOf(absl::Span<const Sketch> sketches, const Proposal& proposal) {
  if (proposal.sketch_index == Proposal::kNoSketch) return ParseStoredTrace(proposal.trace);
  return StepsAt(sketches[proposal.sketch_index].steps, proposal.point);
}

absl::StatusOr<TaskTools> ToolsOfTask(const TaskToolsOptions& options, const StudyTaskSpec& task,
                                      const Target& target, const StudySpec& spec,
                                      std::shared_ptr<SharedModel> shared) {
  ASSIGN_OR_RETURN(Program program, ParseProgram(task.workload.text));
  const DeviceModel device = DeviceModelOf(target, spec.calibration);
  TaskTools tools;
  ASSIGN_OR_RETURN(const SketchOptions searched, SketchOptionsOf(spec));
  tools.sketches = GenerateSketches(program, device, searched);
  // What `compile` takes without records, whatever this study searches.
  const SketchOptions shipped{.algorithms = searched.algorithms};
  double saving_max = 1;  // Of the algorithms that the task may use.
  const std::vector<DefaultChoice> defaults =
      options.defaults == nullptr ? DefaultSchedules(program, device, shipped)
                                  : options.defaults(program, target, spec.calibration, shipped);
  for (const DefaultChoice& choice : defaults) {
    const Algorithm* algorithm = FindAlgorithm(choice.numerics.algorithm);
    if (algorithm != nullptr) saving_max = std::max(saving_max, algorithm->saving_max);
    std::string trace = PrintTrace(choice.trace);
    tools.default_traces.push_back(trace);
    // Candidate 0 is the one by the definition: others are compared with its outputs.
    if (choice.numerics.lossless()) {
      tools.default_trace = std::move(trace);
    } else if (!spec.no_default) {
      tools.seed_traces.push_back(std::move(trace));
    }
  }
  const double peak = options.peak_flops == nullptr ? 0 : options.peak_flops(program);
  if (peak > 0) {
    const double seconds = static_cast<double>(CountFlops(program)) / peak / saving_max;
    tools.bound_ns = std::llround(seconds * 1e9);
  }
  if (options.least != nullptr) {
    tools.least = [least = options.least, program = std::make_shared<const Program>(program),
                   target, saving_max](const std::optional<CalibrationRow>& row) {
      return least(*program, target, saving_max, row);
    };
  }
  auto extractor =
      std::make_shared<CandidateFeatureExtractor>(std::move(program), device, target.threads);
  tools.scorer = std::make_unique<ModelScorer>(
      std::move(shared), task.workload.id, kFeatureCount,
      [extractor,
       sketches = tools.sketches](const Proposal& proposal) -> absl::StatusOr<Extraction> {
        StandAsidePoint();
        ASSIGN_OR_RETURN(const Trace steps, StepsOf(sketches, proposal));
        ASSIGN_OR_RETURN(CandidateFeatures features, extractor->Extract(steps));
        return Extraction{std::move(features.features), std::move(features.fingerprint)};
      },
      ColumnsFor(spec));
  return tools;
}

}  // namespace

absl::StatusOr<std::vector<Sketch>> SketchesOf(const StudyTaskSpec& task, const Target& target,
                                               const StudySpec& spec) {
  ASSIGN_OR_RETURN(const Program program, ParseProgram(task.workload.text));
  ASSIGN_OR_RETURN(const SketchOptions options, SketchOptionsOf(spec));
  return GenerateSketches(program, DeviceModelOf(target), options);
}

absl::StatusOr<std::vector<TaskTools>> MakeTaskTools(const TaskToolsOptions& options,
                                                     absl::Span<const StudyTaskSpec> tasks,
                                                     const Target& target, const StudySpec& spec) {
  auto shared = std::make_shared<SharedModel>();
  ASSIGN_OR_RETURN(shared->model, MakeModel(spec));
  // Default schedules take up to a second a task. Tasks share nothing but the model, which nobody
  // asks yet.
  std::vector<absl::StatusOr<TaskTools>> made(tasks.size());
  ParallelFor(tasks.size(), options.make_threads,
              [&](size_t i) { made[i] = ToolsOfTask(options, tasks[i], target, spec, shared); });
  std::vector<TaskTools> tools;
  for (absl::StatusOr<TaskTools>& one : made) {
    RETURN_IF_ERROR(one.status());
    tools.push_back(*std::move(one));
  }
  return tools;
}

}  // namespace burnish
