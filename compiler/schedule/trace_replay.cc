#include "compiler/schedule/trace_replay.h"

#include <utility>

#include "compiler/schedule/primitive.h"

namespace burnish {

absl::StatusOr<const Program*> TraceReplay::Apply(const Trace& trace) {
  size_t shared = 0;
  // Candidates of one sketch begin alike: evolution changes a decision, and the steps before the
  // first that mentions it stay.
  while (shared < applied_.size() && shared < trace.size() && applied_[shared] == trace[shared]) {
    ++shared;
  }
  if (differs_.size() < trace.size()) differs_.resize(trace.size());
  if (shared < trace.size()) differs_[shared] = true;
  // Before anything new is applied: a step that is refused leaves states that fit their trace.
  applied_.resize(shared);
  while (states_.back().steps > shared) states_.pop_back();
  if (states_.back().steps == trace.size()) return &states_.back().program;
  State next = states_.back();
  for (size_t i = next.steps; i < trace.size(); ++i) {
    if (differs_[i] && i > states_.back().steps) states_.push_back(next);
    if (const absl::Status status = ApplyStepInPlace(trace[i], next.program); !status.ok()) {
      return RefusedStep(i, trace[i], status);
    }
    next.steps = i + 1;
    if (i >= shared) applied_.push_back(trace[i]);
  }
  states_.push_back(std::move(next));
  return &states_.back().program;
}

}  // namespace burnish
