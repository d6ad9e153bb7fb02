#include "base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"

namespace burnish {
namespace {

absl::Status Failed(absl::string_view what, absl::string_view path, int error) {
  return absl::ErrnoToStatus(error, absl::StrCat("cannot ", what, " ", path));
}

absl::Status WriteAll(int fd, absl::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return Failed("write", path, errno);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::Status WriteAndRename(int fd, absl::string_view bytes, const std::string& temporary,
                            const std::string& path) {
  RETURN_IF_ERROR(WriteAll(fd, bytes, path));
  if (fsync(fd) != 0) return Failed("sync", path, errno);
  if (rename(temporary.c_str(), path.c_str()) != 0) return Failed("replace", path, errno);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t limit_bytes) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return Failed("open", path, errno);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return Failed("read", path, errno);
  if (S_ISDIR(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat("cannot read ", path, ": it is a folder"));
  }
  std::string bytes;
  // One byte more than the limit tells a file that just fits from one that does not.
  const size_t most = static_cast<size_t>(limit_bytes) + 1;
  size_t size = 0;
  while (size < most) {
    constexpr size_t kPiece = 1 << 16;
    const size_t expected = static_cast<size_t>(std::max<off_t>(info.st_size, 0)) + 1;
    bytes.resize(std::min(most, std::max(expected, size + kPiece)));
    const ssize_t got = read(fd.get(), bytes.data() + size, bytes.size() - size);
    if (got < 0) {
      if (errno == EINTR) continue;
      return Failed("read", path, errno);
    }
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  if (size == most) {
    return absl::InvalidArgumentError(
        absl::StrCat("got more than ", limit_bytes, " bytes, want no more, in ", path));
  }
  bytes.resize(size);
  return bytes;
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view bytes) {
  static std::atomic<int> counter = 0;  // Two threads may write the same path.
  const std::string temporary = absl::StrCat(path, ".tmp-", getpid(), "-", counter++);
  UniqueFd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd.valid()) return Failed("write", path, errno);
  absl::Status written = WriteAndRename(fd.get(), bytes, temporary, path);
  if (!written.ok()) {
    unlink(temporary.c_str());
    return written;
  }
  const std::string folder = FolderOf(path);
  const UniqueFd folder_fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a folder (EINVAL): the rename is done, there is no more to do.
  if (folder_fd.valid() && fsync(folder_fd.get()) != 0 && errno != EINVAL) {
    return Failed("sync", folder, errno);
  }
  return absl::OkStatus();
}

namespace {

absl::StatusOr<std::string> TempParent(const std::string& parent) {
  std::error_code error;
  const std::string folder =
      parent.empty() ? std::filesystem::temp_directory_path(error).string() : parent;
  if (error) return Failed("find", "the temporary folder", error.value());
  return folder;
}

absl::StatusOr<std::string> MakeTempFolder(const std::string& parent, absl::string_view stem) {
  std::string path = absl::StrCat(parent, "/", stem, "XXXXXX");
  if (mkdtemp(path.data()) == nullptr) return Failed("make a folder in", parent, errno);
  return path;
}

// Not valid: somebody else has the lock, or there is no such folder of this user any more.
UniqueFd LockFolder(const std::string& path) {
  UniqueFd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat locked = {}, there = {};
  if (!folder.valid() || fstat(folder.get(), &locked) != 0 || locked.st_uid != geteuid() ||
      flock(folder.get(), LOCK_EX | LOCK_NB) != 0 || stat(path.c_str(), &there) != 0 ||
      there.st_ino != locked.st_ino) {
    return UniqueFd();
  }
  return folder;
}

void RemoveAbandoned(const std::string& parent, absl::string_view stem) {
  constexpr size_t kRandomBytes = 6;  // Of mkdtemp's template.
  std::error_code error, ignored;
  for (std::filesystem::directory_iterator entry(parent, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.size() != stem.size() + kRandomBytes || !absl::StartsWith(name, stem)) continue;
    const UniqueFd lock = LockFolder(entry->path().string());
    if (lock.valid()) std::filesystem::remove_all(entry->path(), ignored);
  }
}

}  // namespace

absl::StatusOr<TempDir> TempDir::Create(absl::string_view prefix, const std::string& parent) {
  ASSIGN_OR_RETURN(const std::string folder, TempParent(parent));
  ASSIGN_OR_RETURN(std::string path, MakeTempFolder(folder, absl::StrCat(prefix, ".")));
  return TempDir(std::move(path));
}

absl::StatusOr<TempDir> TempDir::CreateLocked(absl::string_view prefix, const std::string& parent) {
  ASSIGN_OR_RETURN(const std::string folder, TempParent(parent));
  // Another separator than Create's: those are never taken for abandoned.
  const std::string stem = absl::StrCat(prefix, "-");
  RemoveAbandoned(folder, stem);
  while (true) {
    ASSIGN_OR_RETURN(std::string path, MakeTempFolder(folder, stem));
    UniqueFd lock = LockFolder(path);
    if (lock.valid()) return TempDir(std::move(path), std::move(lock));
    // Somebody who cleans up was quicker than this lock, and removes it.
  }
}

TempDir::TempDir(TempDir&& other) noexcept
    : path_(std::exchange(other.path_, "")), lock_(std::move(other.lock_)) {}

TempDir& TempDir::operator=(TempDir&& other) noexcept {
  if (this != &other) {
    Remove();
    path_ = std::exchange(other.path_, "");
    lock_ = std::move(other.lock_);
  }
  return *this;
}

TempDir::~TempDir() { Remove(); }

void TempDir::Remove() {
  if (path_.empty()) return;
  // Nobody can act on a failure here, and a leftover in the temporary folder harms nobody.
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace burnish
