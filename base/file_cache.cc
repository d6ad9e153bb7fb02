#include "base/file_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/sha256.h"

namespace burnish {
namespace {

namespace fs = std::filesystem;

// In front of each value: tells a whole file from one that was cut or changed.
constexpr absl::string_view kMagic = "burnish-cache/1\n";
constexpr size_t kDigestSize = 64;
constexpr size_t kHeaderSize = kMagic.size() + kDigestSize + 1;  // A line's end.
constexpr char kSuffix[] = ".value";
// Evicting makes so much room at once, so that it is not done at each call.
constexpr double kFilledAfterwards = 0.8;

bool IsOurs(const std::string& folder) {
  struct stat info;
  return stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

struct Entry {
  fs::path path;
  fs::file_time_type used;
  int64_t bytes = 0;
};

}  // namespace

std::string FileCache::PathOf(absl::string_view key) const {
  return absl::StrCat(folder_, "/", Sha256Hex(key), kSuffix);
}

std::optional<std::string> FileCache::Get(absl::string_view key) const {
  if (!IsOurs(folder_)) return std::nullopt;
  const std::string path = PathOf(key);
  absl::StatusOr<std::string> file = ReadFile(path, bytes_max_);
  if (!file.ok() || file->size() < kHeaderSize || !absl::StartsWith(*file, kMagic)) {
    return std::nullopt;
  }
  const absl::string_view value = absl::string_view(*file).substr(kHeaderSize);
  if (absl::string_view(*file).substr(kMagic.size(), kDigestSize) != Sha256Hex(value)) {
    return std::nullopt;
  }
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // Used now, for Evict.
  return std::string(value);
}

void FileCache::Put(absl::string_view key, absl::string_view value) const {
  if (static_cast<int64_t>(value.size()) > bytes_max_ / 4) return;
  std::error_code error;
  if (!fs::exists(folder_, error)) {
    fs::create_directories(folder_, error);
    fs::permissions(folder_, fs::perms::owner_all, error);
  }
  if (!IsOurs(folder_)) return;
  const absl::Status written =
      WriteFileAtomically(PathOf(key), absl::StrCat(kMagic, Sha256Hex(value), "\n", value));
  if (written.ok()) Evict();
}

void FileCache::Evict() const {
  std::vector<Entry> entries;
  int64_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator file(folder_, error), end; file != end; file.increment(error)) {
    // Others may remove files meanwhile; half-written ones are not counted.
    if (file->path().extension() != kSuffix) continue;
    Entry entry{.path = file->path(), .used = file->last_write_time(error)};
    if (!error) entry.bytes = static_cast<int64_t>(file->file_size(error));
    if (error) continue;
    bytes += entry.bytes;
    entries.push_back(std::move(entry));
  }
  if (bytes <= bytes_max_) return;
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  const auto target = static_cast<int64_t>(kFilledAfterwards * static_cast<double>(bytes_max_));
  for (const Entry& entry : entries) {
    if (bytes <= target) return;
    fs::remove(entry.path, error);
    bytes -= entry.bytes;
  }
}

}  // namespace burnish
