// tuner resume: goes on with a study that was interrupted, killed or cancelled, or that has failed.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "tuner/app/database.h"
#include "tuner/app/error.h"
#include "tuner/app/extend_study.h"
#include "tuner/app/study_view.h"
#include "tuner/app/tuning.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/interrupt_watcher.h"
#include "tuner/cli/local_tuning.h"
#include "tuner/cli/remote_tuning.h"
#include "tuner/cli/study_id.h"
#include "tuner/serve/tuner_client.h"

namespace burnish {
namespace {

class ResumeCommand : public Command {
 public:
  std::string name() const override { return "resume"; }
  std::string summary() const override { return "goes on with a study; nothing is measured twice"; }
  std::string example() const override {
    return "tuner resume STUDY\ntuner resume STUDY --trials +200";
  }
  void AddOptions(CommandOptions& options) override {
    options.Positional("STUDY", &study_, true, "its id, or the beginning of it");
    options.Group("Output");
    options.Value("--out", "FILE", &out_, "the bundle; else where `submit` said");
    options.Group("How long");
    options.Value("--trials", "+N|N", &trials_,
                  "so many more, or so many in all; also of a study that is done");
    options.Group("Where");
    options.Flag("--detach", &detach_, "with --server: do not wait for it");
    options.Value("--patience", "S", &patience_seconds_, 1.0, 1e6,
                  "seconds to wait for a farm that is away");
    options.Setting("tracker");
    options.Setting("calibration");
    options.Setting("cache");
    options.Setting("server");
    options.Setting("db");
    options.Group("Output");
    options.Json();
    options.Quiet();
  }

  absl::Status Run(Context& context) override {
    InterruptWatcher interrupts;
    const std::string& server = context.settings().Get("server");
    if (!server.empty()) return ResumeRemote(context, server, interrupts);
    if (detach_) return NoServer("tuner resume");
    ASSIGN_OR_RETURN(const Database database, context.OpenDatabase(DatabaseAccess::kChange));
    ASSIGN_OR_RETURN(const std::string id, ResolveStudyId(database, study_));
    const absl::StatusOr<StudySummary> summary = database.studies->Get(id);
    RETURN_IF_ERROR(DatabaseError(summary.status(), database.url));
    if (summary->study.state == StudyState::kDone && trials_.empty()) {
      return MakeError(ErrorCode::kStudyState, absl::StrCat(id, " is done"), id,
                       "tuner query shows what it found; --trials +100 goes on for a hundred more");
    }
    ASSIGN_OR_RETURN(const StudySpec spec, ParseStudySpec(summary->study));
    ASSIGN_OR_RETURN(Tuning tuning, PrepareTuning(spec));
    RETURN_IF_ERROR(CheckFarm(context, tuning));
    // When all else is known to be there: who tries again after an error would add as many again.
    if (!trials_.empty()) {
      ASSIGN_OR_RETURN(tuning.spec, ExtendStudy(database, context.clock(), id, trials_));
    }
    // Whoever resumes a study that was parked says that it may crash as often again.
    RETURN_IF_ERROR(DatabaseError(database.studies->SetCrashCount(id, 0), database.url));
    RETURN_IF_ERROR(PrintStudyId(context, "resumed", id));
    return RunTuning(context, database, tuning,
                     {.study_id = id,
                      .out = out_.empty() ? spec.out_path : out_,
                      .patience = absl::Seconds(patience_seconds_)},
                     interrupts);
  }

 private:
  absl::Status ResumeRemote(Context& context, const std::string& server,
                            InterruptWatcher& interrupts) {
    if (!out_.empty()) {
      return MakeError(
          ErrorCode::kUsage, "--out with --server: bundles are built by the client", "tuner resume",
          absl::StrCat("tuner compile --task NAME|--model FILE --out FILE --server ", server));
    }
    TunerClient client(server, [&context] { return context.FindClientSecret(); });
    ASSIGN_OR_RETURN(const std::string id, client.Resume(study_, trials_));
    RETURN_IF_ERROR(PrintStudyId(context, "resumed", id));
    return detach_ ? absl::OkStatus() : FollowRemote(context, client, id, {}, interrupts);
  }

  std::string study_, out_, trials_;
  bool detach_ = false;
  double patience_seconds_ = 300;
};

}  // namespace

std::unique_ptr<Command> MakeResumeCommand() { return std::make_unique<ResumeCommand>(); }

}  // namespace burnish
