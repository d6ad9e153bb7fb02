#include "tuner/study/state_writer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/logging.h"

namespace burnish {
namespace {

// A locked database is free in a moment; a full disk waits for a person. The longest wait bounds
// how long after that the state is still a wrong one.
constexpr absl::Duration kWaitMin = absl::Milliseconds(100);
constexpr absl::Duration kWaitMax = absl::Seconds(10);

bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status) ||
         absl::IsAborted(status);
}

}  // namespace

absl::Status WriteState(StudyStore& studies, const StateChange& change, const RetryWait& wait) {
  const std::string what = absl::StrCat("study ", change.study_id, ": its state, ",
                                        std::string(StudyStateName(change.state)));
  absl::StatusCode told = absl::StatusCode::kOk;
  absl::Duration pause = kWaitMin;
  for (int attempt = 1;; ++attempt) {
    const absl::Status status =
        studies.SetState(change.study_id, change.state, change.detail, change.now_ns);
    if (status.ok()) {
      if (attempt > 1) LogWarning(absl::StrCat(what, ", is written after ", attempt, " attempts"));
      return status;
    }
    if (!MayPass(status) || wait == nullptr) return status;
    if (status.code() != told) {
      told = status.code();
      LogError(absl::StrCat(what, " (", change.detail, "), cannot be written: ",
                            std::string(status.message()), "; it is tried again until it is"));
    }
    if (!wait(pause)) {
      return absl::Status(status.code(),
                          absl::StrCat(std::string(status.message()), " (", attempt, " attempts)"));
    }
    pause = std::min(2 * pause, kWaitMax);
  }
}

}  // namespace burnish
