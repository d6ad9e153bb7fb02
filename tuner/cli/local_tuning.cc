#include "tuner/cli/local_tuning.h"

#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tuner/app/build_bundle.h"
#include "tuner/app/embedded_farm.h"
#include "tuner/app/error.h"
#include "tuner/app/farm_client.h"
#include "tuner/app/output_file.h"
#include "tuner/app/study_run.h"
#include "tuner/cli/build_report.h"
#include "tuner/cli/progress_view.h"

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

Json ResultJson(const std::vector<int64_t>& flop_counts, const std::string& id,
                const StudyResult& result) {
  Json tasks = Json::array();
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
          {"tasks", tasks}};
}

// On the farm that is set, or on one of its own.
absl::StatusOr<StudyResult> RunHere(Context& context, const Database& database,
                                    const Tuning& tuning, const TuningOptions& options,
                                    InterruptWatcher& interrupts) {
  ProgressView view(context, tuning.flop_counts);
  StudyRunOptions run_options{
      .study_id = options.study_id,
      .tuning = &tuning,
      .database = &database,
      .clock = &context.clock(),
      .tracker = context.settings().Get("tracker"),
      .idle = context.settings().Get("tracker").empty(),
      .on_progress = [&view](const StudyProgress& progress) { view.Update(progress); },
      .patience = options.patience};
  if (tuning.spec.trials_max == 0) return StudyRun(std::move(run_options)).Run();
  std::unique_ptr<StudyRun> run;
  std::mutex mutex;  // For the run, which the farm's thread may ask for before it is there.
  bool failed = false;
  std::unique_ptr<EmbeddedFarm> farm;
  if (run_options.tracker.empty()) {
    const auto fail = [&] {
      const std::lock_guard<std::mutex> lock(mutex);
      failed = true;
      if (run != nullptr) run->Interrupt();
    };
    ASSIGN_OR_RETURN(farm, EmbeddedFarm::Start(
                               {.on_restart = [&](absl::string_view text) { context.Note(text); },
                                .on_failure = fail}));
    run_options.tracker = farm->tracker();
  }
  {
    const std::lock_guard<std::mutex> lock(mutex);
    run = std::make_unique<StudyRun>(std::move(run_options));
    if (failed) run->Interrupt();
  }
  interrupts.OnInterrupt([&] { run->Interrupt(); });
  absl::StatusOr<StudyResult> result = run->Run();
  interrupts.OnInterrupt(nullptr);
  view.Finish();
  if (farm != nullptr) {
    const absl::Status status = farm->status();
    farm.reset();  // Its thread may use what is above.
    RETURN_IF_ERROR(status);
  }
  return result;
}

}  // namespace

absl::Status BuildTuned(Context& context, const BestFinder& find_best, const Tuning& tuning,
                        const std::string& out) {
  context.Note("building the bundle");
  // With the trials withheld, or with none, it may have to do with what other studies recorded.
  ASSIGN_OR_RETURN(const BuiltModel built, BuildBundle(tuning.graph, find_best,
                                                       BuildOptions(tuning), TitleOf(tuning.spec)));
  RETURN_IF_ERROR(WriteOutput(out, built.bundle));
  if (context.json()) {
    Json json = {{"schema", 1}, {"event", "built"}, {"bundle", out}};
    json.update(BuildReportJson(built));
    context.out() << json.dump() << "\n";
  } else {
    context.out() << "\n" << BuildReportSummary(built);
    context.Note(absl::StrCat("wrote ", out, "; `tuner bench ", out, " --profile` times it"));
  }
  return absl::OkStatus();
}

absl::Status CheckFarm(Context& context) {
  const std::string& tracker = context.settings().Get("tracker");
  if (tracker.empty()) return absl::OkStatus();
  return FarmClient(tracker).GetStatus().status();
}

void PrintResult(Context& context, const std::vector<int64_t>& flop_counts, const std::string& id,
                 const StudyResult& result) {
  if (result.progress.tasks.empty()) return;
  if (context.json()) {
    context.out() << ResultJson(flop_counts, id, result).dump() << "\n" << std::flush;
  } else {
    context.out() << ResultTable(result.progress, flop_counts) << std::flush;
    for (const std::string& line :
         {RefineText(result.progress.refine), NetworkText(result.progress.refine)}) {
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
                              "; Ctrl-C pauses, `", HowToGoOn(id), "` goes on"));
  }
  ASSIGN_OR_RETURN(const StudyResult result,
                   RunHere(context, database, tuning, options, interrupts));
  PrintResult(context, tuning.flop_counts, id, result);
  RETURN_IF_ERROR(StopError(result, id));
  if (options.out.empty()) return absl::OkStatus();
  return BuildTuned(context, BestIn(*database.records), tuning, options.out);
}

}  // namespace burnish
