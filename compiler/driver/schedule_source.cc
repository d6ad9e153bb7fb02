#include "compiler/driver/schedule_source.h"

namespace burnish {

absl::string_view ScheduleOriginName(ScheduleOrigin origin) {
  switch (origin) {
    case ScheduleOrigin::kTuned:
      return "tuned";
    case ScheduleOrigin::kCompatible:
      return "compatible";
    case ScheduleOrigin::kSameAnchor:
      return "same-anchor";
    case ScheduleOrigin::kDefault:
      return "default";
  }
  return "";
}

absl::StatusOr<double> ScheduleSource::Estimate(const ExtractedTask& task, const std::string& trace,
                                                const Target& target) {
  return absl::UnimplementedError("no cost model");
}

absl::StatusOr<std::vector<KnownSchedule>> DefaultScheduleSource::Find(const ExtractedTask& task,
                                                                       const Target& target) {
  return std::vector<KnownSchedule>();
}

}  // namespace burnish
