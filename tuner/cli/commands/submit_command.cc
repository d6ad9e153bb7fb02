// tuner submit: tunes a model or an operator, and builds it.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "tuner/app/build_bundle.h"
#include "tuner/app/compile_cache.h"
#include "tuner/app/error.h"
#include "tuner/app/new_study.h"
#include "tuner/app/precision.h"
#include "tuner/app/tuning.h"
#include "tuner/cli/best_on_record.h"
#include "tuner/cli/build_view.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/format.h"
#include "tuner/cli/interrupt_watcher.h"
#include "tuner/cli/local_tuning.h"
#include "tuner/cli/remote_tuning.h"
#include "tuner/cli/study_flags.h"
#include "tuner/cli/study_id.h"
#include "tuner/cli/torch_model.h"
#include "tuner/serve/tuner_client.h"
#include "tuner/sketch/sketch.h"
#include "tuner/study/task_tools.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

// What an embedded farm on two cores measures in a second; only for the estimate of a dry run.
constexpr double kTrialsPerSecond = 8;

class SubmitCommand : public Command {
 public:
  std::string name() const override { return "submit"; }
  std::string summary() const override { return "tunes a model or one operator, and builds it"; }
  std::string example() const override {
    return "tuner submit --task resnet50 --trials 500 --out resnet50.bundle\n"
           "tuner submit --model model.onnx --shape x=1x3x224x224 --time 10m --out model.bundle\n"
           "tuner submit --task matmul:m=512,n=512,k=512 --dry-run";
  }
  void AddOptions(CommandOptions& options) override {
    flags_.AddOptions(options);
    options.Group("What to tune");
    options.Value("--graph", "FOLDER", &graph_,
                  "instead of --model: what burnish.functorch.graph_dumper_aot wrote");
    options.Group("Output");
    options.Flag("--dry-run", &dry_run_,
                 "only list tasks and the valid points of each sketch that the study would search");
    options.Flag("--detach", &detach_, "with --server: do not wait for it");
    options.Group("Where");
    options.Value("--patience", "S", &patience_seconds_, 1.0, 1e6,
                  "seconds to wait for a farm that is away");
    options.Setting("target");
    options.Setting("calibration");
    options.Setting("cache");
    options.Setting("python");
    options.Setting("tracker");
    options.Setting("server");
    options.Setting("db");
    options.Group("Output");
    options.Json();
    options.Quiet();
  }

  absl::Status Run(Context& context) override {
    const std::string& server = context.settings().Get("server");
    if (detach_ && server.empty()) return NoServer("tuner submit");
    if (detach_ && !flags_.out.empty()) {
      return MakeError(ErrorCode::kUsage,
                       "--out with --detach: nobody waits here to build the bundle", "tuner submit",
                       absl::StrCat("leave --out out, and when the study is done: tuner compile "
                                    "--out FILE --server ",
                                    server));
    }
    RETURN_IF_ERROR(FindModel(context));
    InterruptWatcher interrupts;
    ASSIGN_OR_RETURN(const Target target, context.ResolveTarget(static_cast<int>(flags_.threads)));
    ASSIGN_OR_RETURN(StudySpec spec, flags_.ToSpec(target));
    if (spec.precision != "f32") RETURN_IF_ERROR(FindLayers(context, target, spec));
    ASSIGN_OR_RETURN(Tuning tuning, PrepareTuning(spec));
    if (dry_run_) return DryRun(context, tuning);
    if (!server.empty()) return SubmitToServer(context, server, tuning, interrupts);
    RETURN_IF_ERROR(CheckFarm(context, tuning));
    ASSIGN_OR_RETURN(tuning.spec.calibration,
                     context.ResolveRow(target, context.settings().Get("tracker")));
    ASSIGN_OR_RETURN(const Database database, context.OpenDatabase(DatabaseAccess::kMake));
    ASSIGN_OR_RETURN(const std::string id,
                     StoreNewStudy(database, context.clock(), tuning, TitleOf(spec)));
    RETURN_IF_ERROR(PrintStudyId(context, "submitted", id));
    return RunTuning(
        context, database, tuning,
        {.study_id = id, .out = spec.out_path, .patience = absl::Seconds(patience_seconds_)},
        interrupts);
  }

