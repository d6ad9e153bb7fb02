// tuner list: all studies of a database.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/format.h"
#include "tuner/cli/open_studies.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

class ListCommand : public Command {
 public:
  std::string name() const override { return "list"; }
  std::string summary() const override { return "lists studies, newest first"; }
  std::string example() const override { return "tuner list --state interrupted"; }
  void AddOptions(CommandOptions& options) override {
    options.Choice("--state", &state_,
                   {"queued", "running", "interrupted", "done", "failed", "cancelled", "parked"},
                   "only those in this state");
    options.Value("--limit", "N", &limit_, 1, 10000, "how many at most");
    options.Setting("server");
    options.Setting("db");
    options.Json();
  }

  absl::Status Run(Context& context) override {
    ASSIGN_OR_RETURN(OpenedStudies studies, OpenedStudies::Open(context, DatabaseAccess::kRead));
    StudyQuery query{.limit = static_cast<int>(limit_)};
    for (int number = 1; number <= kStudyStateCount; ++number) {
      const auto state = static_cast<StudyState>(number);
      if (state_ == StudyStateName(state)) query.state = state;
    }
    ASSIGN_OR_RETURN(const std::vector<StudySummary> found, studies->List(query));
    Json json = {{"schema", 1}, {"studies", Json::array()}};
    TextTable table({{.title = "study", .is_id = true},
                     {"of"},
                     {"state"},
                     {"tasks", TextTable::kRight},
                     {"created (UTC)"},
                     {"", TextTable::kLeft, /*wraps=*/true}});
    for (const StudySummary& summary : found) {
      const Study& study = summary.study;
      const std::string state(StudyStateName(study.state));
      json["studies"].push_back({{"study", study.id},
                                 {"title", study.title},
                                 {"state", state},
                                 {"detail", study.detail},
                                 {"target", study.target},
                                 {"tasks", summary.task_count},
                                 {"open_jobs", summary.open_job_count},
                                 {"created_ns", study.created_ns},
                                 {"updated_ns", study.updated_ns}});
      table.AddRow({study.id, study.title, state, absl::StrCat(summary.task_count),
                    FormatWallNs(study.created_ns), study.detail});
    }
    context.out() << (context.json() ? json.dump() + "\n" : table.ToText(context.table_columns()));
    return absl::OkStatus();
  }

 private:
  std::string state_;
  int64_t limit_ = 100;
};

}  // namespace

std::unique_ptr<Command> MakeListCommand() { return std::make_unique<ListCommand>(); }

}  // namespace burnish
