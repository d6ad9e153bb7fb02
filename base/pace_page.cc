#include "base/pace_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/unique_fd.h"

namespace burnish {

PacePage* MapPacePage(const char* path, bool writes) {
  if (path == nullptr || path[0] == '\0') return nullptr;
  const UniqueFd file(open(path, (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC));
  return MapPacePage(file.get(), writes);
}

PacePage* MapPacePage(int descriptor, bool writes) {
  struct stat status;
  // A file that is shorter would end this process at the first look.
  if (descriptor < 0 || fstat(descriptor, &status) != 0 ||
      status.st_size < static_cast<off_t>(sizeof(PacePage))) {
    return nullptr;
  }
  void* const memory = mmap(nullptr, sizeof(PacePage), PROT_READ | (writes ? PROT_WRITE : 0),
                            MAP_SHARED, descriptor, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<PacePage*>(memory);
}

uint64_t PaceMark::Now() {
  if (page_ == nullptr) return 0;
  constexpr uint64_t kRunning = uint64_t{1} << 63;
  if (page_->running.load() != 0) return kRunning | ++looks_;
  return (uint64_t{page_->begun.load()} << 31 ^ page_->stops.load()) & ~kRunning;
}

}  // namespace burnish
