#include "tuner/cli/local_tuning.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/usable_cpus.h"
#include "tuner/app/build_range.h"
#include "tuner/app/compile_cache.h"
#include "tuner/app/error.h"
#include "tuner/app/farm_client.h"
#include "tuner/app/local_run.h"
#include "tuner/app/output_file.h"
#include "tuner/app/precision.h"
#include "tuner/app/study_run.h"
#include "tuner/cli/build_report.h"
#include "tuner/cli/build_view.h"
#include "tuner/cli/progress_view.h"
#include "tuner/cli/study_id.h"
#include "tuner/study/gain_text.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

Json RefineJson(const RefineProgress& refine) {
  return {{"processes", refine.process_count},
          {"changed", refine.changed_count},
          {"gain", refine.gain},
          {"network_ratio", refine.network_ratio > 0 ? Json(refine.network_ratio) : Json(nullptr)},
          {"network_spread", refine.network_spread},
          {"defaults_taken", refine.defaults_taken},
          {"error", refine.error.empty() ? Json(nullptr) : Json(refine.error)}};
}

Json TimesJson(const StudyTimes& times) {
  const auto s = [](absl::Duration time) { return absl::ToDoubleSeconds(time); };
  return {{"search", s(times.search)}, {"wait", s(times.wait)},   {"refine", s(times.refine)},
          {"build", s(times.build)},   {"check", s(times.check)}, {"run", s(times.run)},
          {"queue", s(times.queue)}};
}

