#include "tuner/cli/tuning.h"

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "base/run_on_thread.h"
#include "base/status_macros.h"
#include "compiler/codegen/codegen_epoch.h"
#include "compiler/driver/build_model.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "proto/builder_client.h"
#include "proto/workload.h"
#include "tracker/tracker_client.h"
#include "tuner/cli/build_report.h"
#include "tuner/cli/embedded_farm.h"
#include "tuner/cli/error.h"
#include "tuner/cli/machine_peak.h"
#include "tuner/cli/model_source.h"
#include "tuner/cli/progress_view.h"
#include "tuner/cli/recorded_schedules.h"
#include "tuner/cli/workload_facts.h"
#include "tuner/measure/tracker_measurer.h"
#include "tuner/service/study_runner.h"
#include "tuner/service/task_tools.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kModelBytesMax = int64_t{2} << 30;
constexpr absl::Duration kStateInterval = absl::Seconds(1);

BuildModelOptions BuildOptions(const Tuning& tuning) {
  return {.target = tuning.target,
          .opt_level = tuning.spec.opt_level,
          .select = {.error_budget = tuning.spec.error_max, .strict = tuning.spec.strict}};
}

absl::Status CheckModelFile(const StudySpec& spec) {
  if (spec.model_path.empty() || spec.model_sha256.empty()) return absl::OkStatus();
  const absl::StatusOr<std::string> bytes = ReadFile(spec.model_path, kModelBytesMax);
  RETURN_IF_ERROR(WithError(bytes.status(), ErrorCode::kNoInputFile, spec.model_path));
  if (Sha256Bytes(*bytes) == spec.model_sha256) return absl::OkStatus();
  return MakeError(ErrorCode::kModelChanged, "the file has changed since it was submitted",
                   spec.model_path);
}

absl::StatusOr<StudyTaskSpec> ToStudyTask(const ExtractedTask& task) {
  ASSIGN_OR_RETURN(const Program program, ParseProgram(task.workload));
  ASSIGN_OR_RETURN(Workload workload,
                   MakeWorkload(task.workload, PrintWorkload(program, /*empty_finish=*/true)));
  return StudyTaskSpec{.name = WorkloadTitle(task.name, task.workload),
                       .workload = std::move(workload),
                       .weight = static_cast<double>(task.weight)};
}

// Of this machine, if that is what is tuned for.
double TargetPeak(const Target& target) {
  const absl::StatusOr<Target> host = ResolveTarget("host", 0);
  if (!host.ok() || host->PerfKey() != target.PerfKey()) return 0;
  return QuickFlopPeak(target.threads);
}

// One run of a study: the farm, the measurer and the runner, and who tells it to stop.
class TuningRun {
 public:
  TuningRun(Context& context, const Database& database, const Tuning& tuning,
            const std::string& study_id)
      : context_(context),
        database_(database),
        tuning_(tuning),
        study_id_(study_id),
        view_(context, tuning.flop_counts) {}

  absl::StatusOr<StudyResult> Run(InterruptWatcher& interrupts) {
    std::string tracker = context_.settings().Get("tracker");
    if (tracker.empty()) {
      ASSIGN_OR_RETURN(farm_,
                       EmbeddedFarm::Start(
                           {.on_restart = [this](absl::string_view text) { context_.Note(text); },
                            .on_failure = [this] { Stop(); }}));
      tracker = farm_->tracker();
    }
    const auto seed = static_cast<uint64_t>(absl::ToUnixNanos(context_.clock().WallNow()));
    TrackerClient client({.tracker = tracker, .tuner_id = study_id_, .seed = seed});
    TrackerMeasurer measurer({.client = &client,
                              .study = study_id_,
                              .session = absl::StrCat(seed),
                              .priority = tuning_.spec.priority,
                              .method = Method()});
    StudyRunner runner(Options(measurer));
    runner_ = &runner;
    if (farm_ != nullptr && !farm_->status().ok()) Stop();
    interrupts.OnInterrupt([this] { Stop(); });
    absl::StatusOr<StudyResult> result;
    // The search thinks beside measurements on the same CPUs, and never in their way.
    RunOnThread(farm_ != nullptr ? ThreadClass::kIdle : ThreadClass::kNormal,
                [&] { result = runner.Run(); });
    interrupts.OnInterrupt(nullptr);
    runner_ = nullptr;
    view_.Finish();
    if (farm_ != nullptr) RETURN_IF_ERROR(farm_->status());
    return result;
  }