 private:
  // Of PyTorch's models, as files that are read here.
  absl::Status FindModel(const Context& context) {
    if (!graph_.empty()) {
      if (!flags_.model.empty() || !flags_.task.empty()) {
        return MakeError(ErrorCode::kUsage, "give one of --task, --model and --graph",
                         "tuner submit", "--graph FOLDER");
      }
      ASSIGN_OR_RETURN(flags_.model, DumpedModel(graph_));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(flags_.model, ModelFile(flags_.model, context.settings().Get("python")));
    return absl::OkStatus();
  }

  // By what is on record, or else by default schedules, here, whoever measures the study.
  static absl::Status FindLayers(Context& context, const Target& target, StudySpec& spec) {
    const CompileCache cache(context.CacheFolder());
    ScheduleFacts facts{.cache = &cache};
    ASSIGN_OR_RETURN(facts.find_best, FindBestOnRecord(context));
    ASSIGN_OR_RETURN(facts.calibration, context.ResolveRow(target, /*tracker=*/""));
    BuildModelOptions options{.target = target,
                              .opt_level = spec.opt_level,
                              .select = {.error_budget = spec.error_max, .strict = spec.strict}};
    BuildView view(context);
    options.progress = [&view](const BuildProgress& progress) { view.Update(progress); };
    RETURN_IF_ERROR(ChooseLayers(facts, options, spec));
    view.Finish();
    const auto in_f32 = std::count_if(spec.layer_types.begin(), spec.layer_types.end(),
                                      [](const auto& layer) { return layer.second == "f32"; });
    context.Note(
        absl::StrCat("stored as ", spec.precision, "; ", in_f32, " operators stay in f32"));
    return absl::OkStatus();
  }

  // The daemon measures; the bundle is built here, with what it then has on record.
  absl::Status SubmitToServer(Context& context, const std::string& server, Tuning& tuning,
                              InterruptWatcher& interrupts) {
    TunerClient client(server, [&context] { return context.FindClientSecret(); });
    ASSIGN_OR_RETURN(const std::string id, client.Submit(tuning.spec));
    RETURN_IF_ERROR(PrintStudyId(context, "submitted", id));
    if (detach_) return absl::OkStatus();
    RETURN_IF_ERROR(FollowRemote(context, client, id, tuning.flop_counts, interrupts));
    if (tuning.spec.out_path.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const StudyView study, client.Get(id));
    tuning.spec.calibration = study.spec.calibration;  // Of the machine that measured.
    return BuildTuned(
        context, [&](const BestQuery& query) { return client.Best(query); }, tuning,
        tuning.spec.out_path);
  }

  absl::Status DryRun(Context& context, const Tuning& tuning) {
    Json json = {{"schema", 1}, {"target", tuning.target.ToText()}, {"tasks", Json::array()}};
    TextTable table({{"task"},
                     {"workload"},
                     {"weight", TextTable::kRight},
                     {"MFLOP", TextTable::kRight},
                     {"sketch"},
                     {"valid points", TextTable::kRight}});
    for (size_t i = 0; i < tuning.tasks.size(); ++i) {
      const StudyTaskSpec& task = tuning.tasks[i];
      ASSIGN_OR_RETURN(const std::vector<Sketch> sketches,
                       SketchesOf(task, tuning.target, tuning.spec));
      int64_t candidates = 0;
      Json space = Json::array();
      std::vector<std::vector<std::string>> rows;
      for (const Sketch& sketch : sketches) {
        const PointCount points = CountPoints(sketch);
        candidates += points.count;
        rows.push_back({"", "", "", "", sketch.name, PointsText(points)});
        space.push_back({{"sketch", sketch.name},
                         {"points", points.count},
                         {"exact", points.exact},
                         {"points_low", points.low},
                         {"points_high", points.high}});
      }
      table.AddRow({task.name, ShortHash(task.workload.id), absl::StrFormat("%g", task.weight),
                    absl::StrFormat("%.1f", static_cast<double>(tuning.flop_counts[i]) * 1e-6),
                    absl::StrCat(sketches.size(), " sketches"), absl::StrCat(candidates)});
      for (std::vector<std::string>& row : rows) table.AddRow(std::move(row));
      json["tasks"].push_back({{"name", task.name},
                               {"workload", HexString(task.workload.id)},
                               {"weight", task.weight},
                               {"flop_count", tuning.flop_counts[i]},
                               {"sketches", sketches.size()},
                               {"candidates", candidates},
                               {"space", std::move(space)}});
    }
    const int64_t trials = tuning.spec.trials_max;
    const double seconds = static_cast<double>(std::max<int64_t>(trials, 0)) / kTrialsPerSecond;
    json["trials_max"] = trials;
    json["estimated_s"] = trials < 0 ? Json(nullptr) : Json(seconds);
    if (context.json()) {
      context.out() << json.dump() << "\n";
      return absl::OkStatus();
    }
    context.out() << table.ToText(context.table_columns());
    if (trials > 0) {
      context.out() << "\n"
                    << trials << " trials, about " << FormatPeriod(absl::Seconds(seconds)) << "\n";
    }
    return absl::OkStatus();
  }

  static std::string PointsText(const PointCount& points) {
    if (points.exact) return absl::StrCat(points.count);
    return absl::StrCat(points.low, " to ", points.high);
  }

  StudyFlags flags_;
  std::string graph_;
  bool dry_run_ = false;
  bool detach_ = false;
  double patience_seconds_ = 300;
};

}  // namespace

std::unique_ptr<Command> MakeSubmitCommand() { return std::make_unique<SubmitCommand>(); }

}  // namespace burnish
