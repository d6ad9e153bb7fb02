#include "compiler/runtime/runtime_status.h"

#include <cerrno>
#include <string>
#include <system_error>

namespace burnish {

RuntimeStatus ErrnoStatus(const std::string& text, int errno_value) {
  RuntimeCode code = RuntimeCode::kInternal;
  switch (errno_value) {
    case ENOENT:
    case ENOTDIR:
      code = RuntimeCode::kNotFound;
      break;
    case ENOMEM:
    case EAGAIN:
    case EMFILE:
    case ENFILE:
    case ENOSPC:
      code = RuntimeCode::kResourceExhausted;
      break;
    case EACCES:
    case EISDIR:
    case EINVAL:
      code = RuntimeCode::kInvalidArgument;
      break;
  }
  return RuntimeStatus(code, text + ": " + std::generic_category().message(errno_value));
}

}  // namespace burnish
