#include "worker/runner/cold_arena.h"

#include <sys/mman.h>

#include <cerrno>

namespace burnish {
namespace {

constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;
// Of <linux/mman.h>; the C library's header may be older than the kernel.
constexpr int kMadviseCollapse = 25;

}  // namespace

RuntimeOr<ColdArena> ColdArena::Map(int descriptor, int64_t size_bytes) {
  ColdArena arena;
  if (size_bytes <= 0) return arena;
  const auto size = static_cast<uint64_t>(size_bytes);
  // Address space for one huge page more leaves room to begin at a multiple.
  void* const room = mmap(nullptr, size + kHugePageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
                          /*fd=*/-1, 0);
  if (room == MAP_FAILED) return ErrnoStatus("mapping the arena of cold constants", errno);
  arena.mapping_ = {static_cast<uint8_t*>(room), size + kHugePageBytes};
  uint8_t* const aligned =
      arena.mapping_.data() + -reinterpret_cast<uintptr_t>(room) % kHugePageBytes;
  // Not populated: whoever takes a part maps that part, so that no page fault is timed. A process
  // cannot hand its page tables to the next, so each candidate pays for its own part.
  if (mmap(aligned, size, PROT_READ, MAP_SHARED | MAP_FIXED, descriptor, 0) == MAP_FAILED) {
    return ErrnoStatus("mapping the arena of cold constants", errno);
  }
  arena.bytes_ = {aligned, size};
  return arena;
}

void ColdArena::UseHugePages(int descriptor, int64_t size_bytes) {
  const RuntimeOr<ColdArena> arena = Map(descriptor, size_bytes);
  if (!arena.ok() || arena->bytes().empty()) return;
  madvise(arena->bytes().data(), arena->bytes().size(), kMadviseCollapse);
}

ColdArena::~ColdArena() {
  if (!mapping_.empty()) munmap(mapping_.data(), mapping_.size());
}

}  // namespace burnish
