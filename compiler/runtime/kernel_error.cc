#include "compiler/runtime/kernel_error.h"

#include <string>

#include "compiler/runtime/host_call.h"
#include "compiler/runtime/kernel_abi.h"

namespace burnish {

RuntimeStatus KernelError(const std::string& where, int32_t code) {
  const std::string suffix = " (code " + std::to_string(code) + ")";
  switch (code) {
    case BURNISH_KERNEL_INDEX_OUT_OF_BOUNDS:
      return RuntimeStatus(RuntimeCode::kOutOfRange,
                           where + ": an index input is out of bounds" + suffix);
    case BURNISH_KERNEL_DIVISION_BY_ZERO:
      return RuntimeStatus(RuntimeCode::kInvalidArgument,
                           where + ": integer division by zero" + suffix);
    case kHostCallOutOfMemory:
      return RuntimeStatus(RuntimeCode::kResourceExhausted, where + ": no memory" + suffix);
    case kHostValueOutOfRange:
      return RuntimeStatus(
          RuntimeCode::kInvalidArgument,
          where + ": an input has a value that the operator does not allow" + suffix);
    default:
      return RuntimeStatus(RuntimeCode::kInternal, where + ": the kernel failed" + suffix);
  }
}

}  // namespace burnish
