// Applies many traces to one program, as search and default schedules do: steps that a trace shares
// with the one before, from the first on, are not applied again.
#ifndef COMPILER_SCHEDULE_TRACE_REPLAY_H_
#define COMPILER_SCHEDULE_TRACE_REPLAY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/program.h"
#include "compiler/schedule/trace.h"

namespace burnish {

// Not thread-safe.
class TraceReplay {
 public:
  explicit TraceReplay(Program program) { programs_.push_back(std::move(program)); }

  // What ApplyTrace gives, for the program given at first. Valid until the next call.
  absl::StatusOr<const Program*> Apply(const Trace& trace);

 private:
  Trace applied_;
  std::vector<Program> programs_;  // [i]: after i steps of applied_.
};

}  // namespace burnish

#endif  // COMPILER_SCHEDULE_TRACE_REPLAY_H_
