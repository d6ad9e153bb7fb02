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

// Twice the last-level cache: what constants must go through to be cold.
int64_t ColdArenaBytes(const CpuInfo& host);

}  // namespace burnish

#endif  // WORKER_RUNNER_RUN_DEVICE_H_
