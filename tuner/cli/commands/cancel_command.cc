// tuner cancel: ends a study for good; what it measured stays.
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/open_studies.h"

namespace burnish {
namespace {

class CancelCommand : public Command {
 public:
  std::string name() const override { return "cancel"; }
  std::string summary() const override { return "ends a study; what it measured stays"; }
  std::string example() const override { return "tuner cancel STUDY"; }
  void AddOptions(CommandOptions& options) override {
    options.Positional("STUDY", &study_, true, "its id, or the beginning of it");
    options.Setting("server");
    options.Setting("db");
    options.Json();
    options.Quiet();
  }

  absl::Status Run(Context& context) override {
    ASSIGN_OR_RETURN(OpenedStudies studies, OpenedStudies::Open(context, DatabaseAccess::kChange));
    ASSIGN_OR_RETURN(const std::string id, studies->Cancel(study_));
    if (context.json()) {
      context.out()
          << nlohmann::ordered_json({{"schema", 1}, {"study", id}, {"state", "cancelled"}}).dump()
          << "\n";
    } else {
      context.Note(absl::StrCat(id, " is cancelled; `tuner resume ", id, "` takes it up again"));
    }
    return absl::OkStatus();
  }

 private:
  std::string study_;
};

}  // namespace

std::unique_ptr<Command> MakeCancelCommand() { return std::make_unique<CancelCommand>(); }

}  // namespace burnish
