#include "tests/e2e/models/remembered_schedules.h"

#include "base/clock.h"
#include "base/status_macros.h"

namespace burnish {

absl::StatusOr<std::vector<Schedule>> RememberedSchedules::Find(const ExtractedTask& task,
                                                                const Target& target) {
  const auto [found, is_new] = known_.try_emplace(std::pair(task.workload, target.ToText()));
  if (is_new) {
    const absl::Time start = Clock::Real().SteadyNow();
    ASSIGN_OR_RETURN(found->second, source_.Find(task, target));
    spent_ += Clock::Real().SteadyNow() - start;
  }
  return found->second;
}

}  // namespace burnish
