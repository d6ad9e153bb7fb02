#include "tuner/service/study_types.h"

namespace burnish {

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
  }
  return "unknown";
}

}  // namespace burnish
