#include "tests/e2e/models/default_schedules.h"

#include "base/clock.h"
#include "base/status_macros.h"
#include "compiler/ir/parser.h"
#include "compiler/schedule/trace.h"
#include "proto/isa_model.h"
#include "tuner/sketch/default_schedule.h"

namespace burnish {

absl::StatusOr<std::vector<Schedule>> DefaultSchedules::Find(const ExtractedTask& task,
                                                             const Target& target) {
  const auto [found, is_new] = traces_.try_emplace(task.workload);
  if (is_new) {
    ASSIGN_OR_RETURN(const Program workload, ParseProgram(task.workload));
    const absl::Time start = Clock::Real().SteadyNow();
    found->second = PrintTrace(DefaultSchedule(workload, IsaModelOf(target), target.threads));
    spent_ += Clock::Real().SteadyNow() - start;
  }
  return std::vector<Schedule>{
      {.trace = found->second, .numerics = {.kind = NumericsClass::kReassociated}}};
}

}  // namespace burnish
