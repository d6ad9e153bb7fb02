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
  // Before anything new is applied: a step that is refused leaves a state that fits its trace.
  applied_.resize(shared);
  programs_.resize(shared + 1);
  for (size_t i = shared; i < trace.size(); ++i) {
    Program next = programs_.back();
    if (const absl::Status status = ApplyStepInPlace(trace[i], next); !status.ok()) {
      return RefusedStep(i, trace[i], status);
    }
    programs_.push_back(std::move(next));
    applied_.push_back(trace[i]);
  }
  return &programs_.back();
}

}  // namespace burnish
