// tuner retry: has a study measure again what was poisoned or parked.
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tuner/app/retry_study.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/open_studies.h"

namespace burnish {
namespace {

class RetryCommand : public Command {
 public:
  std::string name() const override { return "retry"; }
  std::string summary() const override {
    return "lifts what workers were lost under: poisoned and parked candidates";
  }
  std::string example() const override { return "tuner retry STUDY\ntuner retry STUDY/t0/17"; }
  void AddOptions(CommandOptions& options) override {
    options.Positional("STUDY|CANDIDATE", &what_, true,
                       "a study, or the beginning of its id; a trial; a candidate's hash");
    options.Setting("server");
    options.Setting("db");
    options.Json();
    options.Quiet();
  }

  absl::Status Run(Context& context) override {
    ASSIGN_OR_RETURN(OpenedStudies studies, OpenedStudies::Open(context, DatabaseAccess::kChange));
    ASSIGN_OR_RETURN(const RetriedStudy retried, studies->Retry(what_));
    if (context.json()) {
      context.out() << nlohmann::ordered_json({{"schema", 1},
                                               {"study", retried.study_id},
                                               {"lifted", retried.lifted_count},
                                               {"open", retried.open_count}})
                           .dump()
                    << "\n";
    } else {
      context.Note(absl::StrCat(retried.open_count, " candidates, ", retried.lifted_count,
                                " of them poisoned, are measured by `tuner resume ",
                                retried.study_id, "`"));
    }
    return absl::OkStatus();
  }

 private:
  std::string what_;
};

}  // namespace

std::unique_ptr<Command> MakeRetryCommand() { return std::make_unique<RetryCommand>(); }

}  // namespace burnish
