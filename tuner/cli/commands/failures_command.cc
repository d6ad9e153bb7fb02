// tuner failures: what the candidates of a study failed with.
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "tuner/app/study_failures.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/format.h"

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
    context.out() << (context.json() ? ToJson(found).dump() + "\n"
                                     : ToText(found, context.table_columns()));
    return absl::OkStatus();
  }

 private:
  static Json ToJson(const StudyFailures& found) {
    Json json = {{"schema", 1},
                 {"study", found.study_id},
                 {"trials", found.trial_count},
                 {"groups", Json::array()}};
    for (const FailureGroup& group : found.groups) {
      json["groups"].push_back({{"kind", std::string(FailureKindName(group.kind))},
                                {"count", group.count},
                                {"workers", group.workers},
                                {"trial", group.trial_id},
                                {"message", group.message}});
    }
    return json;
  }

  static std::string ToText(const StudyFailures& found, int columns) {
    if (found.groups.empty()) {
      return absl::StrCat("none of ", found.trial_count, " trials failed\n");
    }
    TextTable table({{"trials", TextTable::kRight},
                     {"kind"},
                     {"workers"},
                     {.title = "first trial", .is_id = true},
                     {"what it said", TextTable::kLeft, /*wraps=*/true}});
    int64_t failed = 0;
    for (const FailureGroup& group : found.groups) {
      failed += group.count;
      table.AddRow({absl::StrCat(group.count), std::string(FailureKindName(group.kind)),
                    absl::StrJoin(group.workers, " "), group.trial_id, group.message});
    }
    return absl::StrCat(failed, " of ", found.trial_count, " trials failed\n",
                        table.ToText(columns));
  }

  std::string study_;
};

}  // namespace

std::unique_ptr<Command> MakeFailuresCommand() { return std::make_unique<FailuresCommand>(); }

}  // namespace burnish
