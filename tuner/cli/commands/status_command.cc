// tuner status: one study, the newest if none is named.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/error.h"
#include "tuner/cli/study_view.h"

namespace burnish {
namespace {

class StatusCommand : public Command {
 public:
  std::string name() const override { return "status"; }
  std::string summary() const override { return "shows a study: state, trials, best of each task"; }
  std::string example() const override { return "tuner status STUDY"; }
  void AddOptions(CommandOptions& options) override {
    options.Positional("STUDY", &study_, false, "its id or the beginning of it; else the newest");
    options.Setting("db");
    options.Json();
  }

  absl::Status Run(Context& context) override {
    ASSIGN_OR_RETURN(const Database database, context.OpenDatabase());
    std::string id;
    if (study_.empty()) {
      const absl::StatusOr<std::vector<StudySummary>> newest = database.studies->List({.limit = 1});
      RETURN_IF_ERROR(DatabaseError(newest.status(), database.url));
      if (newest->empty()) {
        return MakeError(ErrorCode::kNoStudy, "there is no study yet", database.url,
                         "tuner submit --task resnet50");
      }
      id = newest->front().study.id;
    } else {
      ASSIGN_OR_RETURN(id, ResolveStudyId(database, study_));
    }
    ASSIGN_OR_RETURN(const StudyView view, LoadStudyView(database, id));
    context.out() << (context.json() ? StudyJson(view).dump() + "\n" : StudyText(view));
    return absl::OkStatus();
  }

 private:
  std::string study_;
};

}  // namespace

std::unique_ptr<Command> MakeStatusCommand() { return std::make_unique<StatusCommand>(); }

}  // namespace burnish
