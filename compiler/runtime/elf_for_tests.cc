#include "compiler/runtime/elf_for_tests.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace burnish {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
constexpr uint32_t kRelative = R_X86_64_RELATIVE;
#else
constexpr uint16_t kMachine = EM_AARCH64;
constexpr uint32_t kRelative = R_AARCH64_RELATIVE;
#endif

// Where things lie in the file; room for a few more entries than there are.
constexpr uint64_t kSymbolsAt = 0x200, kHashAt = 0x380, kNamesAt = 0x400, kRelocationsAt = 0x500;
constexpr uint64_t kTablesBytes = 0x600, kCodeAt = 0x600, kCodeBytes = 0x100, kDataAt = 0x700;
constexpr uint64_t kDynamicAt = kDataAt + 0x10, kDynamicBytes = 0x130;
constexpr uint64_t kFileBytes = kDynamicAt + kDynamicBytes;

// Addresses: as lld has them, each segment one page further than its offset.
constexpr uint64_t kCodeAddress = kCodeAt + ElfForTests::kPageBytes;
constexpr uint64_t kDataAddress = kDataAt + 2 * ElfForTests::kPageBytes;
constexpr uint64_t kDynamicAddress = kDynamicAt + 2 * ElfForTests::kPageBytes;

Elf64_Phdr SegmentOf(uint32_t type, uint32_t flags, uint64_t offset, uint64_t address,
                     uint64_t bytes, uint64_t alignment) {
  return {.p_type = type,
          .p_flags = flags,
          .p_offset = offset,
          .p_vaddr = address,
          .p_paddr = address,
          .p_filesz = bytes,
          .p_memsz = bytes,
          .p_align = alignment};
}

// As the C library's loader looks names up: what it would find, ours must refuse.
uint32_t GnuHash(const std::string& name) {
  uint32_t hash = 5381;
  for (const char character : name) hash = hash * 33 + static_cast<uint8_t>(character);
  return hash;
}

template <typename T>
void Put(const std::vector<T>& values, uint64_t offset, uint64_t bytes_max,
         std::vector<uint8_t>& file) {
  CHECK(values.size() * sizeof(T) <= bytes_max);
  const auto* const bytes = reinterpret_cast<const uint8_t*>(values.data());
  std::copy(bytes, bytes + values.size() * sizeof(T),
            file.begin() + static_cast<ptrdiff_t>(offset));
}

}  // namespace

ElfForTests::ElfForTests(std::span<const uint8_t> code) : code_(code.begin(), code.end()) {
  CHECK(code_.size() <= kCodeBytes / 2);
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = kMachine;
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof(Elf64_Ehdr);
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = kSegmentCount;
  segments = {
      SegmentOf(PT_LOAD, PF_R, 0, 0, kTablesBytes, kPageBytes),
      SegmentOf(PT_LOAD, PF_R | PF_X, kCodeAt, kCodeAddress, kCodeBytes, kPageBytes),
      SegmentOf(PT_LOAD, PF_R | PF_W, kDataAt, kDataAddress, kFileBytes - kDataAt, kPageBytes),
      SegmentOf(PT_DYNAMIC, PF_R | PF_W, kDynamicAt, kDynamicAddress, kDynamicBytes, 8),
      SegmentOf(PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 0)};
  const auto function = [](uint32_t name, uint64_t address) {
    return Elf64_Sym{.st_name = name,
                     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                     .st_other = STV_DEFAULT,
                     .st_shndx = 7,
                     .st_value = address,
                     .st_size = kCodeBytes / 2};
  };
  names = {"", "burnish_kernel_0", "burnish_pack_0"};
  symbols = {Elf64_Sym{}, function(1, kCodeAddress), function(18, kCodeAddress + kCodeBytes / 2)};
  // Of one bucket and a filter that lets all pass; the last hash of the chain is odd.
  hash = {/*buckets=*/1,
          /*first=*/1,
          /*bloom words=*/1,
          /*shift=*/26,
          ~0U,
          ~0U,
          /*bucket=*/1,
          GnuHash(names[1]) & ~1U,
          GnuHash(names[2]) | 1};
  relocations = {{.r_offset = kDataAddress + kPointerOffset,
                  .r_info = ELF64_R_INFO(0, kRelative),
                  .r_addend = kSymbolsAt}};
  const auto entry = [](Elf64_Sxword tag, uint64_t value) {
    return Elf64_Dyn{.d_tag = tag, .d_un = {.d_val = value}};
  };
  dynamic = {entry(DT_FLAGS, DF_BIND_NOW),
             entry(DT_FLAGS_1, DF_1_NOW),
             entry(DT_RELA, kRelocationsAt),
             entry(DT_RELASZ, sizeof(Elf64_Rela)),
             entry(DT_RELAENT, sizeof(Elf64_Rela)),
             entry(DT_RELACOUNT, 1),
             entry(DT_SYMTAB, kSymbolsAt),
             entry(DT_SYMENT, sizeof(Elf64_Sym)),
             entry(DT_STRTAB, kNamesAt),
             entry(DT_STRSZ, 0x80),
             entry(DT_GNU_HASH, kHashAt),
             entry(DT_NULL, 0)};
}

Elf64_Dyn& ElfForTests::Entry(Elf64_Sxword tag) {
  for (Elf64_Dyn& entry : dynamic) {
    if (entry.d_tag == tag) return entry;
  }
  CHECK(false) << "no such entry";
  return dynamic[0];
}

std::vector<uint8_t> ElfForTests::Bytes() const {
  std::vector<uint8_t> file(kFileBytes);
  Put(std::vector<Elf64_Ehdr>{header}, 0, sizeof(header), file);
  Put(segments, sizeof(header), kSymbolsAt - sizeof(header), file);
  Put(symbols, kSymbolsAt, kHashAt - kSymbolsAt, file);
  Put(hash, kHashAt, kNamesAt - kHashAt, file);
  std::vector<uint8_t> text;
  for (const std::string& name : names) {
    text.insert(text.end(), name.begin(), name.end());
    text.push_back(0);
  }
  Put(text, kNamesAt, kRelocationsAt - kNamesAt, file);
  Put(relocations, kRelocationsAt, kTablesBytes - kRelocationsAt, file);
  Put(code_, kCodeAt, kCodeBytes / 2, file);
  Put(code_, kCodeAt + kCodeBytes / 2, kCodeBytes / 2, file);
  Put(dynamic, kDynamicAt, kDynamicBytes, file);
  return file;
}

std::vector<uint8_t> CodeThatExits(uint8_t exit_code) {
#if defined(__x86_64__)
  return {0xbf, exit_code, 0, 0, 0,  // mov edi, exit_code
          0xb8, 231,       0, 0, 0,  // mov eax, exit_group
          0x0f, 0x05};               // syscall
#else
  const uint32_t move = 0xd2800000 | uint32_t{exit_code} << 5;  // mov x0, exit_code
  const uint32_t code[] = {move, 0xd2800ba8, 0xd4000001};       // mov x8, exit_group; svc 0
  const auto* const bytes = reinterpret_cast<const uint8_t*>(code);
  return {bytes, bytes + sizeof(code)};
#endif
}

}  // namespace burnish
