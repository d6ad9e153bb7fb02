// tuner submit: tunes a model or an operator, and builds it.
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "compiler/ir/parser.h"
#include "proto/isa_model.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/error.h"
#include "tuner/cli/format.h"
#include "tuner/cli/interrupt_watcher.h"
#include "tuner/cli/study_flags.h"
#include "tuner/cli/tuning.h"
#include "tuner/service/study_storage.h"
#include "tuner/sketch/sketch.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

// What an embedded farm on two cores measures in a second; only for the estimate of a dry run.
constexpr double kTrialsPerSecond = 8;

// "20260131-120000-1f3a": sorts by age, and two submits in a second differ.
std::string NewStudyId(absl::Time now) {
  std::random_device device;
  return absl::StrCat(absl::FormatTime("%Y%m%d-%H%M%S", now, absl::UTCTimeZone()), "-",
                      absl::Hex(device() & 0xffff, absl::kZeroPad4));
}

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
    options.Flag("--dry-run", &dry_run_, "only list tasks and the sizes of their spaces");
    options.Flag("--detach", &detach_, "leave it to a running `tuner serve`");
    options.Setting("target");
    options.Setting("tracker");
    options.Setting("server");
    options.Setting("db");
    options.Json();
    options.Quiet();
  }

  absl::Status Run(Context& context) override {
    if (detach_ || !context.settings().Get("server").empty()) {
      return MakeError(ErrorCode::kNoServer, "this version has no tuner daemon to hand a study to",
                       "tuner submit",
                       "leave --detach and --server out; with nohup it survives the terminal");
    }
    InterruptWatcher interrupts;
    ASSIGN_OR_RETURN(const Target target, context.ResolveTarget(static_cast<int>(flags_.threads)));
    ASSIGN_OR_RETURN(const StudySpec spec, flags_.ToSpec(target));
    ASSIGN_OR_RETURN(const Tuning tuning, PrepareTuning(spec));
    if (dry_run_) return DryRun(context, tuning);
    ASSIGN_OR_RETURN(const Database database, context.OpenDatabase());
    const absl::Time now = context.clock().WallNow();
    const std::string id = NewStudyId(now);
    RETURN_IF_ERROR(
        DatabaseError(CreateStudy(*database.studies, {.id = id,
                                                      .title = TitleOf(spec),
                                                      .spec = spec,
                                                      .target = target,
                                                      .tasks = tuning.tasks,
                                                      .now_ns = absl::ToUnixNanos(now)}),
                      database.url));
    if (context.json()) {
      context.out() << Json({{"schema", 1}, {"event", "submitted"}, {"study", id}}).dump() << "\n";
    } else {
      context.out() << "study " << id << "\n";
    }
    context.out() << std::flush;
    return RunTuning(context, database, tuning, {.study_id = id, .out = spec.out_path}, interrupts);
  }

 private:
  absl::Status DryRun(Context& context, const Tuning& tuning) {
    Json json = {{"schema", 1}, {"target", tuning.target.ToText()}, {"tasks", Json::array()}};
    TextTable table({{"task"},
                     {"workload"},
                     {"weight", TextTable::kRight},
                     {"MFLOP", TextTable::kRight},
                     {"sketches", TextTable::kRight},
                     {"candidates", TextTable::kRight}});
    for (size_t i = 0; i < tuning.tasks.size(); ++i) {
      const StudyTaskSpec& task = tuning.tasks[i];
      ASSIGN_OR_RETURN(const Program program, ParseProgram(task.workload.text));
      int64_t candidates = 0;
      const std::vector<Sketch> sketches =
          GenerateSketches(program, IsaModelOf(tuning.target), tuning.target.threads);
      for (const Sketch& sketch : sketches) candidates += SpaceSize(sketch);
      table.AddRow({task.name, ShortHash(task.workload.id), absl::StrFormat("%g", task.weight),
                    absl::StrFormat("%.1f", static_cast<double>(tuning.flop_counts[i]) * 1e-6),
                    absl::StrCat(sketches.size()), absl::StrCat(candidates)});
      json["tasks"].push_back({{"name", task.name},
                               {"workload", HexString(task.workload.id)},
                               {"weight", task.weight},
                               {"flop_count", tuning.flop_counts[i]},
                               {"sketches", sketches.size()},
                               {"candidates", candidates}});
    }
    const int64_t trials = tuning.spec.trials_max;
    const double seconds = static_cast<double>(std::max<int64_t>(trials, 0)) / kTrialsPerSecond;
    json["trials_max"] = trials;
    json["estimated_s"] = trials < 0 ? Json(nullptr) : Json(seconds);
    if (context.json()) {
      context.out() << json.dump() << "\n";
      return absl::OkStatus();
    }
    context.out() << table.ToText();
    if (trials > 0) {
      context.out() << "\n"
                    << trials << " trials, about " << FormatPeriod(absl::Seconds(seconds)) << "\n";
    }
    return absl::OkStatus();
  }

  StudyFlags flags_;
  bool dry_run_ = false;
  bool detach_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeSubmitCommand() { return std::make_unique<SubmitCommand>(); }

}  // namespace burnish
