// The first OpenCL device of this machine, for tests: a CPU's by PoCL counts.
#ifndef COMPILER_CODEGEN_TEXT_OPENCL_DEVICE_H_
#define COMPILER_CODEGEN_TEXT_OPENCL_DEVICE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "compiler/codegen/text/launch_runner.h"

namespace burnish {

// UNAVAILABLE, and what to install, where there is no OpenCL or no device.
absl::Status FindOpenCl();

// `text`: in TextDialect::kOpenCl. INVALID_ARGUMENT with the driver's words where it does not
// compile; INTERNAL with the number of OpenCL's error where a launch fails.
absl::StatusOr<std::unique_ptr<LaunchDevice>> MakeOpenClDevice(const LaunchText& text);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_TEXT_OPENCL_DEVICE_H_
