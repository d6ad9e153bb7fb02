// Whole files in and out, and temporary folders. Errors name the path and the system's cause.
#ifndef BASE_FILE_H_
#define BASE_FILE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/unique_fd.h"

namespace burnish {

// The whole file. Errors: NOT_FOUND, PERMISSION_DENIED, FAILED_PRECONDITION for a folder,
// INVALID_ARGUMENT when it holds more than `limit_bytes` (a file that grows or is no regular file
// is read no further than that).
absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t limit_bytes);

// All or nothing, also when power fails: written beside `path`, synced, renamed over it, folder
// synced. Leaves nothing behind on an error. RESOURCE_EXHAUSTED when the disk is full.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view bytes);

// A folder of this process alone (mode 0700), removed with its content when this goes.
class TempDir {
 public:
  // `parent`: empty for the system's temporary folder (TMPDIR or /tmp).
  static absl::StatusOr<TempDir> Create(absl::string_view prefix, const std::string& parent = "");
  // For a process that may be killed: locks the folder as long as it lives, and first removes
  // those of the same prefix whose process has died. `prefix` is this program's alone.
  static absl::StatusOr<TempDir> CreateLocked(absl::string_view prefix,
                                              const std::string& parent = "");
  TempDir(TempDir&& other) noexcept;
  TempDir& operator=(TempDir&& other) noexcept;
  ~TempDir();

  // Absolute if `parent` is, no slash at the end.
  const std::string& path() const { return path_; }

 private:
  explicit TempDir(std::string path, UniqueFd lock = {})
      : path_(std::move(path)), lock_(std::move(lock)) {}
  void Remove();

  std::string path_;  // Empty after a move.
  UniqueFd lock_;     // Of the folder itself; not valid: it has none.
};

}  // namespace burnish

#endif  // BASE_FILE_H_
