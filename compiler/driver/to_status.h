// Errors of the runtime as absl's, whose numbers they have.
#ifndef COMPILER_DRIVER_TO_STATUS_H_
#define COMPILER_DRIVER_TO_STATUS_H_

#include "absl/status/status.h"
#include "compiler/runtime/runtime_status.h"

namespace burnish {

inline absl::Status ToStatus(const RuntimeStatus& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.code()), status.message());
}

}  // namespace burnish

#endif  // COMPILER_DRIVER_TO_STATUS_H_
