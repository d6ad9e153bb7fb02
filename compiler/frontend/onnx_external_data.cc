#include "compiler/frontend/onnx_external_data.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"

namespace burnish {
namespace {

absl::Status Refused(const std::string& location, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("external data '", location, "': ", why,
                   "; it must be a plain file inside the model's own folder"));
}

}  // namespace

absl::StatusOr<OnnxExternalData::File> OnnxExternalData::Open(const std::string& location) {
  if (folder_.empty()) return Refused(location, "this model was not read from a folder");
  if (location.empty()) return Refused(location, "the location is empty");
  if (location.find('\0') != std::string::npos) return Refused(location, "holds a zero byte");
  if (location[0] == '/') return Refused(location, "the path is absolute");
  // Component by component with O_NOFOLLOW, and not by the whole path: a model from elsewhere must
  // not read files of the user through a link, nor through a folder that becomes one meanwhile.
  const std::vector<std::string> parts = absl::StrSplit(location, '/');
  UniqueFd at(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (at.get() < 0) {
    return absl::NotFoundError(absl::StrCat("folder '", folder_, "': ", std::strerror(errno)));
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == "..") return Refused(location, "the path has '..'");
    if (parts[i].empty() || parts[i] == ".") continue;
    const bool last = i + 1 == parts.size();
    // O_NONBLOCK: opening a pipe must not wait for a writer.
    const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (last ? 0 : O_DIRECTORY);
    const int fd = openat(at.get(), parts[i].c_str(), flags);
    if (fd < 0) {
      if (errno == ELOOP || errno == ENOTDIR) return Refused(location, "it is a symbolic link");
      return absl::NotFoundError(
          absl::StrCat("external data '", location, "': ", std::strerror(errno)));
    }
    at.Reset(fd);
  }
  struct stat info;
  if (fstat(at.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return Refused(location, "it is not a plain file");
  }
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0) return File{};
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, at.get(), 0);
  if (memory == MAP_FAILED) {
    return absl::InternalError(absl::StrCat("mmap '", location, "': ", std::strerror(errno)));
  }
  return File{.owner = std::shared_ptr<const void>(
                  memory, [size](const void* p) { munmap(const_cast<void*>(p), size); }),
              .bytes = {static_cast<const uint8_t*>(memory), size}};
}

absl::StatusOr<ConstantPtr> OnnxExternalData::Read(const std::string& location, int64_t offset,
                                                   int64_t size_bytes) {
  // Each file is mapped once: a model's weights are usually one file and many tensors.
  auto found = files_.find(location);
  if (found == files_.end()) {
    ASSIGN_OR_RETURN(File file, Open(location));
    found = files_.emplace(location, std::move(file)).first;
  }
  const File& file = found->second;
  const auto file_size = static_cast<int64_t>(file.bytes.size());
  if (offset < 0 || size_bytes < 0 || offset > file_size || size_bytes > file_size - offset) {
    return absl::InvalidArgumentError(absl::StrCat("external data '", location, "': got offset ",
                                                   offset, " and length ", size_bytes,
                                                   ", the file has ", file_size, " bytes"));
  }
  return std::make_shared<ConstantData>(file.owner, file.bytes.subspan(offset, size_bytes));
}

}  // namespace burnish
