#include "compiler/runtime/shared_object.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "compiler/runtime/elf_image.h"

namespace burnish {
namespace {

// linux/memfd.h, of which Debian 12 has an older one. Some systems allow no other files of memory;
// it forbids to execute one as a program, and not to map it as code.
constexpr unsigned kNoExecSeal = 8;

UniqueFd FileOfMemory() {
  constexpr const char kName[] = "burnish-kernels";  // For people: profilers show it.
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  UniqueFd file(memfd_create(kName, kFlags | kNoExecSeal));
  // Before Linux 6.3.
  if (!file.valid() && errno == EINVAL) return UniqueFd(memfd_create(kName, kFlags));
  return file;
}

// Unmaps when it goes.
class Mapping {
 public:
  explicit Mapping(std::span<uint8_t> bytes) : bytes_(bytes) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
  }
  std::span<uint8_t> bytes() const { return bytes_; }

 private:
  std::span<uint8_t> bytes_;
};

// All pages that `segment` has a part of.
std::span<uint8_t> PagesOf(const ElfSegment& segment, std::span<uint8_t> image,
                           uint64_t page_bytes) {
  const uint64_t first = segment.address / page_bytes * page_bytes;
  return image.subspan(first, segment.address + segment.memory_bytes - first);
}

RuntimeStatus Protect(std::span<uint8_t> pages, int protection) {
  if (mprotect(pages.data(), pages.size(), protection) == 0) return RuntimeStatus();
  return ErrnoStatus("protecting machine code", errno);
}

RuntimeStatus MapFromFile(const ElfSegment& segment, std::span<uint8_t> pages, int descriptor,
                          uint64_t page_bytes) {
  const uint64_t offset = segment.file_offset / page_bytes * page_bytes;
  const int protection = PROT_READ | (segment.is_executable ? PROT_EXEC : 0);
  // At once: a fault for each page takes longer. The sandbox allows code with these flags alone.
  constexpr int kFlags = MAP_PRIVATE | MAP_FIXED | MAP_POPULATE;
  if (mmap(pages.data(), pages.size(), protection, kFlags, descriptor,
           static_cast<off_t>(offset)) != MAP_FAILED) {
    return RuntimeStatus();
  }
  return ErrnoStatus("mapping machine code", errno);
}

}  // namespace

RuntimeOr<SealedCode> SealedCode::Of(std::span<const uint8_t> elf) {
  UniqueFd file = FileOfMemory();
  if (!file.valid()) return ErrnoStatus("memfd_create", errno);
  for (size_t done = 0; done < elf.size();) {
    const ssize_t wrote = write(file.get(), elf.data() + done, elf.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return ErrnoStatus("writing machine code to memory", errno);
    done += static_cast<size_t>(wrote);
  }
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  if (fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) return ErrnoStatus("sealing", errno);
  return SealedCode(std::move(file), elf.size());
}

RuntimeOr<SharedObject> SharedObject::Load(std::span<const uint8_t> elf) {
  RUNTIME_ASSIGN_OR_RETURN(const SealedCode code, SealedCode::Of(elf));
  return Load(code);
}

RuntimeOr<SharedObject> SharedObject::Load(const SealedCode& code) {
  const auto page_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  // One byte more where there is none: nothing cannot be mapped, and nobody reads it.
  const uint64_t mapped_bytes = std::max<uint64_t>(code.size_bytes(), 1);
  // Private: before Linux 6.7 a sealed file cannot be mapped as shared.
  void* const whole = mmap(nullptr, mapped_bytes, PROT_READ, MAP_PRIVATE, code.descriptor(), 0);
  if (whole == MAP_FAILED) return ErrnoStatus("mapping machine code", errno);
  const Mapping mapped({static_cast<uint8_t*>(whole), mapped_bytes});
  const std::span<const uint8_t> elf = mapped.bytes().first(code.size_bytes());
  RUNTIME_ASSIGN_OR_RETURN(const ElfImage layout, ElfImage::Read(elf, page_bytes));
  // Address space for one alignment more leaves room to begin at a multiple.
  const uint64_t reserved = layout.size_bytes() + layout.alignment_bytes();
  void* const memory = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return ErrnoStatus("mapping machine code", errno);
  SharedObject object;
  object.mapping_ = {static_cast<uint8_t*>(memory), reserved};
  const std::span<uint8_t> image(
      object.mapping_.data() + -reinterpret_cast<uintptr_t>(memory) % layout.alignment_bytes(),
      layout.size_bytes());
  for (const ElfSegment& segment : layout.segments()) {
    if (segment.memory_bytes == 0) continue;  // Some linkers write such.
    const std::span<uint8_t> pages = PagesOf(segment, image, page_bytes);
    RUNTIME_RETURN_IF_ERROR(segment.is_writable
                                ? Protect(pages, PROT_READ | PROT_WRITE)
                                : MapFromFile(segment, pages, code.descriptor(), page_bytes));
  }
  RUNTIME_ASSIGN_OR_RETURN(object.functions_, layout.Place(elf, image));
  for (auto& [name, address] : object.functions_) {
    address += reinterpret_cast<uintptr_t>(image.data());
  }
  for (const ElfSegment& segment : layout.segments()) {
    // What could be written was, by relocations: the ABI knows no globals.
    if (!segment.is_writable) continue;
    RUNTIME_RETURN_IF_ERROR(Protect(PagesOf(segment, image, page_bytes), PROT_READ));
  }
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
