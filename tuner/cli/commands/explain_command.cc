// tuner explain: why a recorded schedule is as fast as it is.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "proto/builder_client.h"
#include "tuner/app/explain_record.h"
#include "tuner/app/machine_row.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/explain_text.h"

namespace burnish {
namespace {

class ExplainCommand : public Command {
 public:
  std::string name() const override { return "explain"; }
  std::string summary() const override { return "says why a schedule is as fast as it is"; }
  std::string example() const override {
    return "tuner explain 3f2a9c41\ntuner explain STUDY/t0/17 --top 10\n"
           "tuner explain resnet50.bundle --step 12";
  }
  void AddOptions(CommandOptions& options) override {
    options.Positional("RECORD", &question_.what, true,
                       "a trial as `query` shows it, a task's name or hash, which is its best "
                       "record, or a bundle");
    options.Value("--step", "N|NAME", &question_.step, "of the bundle");
    options.Value("--top", "N", &top_, 0, 1000, "runners-up");
    options.Flag("--no-code", &no_code_, "do not build it: nothing of registers and spills");
    options.Setting("target");
    options.Setting("db");
    options.Setting("calibration");
    options.Json();
  }

  absl::Status Run(Context& context) override {
    // Without a word about it, any.
    if (context.settings().Find("target").origin != "default") {
      ASSIGN_OR_RETURN(const Target target, context.ResolveTarget());
      question_.target = target.ToText();
    }
    ASSIGN_OR_RETURN(const Database database, context.OpenDatabase(DatabaseAccess::kRead));
    ASSIGN_OR_RETURN(FoundRecord found, FindRecord(database, question_));
    BuilderClient builder;
    ExplainOptions options{.runner_up_max = static_cast<int>(top_),
                           .builder = no_code_ ? nullptr : &builder};
    ASSIGN_OR_RETURN(options.row, RowFor(context, found));
    ASSIGN_OR_RETURN(const Explanation explanation, Explain(std::move(found), options));
    if (context.json()) {
      context.out() << ExplainJson(explanation).dump() << "\n";
    } else {
      context.out() << ExplainText(explanation, context.table_columns());
    }
    return absl::OkStatus();
  }

 private:
  // What a user names; else that of the study, by which its search was guided; else this machine's,
  // as far as it was measured.
  static absl::StatusOr<std::optional<CalibrationRow>> RowFor(const Context& context,
                                                              const FoundRecord& found) {
    if (context.settings().Find("calibration").origin == "default" && found.has_study) {
      return found.study_row;
    }
    const absl::StatusOr<Target> target = ParseTarget(found.record.target);
    if (!target.ok()) return std::optional<CalibrationRow>();
    MachineRowOptions options = context.RowOptions(/*tracker=*/"");
    options.may_measure = false;
    ASSIGN_OR_RETURN(MachineRow machine, FindMachineRow(options, *target));
    return std::move(machine.row);
  }

  ExplainQuestion question_;
  int64_t top_ = 5;
  bool no_code_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeExplainCommand() { return std::make_unique<ExplainCommand>(); }

}  // namespace burnish
