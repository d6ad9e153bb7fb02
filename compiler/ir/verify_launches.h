// Whether a device can run a lowered program's launches.
#ifndef COMPILER_IR_VERIFY_LAUNCHES_H_
#define COMPILER_IR_VERIFY_LAUNCHES_H_

#include "absl/status/status.h"
#include "compiler/ir/program.h"
#include "compiler/target/device_model.h"

namespace burnish {

// `lowered`: verified. INVALID_ARGUMENT for a launch of more blocks or threads along an axis, of
// more threads in a block or of more shared memory than the device has, with both numbers; for
// bound loops on a device that runs no blocks; and for parallel loops on one that does.
absl::Status VerifyLaunches(const Program& lowered, const DeviceModel& device);

}  // namespace burnish

#endif  // COMPILER_IR_VERIFY_LAUNCHES_H_
