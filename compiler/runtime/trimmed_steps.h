// Steps of which a run of smaller sizes needs a part. Internal to Session.
#ifndef COMPILER_RUNTIME_TRIMMED_STEPS_H_
#define COMPILER_RUNTIME_TRIMMED_STEPS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/runtime/bundle_manifest.h"
#include "compiler/runtime/control_walk.h"
#include "compiler/runtime/session_memory.h"

namespace burnish {

class TrimmedSteps {
 public:
  // Both must live as long as this.
  TrimmedSteps(const BundleManifest& manifest, const SessionMemory& memory)
      : manifest_(manifest), memory_(memory) {}

  // From now on steps do what a run of these sizes needs. Also fills the tables that tell kernels.
  void Trim(std::span<const int64_t> extents);

  // One worker's part of step number `step`, which is `planned`. Returns the kernel's code.
  int32_t Run(size_t step, const PlannedStep& planned, int worker, int worker_count) const;

 private:
  struct Trimmed {
    bool is_less = false;  // Not all iterations are needed.
    uint32_t iterations = 0;
    std::vector<uint32_t> needed;
  };

  const BundleManifest& manifest_;
  const SessionMemory& memory_;
  std::vector<Trimmed> trimmed_;  // By step; empty: none is ever trimmed.
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_TRIMMED_STEPS_H_
