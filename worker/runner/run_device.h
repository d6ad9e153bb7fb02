// What a run slot runs on: "cpu" (every CPU that this process may use) or "cpu:0-3,8".
#ifndef WORKER_RUNNER_RUN_DEVICE_H_
#define WORKER_RUNNER_RUN_DEVICE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/cpu_info.h"
#include "proto/measurement.h"

namespace burnish {

struct RunDevice {
  std::string name;       // As the user wrote it.
  std::vector<int> cpus;  // One of each physical core first, then their other threads.
};

// INVALID_ARGUMENT with a hint: no such device, CPUs that this process may not use. UNIMPLEMENTED:
// cuda and opencl.
absl::StatusOr<RunDevice> ParseRunDevice(absl::string_view name, const CpuInfo& host);

// The first `threads` CPUs, and the other hardware threads of their cores. `threads` is at most the
// device's number of CPUs.
struct RunCpus {
  std::vector<int> cpus;
  std::vector<int> siblings;  // Ascending.
};
RunCpus CpusFor(const RunDevice& device, const CpuInfo& host, int threads);

// What a measurement says of the host: CPU model, microcode, hypervisor, kernel. Read once.
Environment HostEnvironment(const CpuInfo& host);

// The arena that timed constants are read from in turn, so that each call finds its own where a
// call in the whole model finds them. `model_constant_bytes`: of all constants of the model; 0: not
// known. Where the last cache has room for them, they lie there but in no cache before it: an arena
// that the caches of `threads` cores do not hold, and the last one does. Else they lie in memory:
// an arena that is larger than the last cache, by no more than the model is, up to 1 GiB.
int64_t ColdArenaBytes(const CpuInfo& host, int threads, int64_t model_constant_bytes);

}  // namespace burnish

#endif  // WORKER_RUNNER_RUN_DEVICE_H_
