// Lowered programs as kernels for devices with blocks and threads: one text in three dialects.
//
// Each nest under the root is a launch. A loop that is bound becomes its thread's place; what
// stands outside of all loops over an axis is done by the axis' first thread; barriers stay. A
// window in registers is an array of each thread's, without the dimensions that threads own. A
// program without bound loops runs on one thread.
#ifndef COMPILER_CODEGEN_TEXT_LAUNCH_TEXT_H_
#define COMPILER_CODEGEN_TEXT_LAUNCH_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/backend.h"
#include "compiler/ir/launch.h"

namespace burnish {

enum class TextDialect { kOpenCl, kCuda, kEmulated };

struct TextLaunch {
  std::string symbol;
  Launch launch;
  // The arguments, in order: addresses of these buffers' allocations, temporaries among them, then
  // that of an i32 that is 0 and gets a code where there is a data error (kernel_abi.h).
  std::vector<BufferId> buffers;
};

struct LaunchText {
  std::string text;
  std::vector<TextLaunch> pack, kernel;  // In order; each sees what the one before has written.
};

// INVALID_ARGUMENT for what no such device does, with the kernel's name.
absl::StatusOr<LaunchText> PrintLaunches(const KernelSource& source, TextDialect dialect);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_TEXT_LAUNCH_TEXT_H_
