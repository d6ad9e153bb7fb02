// tuner status: one study, the newest if none is named.
#include <nlohmann/json.hpp>
#include <string>

#include "base/status_macros.h"
#include "tuner/app/error.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/open_studies.h"
#include "tuner/cli/study_text.h"

namespace burnish {
namespace {

class StatusCommand : public Command {
 public:
  std::string name() const override { return "status"; }
  std::string summary() const override { return "shows a study: state, trials, best of each task"; }
  std::string example() const override { return "tuner status STUDY"; }
  void AddOptions(CommandOptions& options) override {
    options.Positional("STUDY", &study_, false, "its id or the beginning of it; else the newest");
    options.Setting("server");
    options.Setting("db");
    options.Json();
  }

  absl::Status Run(Context& context) override {
    ASSIGN_OR_RETURN(OpenedStudies studies, OpenedStudies::Open(context, DatabaseAccess::kRead));
    const absl::StatusOr<StudyView> view = studies->Get(study_);
    if (study_.empty() && absl::IsNotFound(view.status())) {
      return WithHint(view.status(), "tuner submit --task resnet50");
    }
    RETURN_IF_ERROR(view.status());
    context.out() << (context.json() ? StudyJson(*view).dump() + "\n"
                                     : StudyText(*view, context.table_columns()));
    return absl::OkStatus();
  }

 private:
  std::string study_;
};

}  // namespace

std::unique_ptr<Command> MakeStatusCommand() { return std::make_unique<StatusCommand>(); }

}  // namespace burnish
