#include "compiler/runtime/guarded_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string>

#include "compiler/runtime/kernel_manifest.h"

namespace burnish {
namespace {

constexpr uint64_t kPageBytes = 4096;
// Below this huge pages are not asked for: they hold no whole one.
constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;
// All ones is a NaN in every float type, and -1 or 255 among integers: a value that a kernel leaves
// out shows whatever the type is.
constexpr uint8_t kNanByte = 0xff;

bool AllNan(std::span<const uint8_t> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == kNanByte; });
}

}  // namespace

uint64_t GuardedBuffer::FileBytes(uint64_t size_bytes) {
  return std::max<uint64_t>((size_bytes + kPageBytes - 1) / kPageBytes, 1) * kPageBytes;
}

uint64_t GuardedBuffer::BaseInFile(uint64_t size_bytes, uint32_t alignment_bytes) {
  // As near to the guard page at the end as the alignment allows: reading one element too far is
  // the common mistake. The gap that is left is canary.
  return (FileBytes(size_bytes) - size_bytes) / alignment_bytes * alignment_bytes;
}

RuntimeOr<GuardedBuffer> GuardedBuffer::Allocate(const GuardedBufferOptions& options) {
  if (!std::has_single_bit(options.alignment_bytes) || options.alignment_bytes > kPageBytes ||
      options.shared_offset_bytes % kPageBytes != 0) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument,
                         "got alignment " + std::to_string(options.alignment_bytes) +
                             " and file offset " + std::to_string(options.shared_offset_bytes));
  }
  if (options.size_bytes > kMemoryBytesMax) {
    return RuntimeStatus(RuntimeCode::kResourceExhausted, "got a buffer above 1 TiB");
  }
  const uint64_t inner = FileBytes(options.size_bytes);
  const bool is_shared = options.shared_descriptor >= 0;
  const bool is_huge = !is_shared && inner >= kHugePageBytes;
  const uint64_t mapped = inner + 2 * kPageBytes + (is_huge ? kHugePageBytes : 0);
  // The guards are what is left without access of one mapping, so that nothing else can move in.
  void* base = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, /*fd=*/-1, 0);
  if (base == MAP_FAILED) return ErrnoStatus("allocating a guarded buffer", errno);
  uint8_t* first = static_cast<uint8_t*>(base) + kPageBytes;
  // The end, at the guard, lies between two huge pages; what is before the first whole one is small
  // pages.
  if (is_huge) first += -reinterpret_cast<uintptr_t>(first + inner) % kHugePageBytes;
  GuardedBuffer buffer({static_cast<uint8_t*>(base), mapped}, {first, inner},
                       {first + BaseInFile(options.size_bytes, options.alignment_bytes),
                        static_cast<size_t>(options.size_bytes)});
  void* pages =
      is_shared ? mmap(first, inner, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                       options.shared_descriptor, static_cast<off_t>(options.shared_offset_bytes))
                : mmap(first, inner, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, /*fd=*/-1, 0);
  if (pages == MAP_FAILED) return ErrnoStatus("allocating a guarded buffer", errno);
  // A request, as in huge_page_arena.cc: a fault for each small page of a layer's weights takes
  // longer than to fill them.
  if (is_huge) madvise(first, inner, MADV_HUGEPAGE);
  // The whole of the pages: what lies around the buffer tells later whether it was written to.
  std::memset(first, kNanByte, inner);
  return buffer;
}

GuardedBuffer::~GuardedBuffer() {
  if (!mapping_.empty()) munmap(mapping_.data(), mapping_.size());
}

void GuardedBuffer::FillWithNan() { std::fill(bytes_.begin(), bytes_.end(), kNanByte); }

bool GuardedBuffer::CanariesIntact() const {
  const size_t before = bytes_.data() - accessible_.data();
  return AllNan(accessible_.first(before)) && AllNan(accessible_.subspan(before + bytes_.size()));
}

}  // namespace burnish
