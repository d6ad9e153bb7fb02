#include "compiler/runtime/shared_object.h"

#include <linux/prctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "compiler/runtime/elf_image.h"

namespace burnish {
namespace {

RuntimeStatus Protect(std::span<uint8_t> image, const ElfSegment& segment, int protection,
                      uint64_t page_bytes) {
  const uint64_t first = segment.address / page_bytes * page_bytes;
  const uint64_t size = segment.address + segment.memory_bytes - first;
  if (mprotect(image.data() + first, size, protection) == 0) return RuntimeStatus();
  return ErrnoStatus("protecting machine code", errno);
}

// At once, where the kernel can (Linux 5.14): a fault for each page that is copied to takes a
// quarter of the load.
void Populate(std::span<uint8_t> image, const ElfSegment& segment, uint64_t page_bytes) {
#ifdef MADV_POPULATE_WRITE
  const uint64_t first = segment.address / page_bytes * page_bytes;
  madvise(image.data() + first, segment.address + segment.file_bytes - first, MADV_POPULATE_WRITE);
#endif
}

}  // namespace

RuntimeOr<SharedObject> SharedObject::Load(std::span<const uint8_t> elf) {
  const auto page_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  RUNTIME_ASSIGN_OR_RETURN(const ElfImage layout, ElfImage::Read(elf, page_bytes));
  // Address space for one alignment more leaves room to begin at a multiple.
  const uint64_t reserved = layout.size_bytes() + layout.alignment_bytes();
  void* const memory = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return ErrnoStatus("mapping machine code", errno);
  SharedObject object;
  object.mapping_ = {static_cast<uint8_t*>(memory), reserved};
#ifdef PR_SET_VMA
  // For people: /proc/PID/maps and profilers show the name. Before Linux 5.17 there is none.
  prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, memory, reserved, "burnish-kernels");
#endif
  const std::span<uint8_t> image(
      object.mapping_.data() + -reinterpret_cast<uintptr_t>(memory) % layout.alignment_bytes(),
      layout.size_bytes());
  for (const ElfSegment& segment : layout.segments()) {
    RUNTIME_RETURN_IF_ERROR(Protect(image, segment, PROT_READ | PROT_WRITE, page_bytes));
    Populate(image, segment, page_bytes);
  }
  RUNTIME_ASSIGN_OR_RETURN(object.functions_, layout.Place(elf, image));
  for (auto& [name, address] : object.functions_) {
    address += reinterpret_cast<uintptr_t>(image.data());
  }
  for (const ElfSegment& segment : layout.segments()) {
    // What could be written was, by relocations: the ABI knows no globals.
    const int protection = PROT_READ | (segment.is_executable ? PROT_EXEC : 0);
    RUNTIME_RETURN_IF_ERROR(Protect(image, segment, protection, page_bytes));
  }
  // For machines whose instruction caches do not see writes; nothing on x86-64.
  __builtin___clear_cache(reinterpret_cast<char*>(image.data()),
                          reinterpret_cast<char*>(image.data() + image.size()));
  return object;
}

SharedObject::~SharedObject() {
  if (!mapping_.empty()) munmap(mapping_.data(), mapping_.size());
}

RuntimeOr<BurnishKernel> SharedObject::Kernel(const std::string& symbol) const {
  const auto found = functions_.find(symbol);
  if (found == functions_.end()) {
    return RuntimeStatus(RuntimeCode::kNotFound, "the machine code does not export " + symbol);
  }
  return reinterpret_cast<BurnishKernel>(found->second);
}

}  // namespace burnish
