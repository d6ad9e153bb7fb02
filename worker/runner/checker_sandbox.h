// What the checker gives up before it reads what others wrote: the texts of workloads, and the
// outputs of candidates.
#ifndef WORKER_RUNNER_CHECKER_SANDBOX_H_
#define WORKER_RUNNER_CHECKER_SANDBOX_H_

#include <string>

namespace burnish {

// All but memory, its pipes and the file of the outputs (kOutputsDescriptor): other descriptors are
// closed. Returns what could not be had; empty: nothing.
std::string EnterCheckerSandbox();

}  // namespace burnish

#endif  // WORKER_RUNNER_CHECKER_SANDBOX_H_
