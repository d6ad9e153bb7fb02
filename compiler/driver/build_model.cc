#include "compiler/driver/build_model.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/cpu_info.h"
#include "base/status_macros.h"
#include "compiler/driver/build_once.h"
#include "compiler/driver/planned_model.h"
#include "compiler/driver/reference_model.h"
#include "compiler/driver/refit_program.h"
#include "compiler/driver/schedule_chooser.h"
#include "compiler/driver/storage_choice.h"
#include "compiler/graph/quantize_graph.h"

namespace burnish {
namespace {

// Of the tasks whose schedules are looked up.
std::function<void(int, int)> ScheduleProgress(const BuildModelOptions& options) {
  if (options.progress == nullptr) return nullptr;
  return [&options](int done, int total) {
    options.progress({.stage = BuildProgress::Stage::kSchedules, .done = done, .total = total});
  };
}

// For this machine, which runs it at once, as pack functions are.
absl::StatusOr<RefitProgram> BuildRefitProgram(Graph& cut, ScheduleSource& source, Builder& builder,
                                               const BuildModelOptions& options) {
  ASSIGN_OR_RETURN(const Target host, HostTarget(HostCpuInfo(), 1));
  return MakeRefitProgram(cut, [&](const Graph& graph) -> absl::StatusOr<std::string> {
    // Level 2: as the definitions round.
    ASSIGN_OR_RETURN(BuiltModel built,
                     BuildModel(graph, source, builder,
                                {.target = host,
                                 .opt_level = 2,
                                 .time_limit_per_kernel = options.time_limit_per_kernel}));
    return std::move(built.bundle);
  });
}

bool Narrows(const BuildModelOptions& options) {
  return options.fastest_storage || options.storage.narrows();
}

// The graph that ranges are of.
absl::StatusOr<Graph> SourceOf(const Graph& graph, const BuildModelOptions& options) {
  Graph source = graph;
  if (!options.storage.ranges.empty()) RETURN_IF_ERROR(PrepareToQuantize(source));
  return source;
}

// Values between operators in the types that are asked for, whatever that costs.
CutOptions AsStored(const BuildModelOptions& options) {
  return {.opt_level = options.opt_level, .storage = options.storage, .passes = options.passes};
}

absl::StatusOr<BuiltModel> Build(const Graph& graph, ScheduleSource& source, Builder& builder,
                                 const BuildModelOptions& options) {
  ASSIGN_OR_RETURN(const Graph cut_from, SourceOf(graph, options));
  ASSIGN_OR_RETURN(PlannedModel cut, CutModel(cut_from, {.opt_level = options.opt_level,
                                                         .refit = options.refit,
                                                         .passes = options.passes}));
  ScheduleChooser chooser(source, options.target, ScheduleProgress(options));
  if (Narrows(options)) {
    return StorageChoice(graph, cut_from, cut, chooser, builder, options).Build();
  }
  std::optional<RefitProgram> program;
  if (options.refit) {
    ASSIGN_OR_RETURN(program, BuildRefitProgram(cut.graph, source, builder, options));
  }
  const RefitProgram* const refit = program.has_value() ? &*program : nullptr;
  ReferenceModel reference(graph, cut, refit, chooser, builder, options);
  return BuildInF32(graph, cut, refit, chooser, builder, options, reference);
}

}  // namespace

absl::StatusOr<BuiltModel> BuildUnwritten(const Graph& graph, ScheduleSource& source,
                                          Builder& builder, const BuildModelOptions& options) {
  if (Narrows(options) && options.refit) {
    return absl::InvalidArgumentError("parameters cannot be replaced where weights are rounded");
  }
  ASSIGN_OR_RETURN(BuiltModel built, Build(graph, source, builder, options));
  if (built.measured_error.has_value()) {
    NumberNotes& notes = built.unwritten.manifest.notes;
    notes.error = *built.measured_error;
    notes.measured_on = built.measured_on;
  }
  return built;
}

absl::StatusOr<BuiltModel> BuildModel(const Graph& graph, ScheduleSource& source, Builder& builder,
                                      const BuildModelOptions& options) {
  ASSIGN_OR_RETURN(BuiltModel built, BuildUnwritten(graph, source, builder, options));
  ASSIGN_OR_RETURN(built.bundle, Write(built.unwritten));
  built.unwritten = {};
  return built;
}

absl::StatusOr<FloatStorage> ChooseStorage(const Graph& graph, ScheduleSource& source,
                                           Builder& builder, const BuildModelOptions& options) {
  if (!Narrows(options)) return options.storage;
  ASSIGN_OR_RETURN(const Graph cut_from, SourceOf(graph, options));
  ASSIGN_OR_RETURN(const PlannedModel cut,
                   CutModel(cut_from, {.opt_level = options.opt_level, .passes = options.passes}));
  ScheduleChooser chooser(source, options.target, ScheduleProgress(options));
  StorageChoice choice(graph, cut_from, cut, chooser, builder, options);
  RETURN_IF_ERROR(choice.Start());
  // With room: other schedules round in another order, and the tasks are then not to change.
  return choice.Within(kBudgetMargin * options.select.error_budget);
}

absl::StatusOr<TunedModel> ModelTasks(const Graph& graph, ScheduleSource& source,
                                      const BuildModelOptions& options) {
  ASSIGN_OR_RETURN(const PlannedModel cut, CutModel(graph, AsStored(options)));
  ScheduleChooser chooser(source, options.target);
  ASSIGN_OR_RETURN(const PlannedModel model, PlanModel(cut, options, chooser));
  std::vector<int64_t> weights(model.tasks.tasks.size(), 0);
  for (size_t g = 0; g < model.tasks.calls.size(); ++g) {
    const TaskCall& call = model.tasks.calls[g];
    if (call.task >= 0) weights[call.task] += model.fusion.groups[g].repeat;
  }
  TunedModel tuned;
  std::vector<int> index(weights.size(), -1);  // Of a task of the model in `tuned`.
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    index[i] = static_cast<int>(tuned.tasks.size());
    tuned.tasks.push_back(model.tasks.tasks[i]);
    tuned.tasks.back().weight = weights[i];
  }
  for (const TaskCall& call : model.tasks.calls) {
    if (call.task >= 0) tuned.order.push_back(index[call.task]);
  }
  return tuned;
}

