#include "tuner/study/study_types.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace burnish {

std::string NetworkText(const RefineProgress& refine) {
  // Of a made-up model there is nothing to say but its tasks' gains.
  if (refine.network_ratio <= 0 || refine.gains_only) return "";
  const double percent = 100 * (refine.network_ratio - 1);
  std::string text = absl::StrFormat(
      "network: %.1f %% %s than with default schedules (spread %.1f %%)", std::abs(percent),
      percent > 0 ? "slower" : "faster", 100 * refine.network_spread);
  if (refine.defaults_taken) text += ", which are taken";
  return text;
}

bool IsOver(StopReason reason) {
  return reason == StopReason::kTrials || reason == StopReason::kTime ||
         reason == StopReason::kGain || reason == StopReason::kNoTaskLeft;
}

absl::string_view StopReasonName(StopReason reason) {
  switch (reason) {
    case StopReason::kNone:
      return "none";
    case StopReason::kTrials:
      return "trials";
    case StopReason::kTime:
      return "time";
    case StopReason::kGain:
      return "gain";
    case StopReason::kNoTaskLeft:
      return "no task left";
    case StopReason::kInterrupted:
      return "interrupted";
    case StopReason::kCancelled:
      return "cancelled";
    case StopReason::kMeasurerSilent:
      return "measurer silent";
    case StopReason::kNothingMeasured:
      return "nothing measured";
    case StopReason::kParked:
      return "parked";
  }
  return "unknown";
}

std::string GuardText(const GuardCounts& counts) {
  std::string text;
  for (const auto& [worker, count] : counts.lies) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", "worker ", worker, " was paused",
                    count > 1 ? absl::StrCat(" ", count, " times") : "",
                    ": faster than its device can be, and not confirmed by another worker");
  }
  return text;
}

}  // namespace burnish
