#include "tuner/cli/remote_tuning.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tuner/app/error.h"
#include "tuner/cli/local_tuning.h"
#include "tuner/cli/progress_view.h"
#include "tuner/cli/study_id.h"

namespace burnish {
namespace {

std::string HowToWatch(Context& context, const std::string& study_id) {
  return absl::StrCat("tuner watch ", study_id, " --server ", context.settings().Get("server"));
}

}  // namespace

absl::Status FollowRemote(Context& context, TunerClient& client, const std::string& study_id,
                          std::vector<int64_t> flop_counts, InterruptWatcher& interrupts) {
  ASSIGN_OR_RETURN(const StudyView study, client.Get(study_id));
  context.Note(absl::StrCat(study.tasks.size(), " tasks, run by ", context.settings().Get("server"),
                            "; Ctrl-C leaves it running, `", HowToWatch(context, study_id),
                            "` follows it again"));
  if (flop_counts.empty()) {
    for (const TaskView& task : study.tasks) flop_counts.push_back(task.flop_count.value_or(0));
  }
  ProgressView view(context, flop_counts);
  interrupts.OnInterrupt([&] { client.StopFollowing(); });
  const absl::StatusOr<FollowedRun> run =
      client.Follow(study_id, [&](const StudyProgress& progress) {
        if (progress.tasks.size() == flop_counts.size()) view.Update(progress);
      });
  interrupts.OnInterrupt(nullptr);
  view.Finish();
  if (absl::IsCancelled(run.status())) {
    return MakeError(ErrorCode::kInterrupted, "no longer following; the study goes on", study_id,
                     HowToWatch(context, study_id));
  }
  if (!run.ok()) {
    return WithError(run.status(), ErrorCodeOf(run.status()), study_id,
                     HowToWatch(context, study_id));
  }
  if (run->progress.has_value() && run->progress->tasks.size() == flop_counts.size()) {
    PrintResult(context, flop_counts, study_id,
                {.reason = run->reason, .progress = *run->progress});
  }
  return WithHowToGoOn(context, run->error, study_id);
}

}  // namespace burnish
