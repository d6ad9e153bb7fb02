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
  explicit TraceReplay(Program program) { states_.push_back({0, std::move(program)}); }

  // What ApplyTrace gives, for the program given at first. Valid until the next call.
  absl::StatusOr<const Program*> Apply(const Trace& trace);

 private:
  struct State {
    size_t steps = 0;  // Of applied_.
    Program program;
  };

  Trace applied_;
  std::vector<State> states_;  // By steps, from 0 on: some, and that of the trace before.
  // [i]: whether a trace has differed from the one before in step i: the state before such a step
  // is kept. Most steps of a sketch are the same in all candidates where those before them are, and
  // copies of programs were a third of the time.
  std::vector<bool> differs_;
};

}  // namespace burnish

#endif  // COMPILER_SCHEDULE_TRACE_REPLAY_H_
