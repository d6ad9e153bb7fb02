// tuner resume: goes on with a study that was interrupted, killed or cancelled, or that has failed.
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/error.h"
#include "tuner/cli/interrupt_watcher.h"
#include "tuner/cli/study_view.h"
#include "tuner/cli/tuning.h"

namespace burnish {
namespace {

class ResumeCommand : public Command {
 public:
  std::string name() const override { return "resume"; }
  std::string summary() const override { return "goes on with a study; nothing is measured twice"; }
  std::string example() const override { return "tuner resume STUDY"; }
  void AddOptions(CommandOptions& options) override {
    options.Positional("STUDY", &study_, true, "its id, or the beginning of it");
    options.Value("--out", "FILE", &out_, "the bundle; else where `submit` said");
    options.Setting("tracker");
    options.Setting("db");
    options.Json();
    options.Quiet();
  }

  absl::Status Run(Context& context) override {
    InterruptWatcher interrupts;
    ASSIGN_OR_RETURN(const Database database, context.OpenDatabase());
    ASSIGN_OR_RETURN(const std::string id, ResolveStudyId(database, study_));
    const absl::StatusOr<StudySummary> summary = database.studies->Get(id);
    RETURN_IF_ERROR(DatabaseError(summary.status(), database.url));
    if (summary->study.state == StudyState::kDone) {
      return MakeError(ErrorCode::kStudyState, absl::StrCat(id, " is done"), id,
                       "tuner query shows what it found; submit again for more trials");
    }
    ASSIGN_OR_RETURN(const StudySpec spec, ParseStudySpec(summary->study));
    ASSIGN_OR_RETURN(const Tuning tuning, PrepareTuning(spec));
    if (context.json()) {
      context.out()
          << nlohmann::ordered_json({{"schema", 1}, {"event", "resumed"}, {"study", id}}).dump()
          << "\n";
    } else {
      context.out() << "study " << id << "\n";
    }
    context.out() << std::flush;
    return RunTuning(context, database, tuning,
                     {.study_id = id, .out = out_.empty() ? spec.out_path : out_}, interrupts);
  }

 private:
  std::string study_, out_;
};

}  // namespace

std::unique_ptr<Command> MakeResumeCommand() { return std::make_unique<ResumeCommand>(); }

}  // namespace burnish