Json ResultJson(const std::vector<int64_t>& flop_counts, const std::string& id,
                const StudyResult& result) {
  Json tasks = Json::array();
  const std::vector<double>& gains = result.progress.refine.task_gains;
  for (size_t i = 0; i < result.progress.tasks.size(); ++i) {
    const TaskStatus& task = result.progress.tasks[i];
    const auto ms = [](int64_t ns) {
      return ns > 0 ? Json(static_cast<double>(ns) * 1e-6) : Json(nullptr);
    };
    tasks.push_back({{"name", task.name},
                     {"weight", task.weight},
                     {"flop_count", flop_counts[i]},
                     {"default_ms", ms(task.default_ns)},
                     {"best_ms", ms(task.best.latency_ns)},
                     {"gain", i < gains.size() && gains[i] > 0 ? Json(gains[i]) : Json(nullptr)},
                     {"refined", task.best.refined},
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
          {"refine", RefineJson(result.progress.refine)},
          {"elapsed_s", absl::ToDoubleSeconds(result.progress.elapsed)},
          {"times_s", TimesJson(result.progress.times)},
          {"tasks", tasks}};
}

// A run on the terminal.
class RunView : public RunObserver {
 public:
  RunView(Context& context, const std::vector<int64_t>& flop_counts)
      : progress_(context, flop_counts) {}

  void OnProgress(const StudyProgress& progress) override { progress_.Update(progress); }
  void OnFarmRestart(absl::string_view text) override { progress_.Say(text); }
  void Stopping() {
    progress_.Say("stopping ..; what was measured stays, and Ctrl-C again does not wait");
  }

 private:
  ProgressView progress_;
};

// On the farm that is set, or on one of its own.
absl::StatusOr<StudyResult> RunHere(Context& context, const Database& database,
                                    const Tuning& tuning, const TuningOptions& options,
                                    InterruptWatcher& interrupts) {
  RunView view(context, tuning.flop_counts);
  const CompileCache cache(context.CacheFolder());
  ASSIGN_OR_RETURN(const std::unique_ptr<LocalRun> run,
                   LocalRun::Start({.study_id = options.study_id,
                                    .tuning = &tuning,
                                    .database = &database,
                                    .clock = &context.clock(),
                                    .observer = &view,
                                    .tracker = context.settings().Get("tracker"),
                                    .calibration = context.settings().Get("calibration"),
                                    .cache = &cache,
                                    .patience = options.patience}));
  interrupts.OnInterrupt([&] {
    view.Stopping();
    run->Interrupt();
  });
  absl::StatusOr<StudyResult> result = run->Run();
  interrupts.OnInterrupt(nullptr);
  return result;
}

}  // namespace

absl::Status BuildTuned(Context& context, const BestFinder& find_best, const Tuning& tuning,
                        const std::string& out, bool verbose) {
  context.Note("building the bundle");
  const CompileCache cache(context.CacheFolder());
  BuildView view(context);
  BuildModelOptions options = BuildOptions(tuning);
  options.progress = [&view](const BuildProgress& progress) { view.Update(progress); };
  ASSIGN_OR_RETURN(options.examples, LoadExamples(tuning.spec.data_path, tuning.graph));
  if (ExamplesDigest(options.examples) != tuning.spec.data_sha256) {
    context.Note("the examples are not those that the study's layers were found with");
  }
  // With the trials withheld, or with none, it may have to do with what other studies recorded.
  ASSIGN_OR_RETURN(
      const BuiltModel built,
      BuildRange(tuning.graph, *tuning.loader,
                 {.find_best = find_best, .calibration = tuning.spec.calibration, .cache = &cache},
                 options, TitleOf(tuning.spec)));
  view.Finish();
  RETURN_IF_ERROR(WriteOutput(out, built.bundle));
  if (context.json()) {
    Json json = {{"schema", 1}, {"event", "built"}, {"bundle", out}};
    json.update(BuildReportJson(built));
    context.out() << json.dump() << "\n";
  } else {
    context.out() << "\n"
                  << (verbose ? BuildTableText(built, context.table_columns()) : "")
                  << BuildReportText(built, {.out = out,
                                             .target = tuning.target,
                                             .has_sizes = !tuning.graph.sizes.empty()});
  }
  return absl::OkStatus();
}

absl::Status CheckFarm(Context& context, const Tuning& tuning) {
  const std::string& tracker = context.settings().Get("tracker");
  if (!tracker.empty()) {
    ASSIGN_OR_RETURN(const std::vector<FarmWorker> workers, FarmClient(tracker).ListWorkers());
    return CheckThreads(workers, tuning.target);
  }
  const int usable = UsableCpuCount();
  if (tuning.spec.trials_max == 0 || tuning.target.threads <= usable) return absl::OkStatus();
  return MakeError(
      ErrorCode::kUsage,
      absl::StrCat("the target has ", tuning.target.threads, " threads, and this process may use ",
                   usable, usable == 1 ? " CPU" : " CPUs"),
      "", absl::StrCat("--threads ", usable, ", or a farm: --tracker HOST:PORT"));
}

void PrintResult(Context& context, const std::vector<int64_t>& flop_counts, const std::string& id,
                 const StudyResult& result) {
  if (result.progress.tasks.empty()) return;
  if (context.json()) {
    context.out() << ResultJson(flop_counts, id, result).dump() << "\n" << std::flush;
  } else {
    context.out() << ResultTable(result.progress, flop_counts, context.table_columns(),
                                 context.table_color())
                  << std::flush;
    for (const std::string& line :
         {NoGainText(result.progress), RefineText(result.progress.refine),
          NetworkText(result.progress.refine), NothingMoreText(result.reason, result.progress),
          TimesText(result.progress.times)}) {
      if (!line.empty()) context.Note(line);
    }
  }
}

absl::Status RunTuning(Context& context, const Database& database, const Tuning& tuning,
                       const TuningOptions& options, InterruptWatcher& interrupts) {
  const std::string& id = options.study_id;
  if (tuning.spec.trials_max != 0) {
    const std::string& farm = context.settings().Get("tracker");
    context.Note(absl::StrCat(tuning.tasks.size(), " tasks, measured on ",
                              farm.empty() ? "this machine" : absl::StrCat("the farm of ", farm),
                              "; Ctrl-C pauses, `", HowToGoOn(context, id), "` goes on"));
  }
  ASSIGN_OR_RETURN(const StudyResult result,
                   RunHere(context, database, tuning, options, interrupts));
  PrintResult(context, tuning.flop_counts, id, result);
  RETURN_IF_ERROR(WithHowToGoOn(context, StopError(result, id), id));
  if (options.out.empty()) return absl::OkStatus();
  return BuildTuned(context, BestIn(*database.records), tuning, options.out);
}

}  // namespace burnish