absl::StatusOr<Graph> GraphAfterPass(const Graph& graph, const BuildModelOptions& options,
                                     absl::string_view pass) {
  ASSIGN_OR_RETURN(const Graph cut_from, SourceOf(graph, options));
  std::optional<Graph> found;
  CutOptions cut = AsStored(options);
  cut.passes.observer = [&](const GraphPass& done, const Graph& after, absl::Duration) {
    if (done.name == pass) found = after;
  };
  RETURN_IF_ERROR(CutModel(cut_from, cut).status());
  if (!found.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("pass '", pass, "' does not run in this build"));
  }
  return *std::move(found);
}

absl::StatusOr<std::string> EmitModel(const Graph& graph, ScheduleSource& source, Builder& builder,
                                      const BuildModelOptions& options, absl::string_view form) {
  ASSIGN_OR_RETURN(const PlannedModel cut, CutModel(graph, AsStored(options)));
  ScheduleChooser chooser(source, options.target);
  ASSIGN_OR_RETURN(const PlannedModel model, PlanShared(cut, options, chooser));
  const CompilePlan plan = PlanSteps(model);
  CompileRequest request = RequestOf(options, plan);
  request.output = CompileOutput::kText;
  request.form = std::string(form);
  ASSIGN_OR_RETURN(const CompileReply reply, builder.Build(request));
  std::string text;
  for (size_t i = 0; i < plan.items.size(); ++i) {
    if (const auto* failure = std::get_if<Failure>(&reply.results[i].outcome)) {
      return absl::InvalidArgumentError(
          absl::StrCat("task ", plan.items[i].id, ": ", failure->message));
    }
    absl::StrAppend(&text, "# ", plan.items[i].id, "\n",
                    std::get<CompiledKernel>(reply.results[i].outcome).text, "\n");
  }
  return text;
}

}  // namespace burnish