 private:
  static MeasureMethod Method() {
    // Above this ratio to the incumbent a candidate is not worth more repeats.
    constexpr double kEarlyStopRatio = 1.5;
    return {.early_stop_ratio = kEarlyStopRatio};
  }

  StudyRunnerOptions Options(Measurer& measurer) {
    const TaskToolsOptions tools{.flops_per_second = TargetPeak(tuning_.target),
                                 .model_threads = tuning_.target.threads};
    return {
        .study_id = study_id_,
        .spec = tuning_.spec,
        .target = tuning_.target,
        .tasks = tuning_.tasks,
        .codegen_epoch = kCodegenEpoch,
        .make_tools =
            [tools](absl::Span<const StudyTaskSpec> tasks, const Target& target,
                    const StudySpec& spec) { return MakeTaskTools(tools, tasks, target, spec); },
        .records = database_.records.get(),
        .studies = database_.studies.get(),
        .measurer = &measurer,
        .clock = &context_.clock(),
        .on_progress = [this](const StudyProgress& progress) { OnProgress(progress); },
        .scheduler = {}};
  }

  void OnProgress(const StudyProgress& progress) {
    view_.Update(progress);
    const absl::Time now = context_.clock().SteadyNow();
    if (now - state_seen_ < kStateInterval) return;
    state_seen_ = now;
    // `tuner cancel` in another process says so in the database.
    const absl::StatusOr<StudySummary> summary = database_.studies->Get(study_id_);
    if (summary.ok() && summary->study.state == StudyState::kCancelled) runner_.load()->Cancel();
  }

  void Stop() {
    if (StudyRunner* const runner = runner_; runner != nullptr) runner->Interrupt();
  }

  Context& context_;
  const Database& database_;
  const Tuning& tuning_;
  const std::string& study_id_;
  ProgressView view_;
  std::atomic<StudyRunner*> runner_ = nullptr;  // While it runs.
  absl::Time state_seen_ = absl::InfinitePast();
  std::unique_ptr<EmbeddedFarm> farm_;  // Goes first: its thread may call Stop.
};

Json ResultJson(const Tuning& tuning, const std::string& id, const StudyResult& result) {
  Json tasks = Json::array();
  for (size_t i = 0; i < result.progress.tasks.size(); ++i) {
    const TaskStatus& task = result.progress.tasks[i];
    const auto ms = [](int64_t ns) {
      return ns > 0 ? Json(static_cast<double>(ns) * 1e-6) : Json(nullptr);
    };
    tasks.push_back({{"name", task.name},
                     {"weight", task.weight},
                     {"flop_count", tuning.flop_counts[i]},
                     {"default_ms", ms(task.default_ns)},
                     {"best_ms", ms(task.best.latency_ns)},
                     {"trials", task.trial_count}});
  }
  Json failures = Json::object();
  for (const auto& [kind, count] : result.progress.failure_counts) {
    failures[std::string(FailureKindName(kind))] = count;
  }
  return {{"schema", 1},
          {"event", "tuned"},
          {"study", id},
          {"reason", std::string(StopReasonName(result.reason))},
          {"trials", result.progress.trial_count},
          {"failures", failures},
          {"elapsed_s", absl::ToDoubleSeconds(result.progress.elapsed)},
          {"tasks", tasks}};
}

std::string HowToGoOn(const std::string& id) { return absl::StrCat("tuner resume ", id); }

absl::Status StopError(const StudyResult& result, const std::string& id) {
  switch (result.reason) {
    case StopReason::kInterrupted:
      return MakeError(ErrorCode::kInterrupted, "interrupted; nothing that was measured is lost",
                       id, HowToGoOn(id));
    case StopReason::kCancelled:
      return MakeError(ErrorCode::kInterrupted, "the study was cancelled", id, HowToGoOn(id));
    case StopReason::kMeasurerSilent:
      return MakeError(absl::IsFailedPrecondition(result.progress.health)
                           ? ErrorCode::kNoMatchingWorker
                           : ErrorCode::kTrackerUnreachable,
                       result.progress.health.message(), id, HowToGoOn(id));
    default:
      return absl::OkStatus();
  }
}

