#include "tests/e2e/models/remembered_schedules.h"

#include "base/clock.h"
#include "base/status_macros.h"

namespace burnish {

absl::StatusOr<std::vector<KnownSchedule>> RememberedSchedules::Find(const ExtractedTask& task,
                                                                     const Target& target) {
  const std::pair key(task.workload, target.ToText());
  {
    const absl::MutexLock lock(&mutex_);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
  }
  const absl::Time start = Clock::Real().SteadyNow();
  ASSIGN_OR_RETURN(std::vector<KnownSchedule> schedules, source_.Find(task, target));
  const absl::MutexLock lock(&mutex_);
  spent_ += Clock::Real().SteadyNow() - start;
  return known_[key] = std::move(schedules);
}

}  // namespace burnish
