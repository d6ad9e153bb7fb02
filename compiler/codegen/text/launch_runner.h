// Runs launches on what stands for a device, for tests.
#ifndef COMPILER_CODEGEN_TEXT_LAUNCH_RUNNER_H_
#define COMPILER_CODEGEN_TEXT_LAUNCH_RUNNER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/codegen/text/launch_text.h"
#include "compiler/ir/interpreter.h"

namespace burnish {

// Memory of the host that a launch reads and writes.
using LaunchArgument = absl::Span<uint8_t>;

// A device that has been given the text.
class LaunchDevice {
 public:
  virtual ~LaunchDevice() = default;
  // The launch's buffers, then the four bytes of its error code. Returns when it has ended.
  virtual absl::Status Run(const TextLaunch& launch,
                           const std::vector<LaunchArgument>& arguments) = 0;
};

// Like Interpret: `text` was printed from `program`, and `device` has it. Outputs and temporaries
// start as NaN. OUT_OF_RANGE for an error code other than 0.
absl::StatusOr<std::vector<TensorValue>> RunLaunches(const Program& program, const LaunchText& text,
                                                     const std::vector<TensorValue>& arguments,
                                                     LaunchDevice& device);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_TEXT_LAUNCH_RUNNER_H_
