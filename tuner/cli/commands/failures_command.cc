// tuner failures: what the candidates of a study failed with.
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/status_macros.h"
#include "tuner/app/study_failures.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/failures_text.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

class FailuresCommand : public Command {
 public:
  std::string name() const override { return "failures"; }
  std::string summary() const override {
    return "shows what a study's candidates failed with, most frequent first";
  }
  std::string example() const override { return "tuner failures STUDY"; }
  void AddOptions(CommandOptions& options) override {
    options.Positional("STUDY", &study_, true, "its id or the beginning of it");
    options.Setting("db");
    options.Json();
  }

  absl::Status Run(Context& context) override {
    ASSIGN_OR_RETURN(const Database database, context.OpenDatabase(DatabaseAccess::kRead));
    ASSIGN_OR_RETURN(const StudyFailures found, LoadFailures(database, study_));
    if (context.json()) {
      context.out() << Json({{"schema", 1},
                             {"study", found.study_id},
                             {"trials", found.trial_count},
                             {"groups", FailureGroupsJson(found)}})
                           .dump()
                    << "\n";
    } else {
      context.out() << FailuresText(found, context.table_columns(), context.table_color());
    }
    return absl::OkStatus();
  }

 private:
  std::string study_;
};

}  // namespace

std::unique_ptr<Command> MakeFailuresCommand() { return std::make_unique<FailuresCommand>(); }

}  // namespace burnish
