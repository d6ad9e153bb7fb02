#include "compiler/runtime/shared_object.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace burnish {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
#error "name this machine's ELF code here"
#endif

// Far above any bundle's code. The bound keeps a damaged header from asking the loader for the
// whole address space.
constexpr uint64_t kImageBytesMax = uint64_t{1} << 30;

RuntimeStatus Refused(const std::string& text) {
  return RuntimeStatus(RuntimeCode::kDataLoss, "refused machine code: " + text);
}

bool Inside(uint64_t offset, uint64_t size, uint64_t whole) {
  return offset <= whole && size <= whole - offset;
}

// memcpy: the bytes need not be aligned.
template <typename T>
T At(std::span<const uint8_t> bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

RuntimeStatus CheckDynamicEntry(const Elf64_Dyn& entry) {
  switch (entry.d_tag) {
    // What our linker never writes is refused: code that runs at dlopen, before any check of a
    // kernel, and libraries by somebody else's name. This is against damage; hostile code needs a
    // sandbox (README.md).
    case DT_NEEDED:
      return Refused("it needs another library");
    case DT_INIT:
    case DT_FINI:
    case DT_INIT_ARRAY:
    case DT_FINI_ARRAY:
    case DT_PREINIT_ARRAY:
      return Refused("it has constructors or destructors");
    case DT_TEXTREL:
      return Refused("it relocates its code");
    case DT_FLAGS:
      if (entry.d_un.d_val & (DF_TEXTREL | DF_STATIC_TLS)) return Refused("its flags");
      break;
    case DT_FLAGS_1:
      // With NODELETE the loader would give the next artifact of the same path this one's code.
      if (entry.d_un.d_val & (DF_1_NODELETE | DF_1_GLOBAL | DF_1_PIE)) return Refused("its flags");
      break;
  }
  return RuntimeStatus();
}

RuntimeStatus CheckDynamicTable(std::span<const uint8_t> elf, const Elf64_Phdr& segment) {
  for (uint64_t i = 0; i < segment.p_filesz / sizeof(Elf64_Dyn); ++i) {
    const auto entry = At<Elf64_Dyn>(elf, segment.p_offset + i * sizeof(Elf64_Dyn));
    if (entry.d_tag == DT_NULL) return RuntimeStatus();
    RUNTIME_RETURN_IF_ERROR(CheckDynamicEntry(entry));
  }
  return Refused("its dynamic table has no end");
}

}  // namespace

RuntimeStatus CheckElf(std::span<const uint8_t> elf) {
  if (elf.size() < sizeof(Elf64_Ehdr)) return Refused("too short for an ELF header");
  const auto header = At<Elf64_Ehdr>(elf, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return Refused("not an ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_type != ET_DYN || header.e_machine != kMachine) {
    return Refused("not a 64-bit shared object for this machine");
  }
  if (header.e_phentsize != sizeof(Elf64_Phdr) ||
      !Inside(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr), elf.size())) {
    return Refused("its program headers lie outside of the file");
  }
  bool has_dynamic = false, has_load = false;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = At<Elf64_Phdr>(elf, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment.p_type == PT_TLS || segment.p_type == PT_INTERP) {
      return Refused("it has thread-local storage or an interpreter");
    }
    if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC) continue;
    if (!Inside(segment.p_offset, segment.p_filesz, elf.size()) ||
        !Inside(segment.p_vaddr, segment.p_memsz, kImageBytesMax) ||
        segment.p_filesz > segment.p_memsz) {
      return Refused("a segment lies outside of the file");
    }
    if (segment.p_type == PT_LOAD) {
      has_load = true;
    } else {
      if (has_dynamic) return Refused("two dynamic tables");
      has_dynamic = true;
      RUNTIME_RETURN_IF_ERROR(CheckDynamicTable(elf, segment));
    }
  }
  return has_load && has_dynamic ? RuntimeStatus() : Refused("nothing to load");
}

RuntimeOr<SharedObject> SharedObject::Load(std::span<const uint8_t> elf) {
  RUNTIME_RETURN_IF_ERROR(CheckElf(elf));
  // In memory: a file in a folder would need a name, a place to write, and somebody to remove it.
  const int descriptor = memfd_create("burnish-kernels", MFD_CLOEXEC);
  if (descriptor < 0) return ErrnoStatus("memfd_create", errno);
  SharedObject object(nullptr, descriptor);
  for (size_t done = 0; done < elf.size();) {
    const ssize_t wrote = write(descriptor, elf.data() + done, elf.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return ErrnoStatus("writing machine code to memory", errno);
    done += static_cast<size_t>(wrote);
  }
  // The descriptor stays open while the object is loaded: the loader takes an object with the same
  // path for the same object, and a closed descriptor's number, so its path, would be used again.
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  // NOW: a symbol that is missing fails here and not in a call. LOCAL: kernels of two bundles have
  // the same names.
  object.handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object.handle_ == nullptr) {
    const char* reason = dlerror();
    return Refused(reason == nullptr ? "dlopen failed" : reason);
  }
  return object;
}

SharedObject::~SharedObject() {
  if (handle_ != nullptr) dlclose(handle_);
  if (descriptor_ >= 0) close(descriptor_);
}

RuntimeOr<BurnishKernel> SharedObject::Kernel(const std::string& symbol) const {
  void* address = dlsym(handle_, symbol.c_str());
  if (address == nullptr) {
    return RuntimeStatus(RuntimeCode::kNotFound, "the machine code does not export " + symbol);
  }
  return reinterpret_cast<BurnishKernel>(address);
}

}  // namespace burnish
