// The runner's work on one candidate, or on a network of them, from request to times. Free of
// Abseil.
#ifndef WORKER_RUNNER_RUNNER_SESSION_H_
#define WORKER_RUNNER_RUNNER_SESSION_H_

#include <functional>

#include "worker/runner/runner_wire.h"

namespace burnish {

struct RunnerPipes {
  std::function<void(const RunnerReply&)> answer;
  // Waits for the word that the outputs are right. False: there will be none.
  std::function<bool()> wait_for_verdict;
  int outputs_descriptor = -1;
  int arena_descriptor = -1;  // Needed only where the request names an arena.
};

// Answers kOutputs, kLocked, kTimed, or what went wrong. What a kernel can do to the process is the
// parent's worry.
void RunSession(const RunnerRequest& request, const RunnerPipes& pipes);

}  // namespace burnish

#endif  // WORKER_RUNNER_RUNNER_SESSION_H_
