#include "worker/runner/checker_sandbox.h"

#include <cstdint>

#include "base/sandbox.h"
#include "base/sanitized.h"
#include "worker/runner/runner_wire.h"

namespace burnish {
namespace {

// Ten tensors at the oracle's bound (2^28 elements, 9 bytes each), and as much again for the tasks
// that are kept. For what a hostile workload might make of it; the kernel's own limit is the
// memory. Not tuned.
constexpr int64_t kAddressSpaceBytes = int64_t{64} << 30;

}  // namespace

std::string EnterCheckerSandbox() {
  CloseDescriptorsFrom(kOutputsDescriptor + 1);
  return EnterSandbox({.profile = SandboxOptions::Profile::kRun,
                       .address_space_bytes = kAddressSpaceBytes,
                       // It writes to pipes only; the file is the runners' to write.
                       .file_size_bytes = 1,
                       // Where the kernel has no filters this is what keeps files shut. A sanitizer
                       // opens some of its own.
                       .open_files = kSanitized ? 0 : kOutputsDescriptor + 1});
}

}  // namespace burnish
