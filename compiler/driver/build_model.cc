#include "compiler/driver/build_model.h"

#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/cpu_info.h"
#include "base/numerics.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "compiler/codegen/codegen_epoch.h"
#include "compiler/driver/assemble.h"
#include "compiler/driver/model_error.h"
#include "compiler/driver/planned_model.h"
#include "compiler/driver/refit_program.h"
#include "compiler/driver/schedule_chooser.h"
#include "compiler/driver/share_constants.h"
#include "compiler/driver/trim_step.h"
#include "compiler/graph/demanded_axes.h"

namespace burnish {
namespace {

// Of an error budget that a model turned out to be over: how much of it the next try aims at.
// A guess. At 1 the next try would aim exactly at the limit, and errors do not scale exactly.
constexpr double kBudgetMargin = 0.8;

// The steps of a model, and what the builder has to compile for them: one item a task and contract.
struct CompilePlan {
  std::vector<PlannedStep> steps;
  std::vector<CompileItem> items;
  std::vector<int> task_of_item;
};

CompilePlan PlanSteps(const PlannedModel& model) {
  CompilePlan plan;
  // Sizes of a run are no part of tasks: what it reads of a step's output is its item's.
  const bool has_sizes = !model.graph.sizes.empty() && model.regions.empty();
  const std::vector<DemandedParts> demand =
      has_sizes ? DemandedAxes(model.graph) : std::vector<DemandedParts>();
  // By task, contract and guarded axes.
  std::map<std::tuple<int, std::string, std::vector<int>>, size_t> item_of;
  for (size_t g = 0; g < model.tasks.calls.size(); ++g) {
    const TaskCall& call = model.tasks.calls[g];
    if (call.host >= 0) plan.steps.push_back({.group = g});
    if (call.task < 0) continue;
    PlannedStep step{.group = g, .layout = LayoutOfCall(model, call)};
    if (has_sizes && call.results.size() == 1 && !demand[call.results[0]].empty()) {
      step.demand = demand[call.results[0]];
      step.guarded_axes = GuardedAxes(step.demand, model.tasks.tasks[call.task].program);
    }
    const auto [found, is_new] = item_of.try_emplace(
        {call.task, step.layout.contract, step.guarded_axes}, plan.items.size());
    if (is_new) {
      const ExtractedTask& task = model.tasks.tasks[call.task];
      plan.items.push_back({.id = task.name,
                            .workload = task.workload,
                            .contract = step.layout.contract,
                            .trace = model.chosen[call.task].schedule.trace,
                            .guarded_axes = step.guarded_axes});
      plan.task_of_item.push_back(call.task);
    }
    step.item = found->second;
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

absl::Status RequireTuned(const PlannedModel& model) {
  std::vector<std::string> names;
  for (size_t i = 0; i < model.chosen.size(); ++i) {
    if (model.tasks.tasks[i].weight > 0 &&
        model.chosen[i].schedule.origin != ScheduleOrigin::kTuned) {
      names.push_back(model.tasks.tasks[i].name);
    }
  }
  if (names.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "got ", names.size(),
      " tasks that were not tuned for this target, want none: ", absl::StrJoin(names, ", ")));
}

std::vector<TaskReport> Report(const PlannedModel& model, const CompilePlan& plan,
                               const CompileReply& reply, const ScheduleChooser& chooser) {
  std::vector<TaskReport> reports;
  std::vector<bool> reported(model.tasks.tasks.size(), false);
  for (size_t i = 0; i < plan.items.size(); ++i) {
    const int t = plan.task_of_item[i];
    if (reported[t]) continue;
    reported[t] = true;
    const ExtractedTask& task = model.tasks.tasks[t];
    const KnownSchedule& schedule = model.chosen[t].schedule;
    reports.push_back({.name = task.name,
                       .workload = task.workload,
                       .workload_id = Sha256Hex(task.workload),
                       .weight = task.weight,
                       .flop_count = task.flop_count,
                       .origin = schedule.origin,
                       .latency_ns = schedule.latency_ns,
                       .numerics = schedule.numerics,
                       .trace = schedule.trace,
                       .build = std::get<CompiledKernel>(reply.results[i].outcome).build,
                       .rejected = chooser.Rejections(task.workload)});
  }
  return reports;
}

// Puts schedules that did not compile aside. False: there were none.
absl::StatusOr<bool> RejectFailures(const PlannedModel& model, const CompilePlan& plan,
                                    const CompileReply& reply, ScheduleChooser& chooser) {
  bool any = false;
  for (size_t i = 0; i < plan.items.size(); ++i) {
    const auto* const failure = std::get_if<Failure>(&reply.results[i].outcome);
    if (failure == nullptr) continue;
    any = true;
    const std::string reason = absl::StrCat(FailureKindName(failure->kind), ": ", failure->message);
    if (!chooser.Reject(plan.items[i].workload, plan.items[i].trace, reason) &&
        plan.items[i].trace.empty()) {
      return absl::InternalError(absl::StrCat("task ", plan.items[i].id, ": ", reason));
    }
  }
  return any;
}

SelectOptions SelectOptionsOf(const BuildModelOptions& options) {
  SelectOptions select = options.select;
  select.strict = select.strict || options.opt_level < 3;
  return select;
}

CompileRequest RequestOf(const BuildModelOptions& options, const CompilePlan& plan) {
  return {.items = plan.items,
          .target = options.target.ToText(),
          .codegen_epoch = kCodegenEpoch,
          .time_limit = options.time_limit_per_kernel};
}

void Tell(const BuildModelOptions& options, BuildProgress::Stage stage) {
  if (options.progress != nullptr) options.progress({.stage = stage});
}

// Of the tasks whose schedules are looked up.
std::function<void(int, int)> ScheduleProgress(const BuildModelOptions& options) {
  if (options.progress == nullptr) return nullptr;
  return [&options](int done, int total) {
    options.progress({.stage = BuildProgress::Stage::kSchedules, .done = done, .total = total});
  };
}

absl::StatusOr<PlannedModel> PlanModel(const PlannedModel& cut, const BuildModelOptions& options,
                                       ScheduleChooser& chooser) {
  PlannedModel model = cut;
  const SelectOptions select = SelectOptionsOf(options);
  RETURN_IF_ERROR(AssignStorageBySchedule(
      model, /*views=*/options.opt_level >= 2,
      [&](const TaskList& tasks) { return chooser.Choose(tasks, select); }));
  if (options.require_tuned) RETURN_IF_ERROR(RequireTuned(model));
  return model;
}

// As it is compiled. What a study tunes is cut without sharing: which rows of a table lie where is
// another schedule's choice, and would change the tasks with every record.
absl::StatusOr<PlannedModel> PlanShared(const PlannedModel& cut, const BuildModelOptions& options,
                                        ScheduleChooser& chooser) {
  ASSIGN_OR_RETURN(PlannedModel model, PlanModel(cut, options, chooser));
  const SelectOptions select = SelectOptionsOf(options);
  RETURN_IF_ERROR(
      ShareConstants(model, [&](const TaskList& tasks) { return chooser.Choose(tasks, select); }));
  return model;
}

// Of the steps together, as Select adds them up.
double ExpectedError(const std::vector<TaskReport>& tasks) {
  double squares = 0;
  for (const TaskReport& task : tasks) {
    const double error = ErrorOf(task.numerics);
    squares += error * error * static_cast<double>(task.weight);
  }
  return std::sqrt(squares);
}

absl::StatusOr<BuiltModel> BuildOnce(const Graph& graph, const PlannedModel& cut,
                                     const RefitProgram* refit, ScheduleChooser& chooser,
                                     Builder& builder, const BuildModelOptions& options) {
  // Weights are packed here and now, whatever CPU the model is for.
  ASSIGN_OR_RETURN(const Target host, HostTarget(HostCpuInfo(), 1));
  while (true) {
    ASSIGN_OR_RETURN(const PlannedModel model, PlanShared(cut, options, chooser));
    const CompilePlan plan = PlanSteps(model);
    CompileRequest request = RequestOf(options, plan);
    request.output = CompileOutput::kLibrary;
    request.pack_target = host.ToText();
    Tell(options, BuildProgress::Stage::kKernels);
    ASSIGN_OR_RETURN(const CompileReply reply, builder.Build(request));
    // Each round takes a schedule away, so this ends.
    ASSIGN_OR_RETURN(const bool again, RejectFailures(model, plan, reply, chooser));
    if (again) continue;
    Tell(options, BuildProgress::Stage::kWeights);
    ASSIGN_OR_RETURN(AssembledModel assembled,
                     AssembleBundle(graph, model, plan.steps, reply, options.target, refit));
    BuiltModel built{
        .bundle = std::move(assembled.bundle),
        .tasks = Report(model, plan, reply, chooser),
        .step_count = static_cast<int>(plan.steps.size()),
        .kernel_count = assembled.kernel_count,
        .arena_bytes = assembled.arena_bytes,
        .weights_bytes = assembled.weights_bytes,
        .refit_bytes = refit == nullptr ? 0 : static_cast<int64_t>(refit->bundle.size())};
    built.expected_error = ExpectedError(built.tasks);
    return built;
  }
}

}  // namespace

namespace {

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

// The model without what rounds otherwise: in f32, by schedules that round as definitions do.
absl::StatusOr<BuiltModel> BuildReference(const Graph& graph, const PlannedModel& cut,
                                          const RefitProgram* refit, ScheduleChooser& chooser,
                                          Builder& builder, const BuildModelOptions& lossless) {
  if (lossless.storage == DType::kF32) {
    return BuildOnce(graph, cut, refit, chooser, builder, lossless);
  }
  ASSIGN_OR_RETURN(const PlannedModel wide, CutModel(graph, lossless.opt_level));
  return BuildOnce(graph, wide, /*refit=*/nullptr, chooser, builder, lossless);
}

}  // namespace

absl::StatusOr<BuiltModel> BuildModel(const Graph& graph, ScheduleSource& source, Builder& builder,
                                      const BuildModelOptions& options) {
  const bool narrows = options.storage != DType::kF32;
  if (narrows && options.refit) {
    return absl::InvalidArgumentError("parameters cannot be replaced where weights are rounded");
  }
  ASSIGN_OR_RETURN(PlannedModel cut,
                   CutModel(graph, options.opt_level, options.refit, options.storage));
  std::optional<RefitProgram> program;
  if (options.refit) {
    ASSIGN_OR_RETURN(program, BuildRefitProgram(cut.graph, source, builder, options));
  }
  const RefitProgram* const refit = program.has_value() ? &*program : nullptr;
  ScheduleChooser chooser(source, options.target, ScheduleProgress(options));
  ASSIGN_OR_RETURN(BuiltModel built, BuildOnce(graph, cut, refit, chooser, builder, options));
  // Nothing rounds in another way than the definition: there is nothing to measure, and the second
  // build is saved.
  if (built.expected_error == 0 && !narrows) return built;
  BuildModelOptions lossless = options;
  lossless.select.strict = true;
  // The reference is for comparison and is not shipped.
  lossless.require_tuned = false;
  ASSIGN_OR_RETURN(const BuiltModel reference,
                   BuildReference(graph, cut, refit, chooser, builder, lossless));
  BuildModelOptions within = options;
  // Each round expects less than the one before, so this ends.
  while (built.expected_error > 0 || narrows) {
    Tell(options, BuildProgress::Stage::kError);
    const absl::StatusOr<double> measured =
        MeasureModelError(built.bundle, reference.bundle, options.target.threads);
    // It does not run here, or not on such inputs: what is expected must do.
    if (!measured.ok()) return built;
    built.measured_error = *measured;
    const double budget = options.select.error_budget;
    if (*measured <= budget) return built;
    if (built.expected_error == 0) {
      return absl::OutOfRangeError(absl::StrFormat(
          "with values stored as %s the error is %.1e on random inputs, want <= %.1e",
          DTypeName(options.storage), *measured, budget));
    }
    // Expected errors add up without what the layers behind amplify. The ratio of measured to
    // expected is this model's amplification, and the budget shrinks by it.
    within.select.error_budget = kBudgetMargin * built.expected_error * budget / *measured;
    ASSIGN_OR_RETURN(built, BuildOnce(graph, cut, refit, chooser, builder, within));
  }
  return built;
}

absl::StatusOr<TunedModel> ModelTasks(const Graph& graph, ScheduleSource& source,
                                      const BuildModelOptions& options) {
  ASSIGN_OR_RETURN(const PlannedModel cut,
                   CutModel(graph, options.opt_level, /*refit=*/false, options.storage));
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

absl::StatusOr<std::string> EmitModel(const Graph& graph, ScheduleSource& source, Builder& builder,
                                      const BuildModelOptions& options, absl::string_view form) {
  ASSIGN_OR_RETURN(const PlannedModel cut,
                   CutModel(graph, options.opt_level, /*refit=*/false, options.storage));
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
