// A device of blocks and threads on one CPU, for tests: each thread of a block is a context of its
// own, which runs until it waits at a barrier. Orders of threads that a device might have show what
// a missing barrier spoils; shared memory is NaN before each block.
#ifndef COMPILER_CODEGEN_TEXT_EMULATOR_H_
#define COMPILER_CODEGEN_TEXT_EMULATOR_H_

#include <memory>

#include "absl/status/statusor.h"
#include "compiler/codegen/text/launch_runner.h"

namespace burnish {

// kShuffled: another order between any two barriers, by a fixed seed.
enum class ThreadOrder { kForward, kBackward, kShuffled };

// `text`: in TextDialect::kEmulated. A launch fails with INTERNAL where a thread ends while another
// one of its block waits. UNAVAILABLE without clang-19.
absl::StatusOr<std::unique_ptr<LaunchDevice>> MakeEmulator(const LaunchText& text,
                                                           ThreadOrder order);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_TEXT_EMULATOR_H_
