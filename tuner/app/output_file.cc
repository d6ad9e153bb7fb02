#include "tuner/app/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/unique_fd.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

absl::Status WriteDirectly(const std::string& path, absl::string_view bytes) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  while (!bytes.empty()) {
    const ssize_t written = write(fd.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteOutput(const std::string& path, absl::string_view bytes) {
  struct stat info;
  const bool special =
      stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
  const absl::Status status =
      special ? WriteDirectly(path, bytes) : WriteFileAtomically(path, bytes);
  const bool full = absl::IsResourceExhausted(status);
  return WithError(status, full ? ErrorCode::kDiskFull : ErrorCode::kOutputFile, path);
}

}  // namespace burnish