// A study's own errors: another tuner's, or a store's.
absl::Status RunError(const absl::Status& status, const std::string& id,
                      const std::string& database_url) {
  if (absl::IsFailedPrecondition(status)) return WithError(status, ErrorCode::kStudyState, id);
  if (absl::IsInternal(status)) return WithError(status, ErrorCode::kInternal, id);
  return DatabaseError(status, database_url);
}

absl::Status Build(Context& context, const Database& database, const Tuning& tuning,
                   const std::string& out) {
  context.Note("building the bundle");
  // With the trials withheld, or with none, it may have to do with what other studies recorded.
  RecordedSchedules schedules(
      database.records.get(),
      {.accuracy = {.error_max = tuning.spec.error_max, .strict = tuning.spec.strict}});
  BuilderClient builder;
  const absl::StatusOr<BuiltModel> built =
      BuildModel(tuning.graph, schedules, builder, BuildOptions(tuning));
  if (!built.ok()) return BuildError(built.status(), TitleOf(tuning.spec));
  RETURN_IF_ERROR(WithError(WriteFileAtomically(out, built->bundle), ErrorCode::kOutputFile, out));
  if (context.json()) {
    Json json = {{"schema", 1}, {"event", "built"}, {"bundle", out}};
    json.update(BuildReportJson(*built));
    context.out() << json.dump() << "\n";
  } else {
    context.out() << "\n" << BuildReportSummary(*built);
    context.Note(absl::StrCat("wrote ", out, "; `tuner bench ", out, " --profile` times it"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string TitleOf(const StudySpec& spec) {
  if (!spec.task.empty()) return spec.task;
  return std::filesystem::path(spec.model_path).filename().string();
}

absl::StatusOr<Tuning> PrepareTuning(const StudySpec& spec) {
  RETURN_IF_ERROR(CheckModelFile(spec));
  Tuning tuning{.spec = spec};
  ASSIGN_OR_RETURN(tuning.target, ResolveTarget(spec.target, 0));
  ASSIGN_OR_RETURN(tuning.graph, LoadModel({.task = spec.task,
                                            .model = spec.model_path,
                                            .shapes = spec.shapes,
                                            .batch = spec.batch,
                                            .seed = spec.seed}));
  // Without schedules: which copies one asks for is no matter of the study, and must not depend on
  // what was recorded meanwhile.
  DefaultScheduleSource defaults;
  const absl::StatusOr<std::vector<ExtractedTask>> tasks =
      ModelTasks(tuning.graph, defaults, BuildOptions(tuning));
  if (!tasks.ok()) return BuildError(tasks.status(), TitleOf(spec));
  for (const ExtractedTask& task : *tasks) {
    ASSIGN_OR_RETURN(StudyTaskSpec study_task, ToStudyTask(task));
    tuning.tasks.push_back(std::move(study_task));
    tuning.flop_counts.push_back(task.flop_count);
  }
  return tuning;
}

absl::Status RunTuning(Context& context, const Database& database, const Tuning& tuning,
                       const TuningOptions& options, InterruptWatcher& interrupts) {
  const std::string& id = options.study_id;
  if (tuning.spec.trials_max != 0) {
    const std::string& farm = context.settings().Get("tracker");
    context.Note(absl::StrCat(tuning.tasks.size(), " tasks, measured on ",
                              farm.empty() ? "this machine" : absl::StrCat("the farm of ", farm),
                              "; Ctrl-C pauses, `", HowToGoOn(id), "` goes on"));
    TuningRun run(context, database, tuning, id);
    const absl::StatusOr<StudyResult> result = run.Run(interrupts);
    if (!result.ok()) return RunError(result.status(), id, database.url);
    if (context.json()) {
      context.out() << ResultJson(tuning, id, *result).dump() << "\n" << std::flush;
    } else {
      context.out() << ResultTable(result->progress, tuning.flop_counts) << std::flush;
    }
    RETURN_IF_ERROR(StopError(*result, id));
  } else {
    const int64_t now_ns = absl::ToUnixNanos(context.clock().WallNow());
    for (const StudyState state : {StudyState::kRunning, StudyState::kDone}) {
      RETURN_IF_ERROR(DatabaseError(
          database.studies->SetState(id, state, "default schedules", now_ns), database.url));
    }
  }
  if (options.out.empty()) return absl::OkStatus();
  return Build(context, database, tuning, options.out);
}

}  // namespace burnish
