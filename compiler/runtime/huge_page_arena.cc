#include "compiler/runtime/huge_page_arena.h"

#include <sys/mman.h>

#include <cerrno>
#include <string>

#include "compiler/runtime/kernel_manifest.h"

namespace burnish {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;

}  // namespace

RuntimeOr<HugePageArena> HugePageArena::Allocate(uint64_t size_bytes) {
  if (size_bytes == 0) return HugePageArena();
  if (size_bytes > 2 * kMemoryBytesMax) {
    return RuntimeStatus(RuntimeCode::kResourceExhausted,
                         "got a request for " + std::to_string(size_bytes) + " bytes");
  }
  const bool is_huge = size_bytes >= kHugePageBytes;
  const uint64_t unit = is_huge ? kHugePageBytes : kPageBytes;
  const uint64_t rounded = (size_bytes + unit - 1) / unit * unit;
  // mmap aligns to small pages. One huge page more leaves room to begin at a multiple.
  const uint64_t mapped = is_huge ? rounded + kHugePageBytes : rounded;
  void* base =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, /*fd=*/-1, 0);
  if (base == MAP_FAILED) {
    return ErrnoStatus("allocating " + std::to_string(size_bytes) + " bytes", errno);
  }
  const uint64_t skipped = is_huge ? -reinterpret_cast<uintptr_t>(base) % kHugePageBytes : 0;
  uint8_t* aligned = static_cast<uint8_t*>(base) + skipped;
  // A request: without huge pages the arena works as well, only slower.
  if (is_huge) madvise(aligned, rounded, MADV_HUGEPAGE);
  return HugePageArena({static_cast<uint8_t*>(base), mapped}, {aligned, size_bytes});
}

HugePageArena::~HugePageArena() {
  if (!mapping_.empty()) munmap(mapping_.data(), mapping_.size());
}

}  // namespace burnish
