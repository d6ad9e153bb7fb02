#include "compiler/driver/build_once.h"

#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/cpu_info.h"
#include "base/numerics.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "compiler/codegen/codegen_epoch.h"
#include "compiler/driver/input_layout.h"
#include "compiler/driver/share_constants.h"
#include "compiler/driver/trim_step.h"
#include "compiler/graph/demanded_axes.h"
#include "compiler/graph/known_rests.h"

namespace burnish {
namespace {

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
  std::map<size_t, size_t> first_step;  // By item.
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    if (model.tasks.calls[plan.steps[s].group].task >= 0) {
      first_step.emplace(plan.steps[s].item, s);
    }
  }
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
                       .estimated_ns = chooser.EstimatedNs(task, schedule),
                       .is_looped = task.is_looped,
                       .numerics = schedule.numerics,
                       .trace = schedule.trace,
                       .build = std::get<CompiledKernel>(reply.results[i].outcome).build,
                       .rejected = chooser.Rejections(task.workload),
                       .works_in = WorksIn(model, plan.steps[first_step.at(i)].group)});
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

// Of the steps together, as Select adds them up.
double ExpectedError(const std::vector<TaskReport>& tasks) {
  double squares = 0;
  for (const TaskReport& task : tasks) {
    const double error = ErrorOf(task.numerics);
    squares += error * error * static_cast<double>(task.weight);
  }
  return std::sqrt(squares);
}

}  // namespace

CompilePlan PlanSteps(const PlannedModel& model) {
  CompilePlan plan;
  // Sizes of a run are no part of tasks: what it reads of a step's output is its item's.
  const bool has_sizes = !model.graph.sizes.empty();
  const ControlReads control = ReadsOf(model.regions);
  const std::vector<DemandedParts> demand =
      has_sizes ? DemandedAxes(model.graph, model.regions.empty() ? nullptr : &control)
                : std::vector<DemandedParts>();
  const std::vector<std::vector<ValueRest>> rests =
      has_sizes ? KnownRests(model.graph) : std::vector<std::vector<ValueRest>>();
  // By task, contract, what loops ask and what lies as in the run.
  std::map<std::tuple<int, std::string, GuardRequest, std::vector<RunStrides>>, size_t> item_of;
  for (size_t g = 0; g < model.tasks.calls.size(); ++g) {
    const TaskCall& call = model.tasks.calls[g];
    if (call.host >= 0) plan.steps.push_back({.group = g});
    if (call.task < 0) continue;
    StepPlan step{.group = g, .layout = LayoutOfCall(model, call)};
    if (has_sizes && call.results.size() == 1) {
      step.guards = GuardsOf(model.graph, call, model.tasks.tasks[call.task].program,
                             demand[call.results[0]], rests);
    }
    // Loops and branches hand inputs on, and nobody tells who reads them.
    if (has_sizes && model.regions.empty()) step.strides = StridesOf(model, call);
    const GuardRequest& guards = step.guards.request;
    const auto [found, is_new] = item_of.try_emplace(
        {call.task, step.layout.contract, guards, step.strides}, plan.items.size());
    if (is_new) {
      const ExtractedTask& task = model.tasks.tasks[call.task];
      plan.items.push_back({.id = task.name,
                            .workload = task.workload,
                            .contract = step.layout.contract,
                            .trace = model.chosen[call.task].schedule.trace,
                            .guarded_axes = guards.axes,
                            .rests = {},
                            .strides = {}});
      for (const KnownRest& rest : guards.rests) {
        plan.items.back().rests.push_back({.parameter = rest.parameter,
                                           .axis = rest.axis,
                                           .value = rest.value,
                                           .extent = rest.extent});
      }
      for (const RunStrides& strides : step.strides) {
        plan.items.back().strides.push_back(
            {.parameter = strides.parameter, .numbers = strides.numbers});
      }
      plan.task_of_item.push_back(call.task);
    }
    step.item = found->second;
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

CompileRequest RequestOf(const BuildModelOptions& options, const CompilePlan& plan) {
  return {.items = plan.items,
          .target = options.target.ToText(),
          .codegen_epoch = kCodegenEpoch,
          .time_limit = options.time_limit_per_kernel};
}

void Tell(const BuildModelOptions& options, BuildProgress::Stage stage, int done, int total) {
  if (options.progress == nullptr) return;
  options.progress({.stage = stage, .done = done, .total = total});
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

absl::StatusOr<PlannedModel> PlanShared(const PlannedModel& cut, const BuildModelOptions& options,
                                        ScheduleChooser& chooser) {
  ASSIGN_OR_RETURN(PlannedModel model, PlanModel(cut, options, chooser));
  const SelectOptions select = SelectOptionsOf(options);
  RETURN_IF_ERROR(
      ShareConstants(model, [&](const TaskList& tasks) { return chooser.Choose(tasks, select); }));
  return model;
}

absl::StatusOr<BuiltModel> BuildOnce(const Graph& graph, const PlannedModel& cut,
                                     const RefitProgram* refit, ScheduleChooser& chooser,
                                     Builder& builder, const BuildModelOptions& options,
                                     BuildParts* parts) {
  // Weights are packed here and now, whatever CPU the model is for.
  ASSIGN_OR_RETURN(const Target host, HostTarget(HostCpuInfo(), 1));
  while (true) {
    ASSIGN_OR_RETURN(PlannedModel model, PlanShared(cut, options, chooser));
    CompilePlan plan = PlanSteps(model);
    CompileRequest request = RequestOf(options, plan);
    request.output = CompileOutput::kLibrary;
    request.pack_target = host.ToText();
    Tell(options, BuildProgress::Stage::kKernels);
    ASSIGN_OR_RETURN(CompileReply reply, builder.Build(request));
    // Each round takes a schedule away, so this ends.
    ASSIGN_OR_RETURN(const bool again, RejectFailures(model, plan, reply, chooser));
    if (again) continue;
    Tell(options, BuildProgress::Stage::kWeights);
    ASSIGN_OR_RETURN(
        AssembledModel assembled,
        AssembleBundle(graph, model, plan.steps, reply, options.target,
                       {.refit = refit, .pool = options.pool, .is_variant = options.is_variant}));
    BuiltModel built{
        .tasks = Report(model, plan, reply, chooser),
        .step_count = static_cast<int>(plan.steps.size()),
        .kernel_count = assembled.kernel_count,
        .arena_bytes = assembled.arena_bytes,
        .weights_bytes = static_cast<int64_t>(assembled.bundle.manifest.weights_bytes),
        .refit_bytes = refit == nullptr ? 0 : static_cast<int64_t>(refit->bundle.size())};
    built.unwritten = std::move(assembled.bundle);
    built.expected_error = ExpectedError(built.tasks);
    if (parts != nullptr) {
      *parts = {std::move(model), std::move(plan.steps), std::move(reply)};
    }
    return built;
  }
}

}  // namespace burnish
