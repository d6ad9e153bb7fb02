#include "compiler/runtime/elf_image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "compiler/runtime/kernel_abi.h"

namespace burnish {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
constexpr uint64_t kRelative = R_X86_64_RELATIVE, kIndirectRelative = R_X86_64_IRELATIVE;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
constexpr uint64_t kRelative = R_AARCH64_RELATIVE, kIndirectRelative = R_AARCH64_IRELATIVE;
#else
#error "name this machine's ELF code here"
#endif

// Far above any bundle's code. The bound keeps a damaged header from taking the address space.
constexpr uint64_t kImageBytesMax = uint64_t{1} << 30;
// Linkers write seven to ten.
constexpr int kHeadersMax = 64;
// A huge page; no section of generated code asks for more than a page.
constexpr uint64_t kAlignmentMax = uint64_t{2} << 20;

RuntimeStatus Refused(const std::string& text) {
  return RuntimeStatus(RuntimeCode::kDataLoss, "refused machine code: " + text);
}

bool Inside(uint64_t offset, uint64_t size, uint64_t whole) {
  return offset <= whole && size <= whole - offset;
}

// The caller has checked that the bytes are there. memcpy: they need not be aligned.
template <typename T>
T At(std::span<const uint8_t> bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

uint64_t PageEnd(uint64_t address, uint64_t page_bytes) {
  return (address + page_bytes - 1) / page_bytes * page_bytes;
}

RuntimeOr<Elf64_Ehdr> ReadHeader(std::span<const uint8_t> file) {
  if (file.size() < sizeof(Elf64_Ehdr)) return Refused("too short for an ELF header");
  const auto header = At<Elf64_Ehdr>(file, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return Refused("not an ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_ident[EI_VERSION] != EV_CURRENT || header.e_version != EV_CURRENT ||
      header.e_type != ET_DYN || header.e_machine != kMachine) {
    return Refused("not a 64-bit shared object for this machine");
  }
  if (header.e_phnum > kHeadersMax)
    return Refused("it has more program headers than a linker writes");
  if (header.e_phentsize != sizeof(Elf64_Phdr) ||
      !Inside(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr), file.size())) {
    return Refused("its program headers lie outside of the file");
  }
  return header;
}

// Of the headers that say nothing of memory to load.
RuntimeStatus CheckOtherHeader(const Elf64_Phdr& header) {
  switch (header.p_type) {
    case PT_NULL:
    case PT_PHDR:
    case PT_NOTE:
    case PT_GNU_EH_FRAME:
    case PT_GNU_PROPERTY:
    case PT_GNU_RELRO:  // Everything is read-only in the end.
      return RuntimeStatus();
    case PT_GNU_STACK:
      return header.p_flags & PF_X ? Refused("it wants an executable stack") : RuntimeStatus();
    case PT_TLS:
      return Refused("it has thread-local storage");
    case PT_INTERP:
      return Refused("it names an interpreter");
    default:
      return Refused("a program header of the unknown type " + std::to_string(header.p_type));
  }
}

// nullptr: it is on the allow list.
const char* WhatIsWrongWith(const Elf64_Dyn& entry) {
  const uint64_t value = entry.d_un.d_val;
  switch (entry.d_tag) {
    case DT_GNU_HASH:
    case DT_STRTAB:
    case DT_STRSZ:
    case DT_SYMTAB:
    case DT_SYMENT:
    case DT_RELA:
    case DT_RELASZ:
    case DT_RELAENT:
    case DT_RELACOUNT:
    case DT_SONAME:
      return nullptr;
    case DT_FLAGS:
      if (value & DF_TEXTREL) return "it relocates its code";
      return value & ~uint64_t{DF_BIND_NOW} ? "its flags" : nullptr;
    case DT_FLAGS_1:
      return value & ~uint64_t{DF_1_NOW} ? "its flags" : nullptr;
    case DT_NEEDED:
      return "it needs another library";
    case DT_INIT:
    case DT_FINI:
    case DT_INIT_ARRAY:
    case DT_FINI_ARRAY:
    case DT_PREINIT_ARRAY:
      return "it has constructors or destructors";
    case DT_TEXTREL:
      return "it relocates its code";
    case DT_PLTGOT:
    case DT_JMPREL:
    case DT_PLTREL:
    case DT_PLTRELSZ:
      return "it calls functions through a linkage table";
    case DT_REL:
      return "its relocations have no addends";
    case DT_VERSYM:
    case DT_VERNEED:
    case DT_VERDEF:
      return "its symbols have versions";
    default:
      return "an unknown entry of its dynamic table";
  }
}

// How many symbols there are; what says so is the end of the last chain.
RuntimeOr<uint64_t> CountSymbols(std::span<const uint8_t> hash) {
  const RuntimeStatus damaged = Refused("its hash table is damaged");
  constexpr uint64_t kHeaderBytes = 16, kBloomWordBytes = 8, kWordBytes = 4;
  if (hash.size() < kHeaderBytes) return damaged;
  const uint64_t bucket_count = At<uint32_t>(hash, 0), first = At<uint32_t>(hash, 4);
  const uint64_t buckets = kHeaderBytes + At<uint32_t>(hash, 8) * kBloomWordBytes;
  const uint64_t chains = buckets + bucket_count * kWordBytes;  // Of 32 bits each: no overflow.
  if (chains > hash.size()) return damaged;
  uint64_t last = 0;
  for (uint64_t i = 0; i < bucket_count; ++i) {
    last = std::max<uint64_t>(last, At<uint32_t>(hash, buckets + i * kWordBytes));
  }
  if (last == 0) return first;  // It exports nothing.
  if (last < first) return damaged;
  while (true) {
    const uint64_t chain = chains + (last - first) * kWordBytes;
    if (!Inside(chain, kWordBytes, hash.size())) return damaged;
    ++last;
    if (At<uint32_t>(hash, chain) & 1) return last;
  }
}

// Empty: it does not end in the table.
std::string NameAt(std::span<const uint8_t> names, uint64_t offset) {
  if (offset >= names.size()) return "";
  const std::span<const uint8_t> rest = names.subspan(offset);
  const auto end = std::find(rest.begin(), rest.end(), 0);
  return end == rest.end() ? "" : std::string(rest.begin(), end);
}

// The names of the kernel ABI (kernel_abi.h), and no second spelling of one.
bool IsNameOfTheAbi(std::string_view name) {
  constexpr size_t kDigitsMax = 9;
  for (const std::string_view prefix : {BURNISH_KERNEL_PREFIX, BURNISH_PACK_PREFIX}) {
    if (!name.starts_with(prefix)) continue;
    const std::string_view number = name.substr(prefix.size());
    return !number.empty() && number.size() <= kDigitsMax && (number == "0" || number[0] != '0') &&
           number.find_first_not_of("0123456789") == std::string_view::npos;
  }
  return false;
}

// Empty: it is a function that others may call.
std::string WhatIsWrongWith(const Elf64_Sym& symbol) {
  if (symbol.st_shndx == SHN_UNDEF) return "is not in it";
  switch (ELF64_ST_TYPE(symbol.st_info)) {
    case STT_FUNC:
      break;
    case STT_GNU_IFUNC:
      return "is chosen by code of its own (IFUNC)";
    case STT_TLS:
      return "is thread-local";
    default:
      return "is no function";
  }
  return ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL ? "" : "is not global";
}

}  // namespace

// Addresses and sizes as the dynamic table gives them; zero where it does not.
struct ElfImage::Tables {
  std::optional<uint64_t> hash, names, names_bytes, symbols, symbol_bytes;
  std::optional<uint64_t> relocations, relocations_bytes, relocation_bytes;

  // Null: nobody asks.
  std::optional<uint64_t>* Of(Elf64_Sxword tag) {
    switch (tag) {
      case DT_GNU_HASH:
        return &hash;
      case DT_STRTAB:
        return &names;
      case DT_STRSZ:
        return &names_bytes;
      case DT_SYMTAB:
        return &symbols;
      case DT_SYMENT:
        return &symbol_bytes;
      case DT_RELA:
        return &relocations;
      case DT_RELASZ:
        return &relocations_bytes;
      case DT_RELAENT:
        return &relocation_bytes;
      default:
        return nullptr;
    }
  }
};

RuntimeOr<ElfImage> ElfImage::Read(std::span<const uint8_t> file, uint64_t page_bytes) {
  RUNTIME_ASSIGN_OR_RETURN(const Elf64_Ehdr header, ReadHeader(file));
  ElfImage image;
  image.alignment_bytes_ = page_bytes;
  std::optional<Elf64_Phdr> dynamic;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    const auto one = At<Elf64_Phdr>(file, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (one.p_type == PT_LOAD) {
      RUNTIME_RETURN_IF_ERROR(image.AddSegment(one, file, page_bytes));
    } else if (one.p_type == PT_DYNAMIC) {
      if (dynamic.has_value()) return Refused("two dynamic tables");
      dynamic = one;
    } else {
      RUNTIME_RETURN_IF_ERROR(CheckOtherHeader(one));
    }
  }
  if (image.size_bytes_ == 0 || !dynamic.has_value()) return Refused("nothing to load");
  RUNTIME_RETURN_IF_ERROR(image.SetDynamic(*dynamic));
  return image;
}

RuntimeStatus ElfImage::AddSegment(const Elf64_Phdr& header, std::span<const uint8_t> file,
                                   uint64_t page_bytes) {
  if (!Inside(header.p_offset, header.p_filesz, file.size()) ||
      !Inside(header.p_vaddr, header.p_memsz, kImageBytesMax) || header.p_filesz > header.p_memsz) {
    return Refused("a segment lies outside of the file");
  }
  if ((header.p_flags & PF_W) && (header.p_flags & PF_X)) {
    return Refused("a segment is writable and executable");
  }
  const uint64_t alignment = std::max<uint64_t>(header.p_align, 1);
  if ((alignment & (alignment - 1)) != 0 || alignment > kAlignmentMax) {
    return Refused("the alignment of a segment");
  }
  const uint64_t first_page = header.p_vaddr / page_bytes * page_bytes;
  if (segments_.empty() && first_page != 0) {
    return Refused("its first segment does not begin at address 0");
  }
  // Whole pages have one protection, so segments that share one cannot have theirs.
  if (first_page < size_bytes_) return Refused("its segments overlap or are not in order");
  // Linkers place it so. What is not written is mapped and not copied.
  const bool is_writable = (header.p_flags & PF_W) != 0;
  if (!is_writable && (header.p_offset % page_bytes != header.p_vaddr % page_bytes ||
                       header.p_filesz != header.p_memsz)) {
    return Refused("a segment that cannot be mapped from the file");
  }
  alignment_bytes_ = std::max(alignment_bytes_, alignment);
  size_bytes_ = PageEnd(header.p_vaddr + header.p_memsz, page_bytes);
  segments_.push_back({.address = header.p_vaddr,
                       .memory_bytes = header.p_memsz,
                       .file_offset = header.p_offset,
                       .file_bytes = header.p_filesz,
                       .is_writable = is_writable,
                       .is_executable = (header.p_flags & PF_X) != 0});
  return RuntimeStatus();
}

RuntimeStatus ElfImage::SetDynamic(const Elf64_Phdr& header) {
  // What is read is what the segments load at the address. A header whose offset shows other bytes
  // of the file is made to deceive whoever looks there.
  const bool is_loaded =
      std::any_of(segments_.begin(), segments_.end(), [&](const ElfSegment& segment) {
        return header.p_vaddr >= segment.address &&
               Inside(header.p_vaddr - segment.address, header.p_memsz, segment.file_bytes) &&
               header.p_offset == segment.file_offset + (header.p_vaddr - segment.address);
      });
  if (!is_loaded || header.p_filesz != header.p_memsz) {
    return Refused("its dynamic table is not where its segments load it");
  }
  dynamic_address_ = header.p_vaddr;
  dynamic_bytes_ = header.p_memsz;
  return RuntimeStatus();
}

RuntimeOr<std::map<std::string, uint64_t>> ElfImage::Place(std::span<const uint8_t> file,
                                                           std::span<uint8_t> image) const {
  for (const ElfSegment& segment : segments_) {
    if (!Inside(segment.file_offset, segment.file_bytes, file.size()) ||
        !Inside(segment.address, segment.memory_bytes, image.size())) {
      return Refused("it is not the file that was read");
    }
    if (!segment.is_writable) continue;
    std::memcpy(image.data() + segment.address, file.data() + segment.file_offset,
                segment.file_bytes);
  }
  RUNTIME_ASSIGN_OR_RETURN(const Tables tables, ReadDynamic(image));
  // Before anything is relocated, so that no relocation changes what is read here.
  RUNTIME_ASSIGN_OR_RETURN(auto functions, Functions(tables, image));
  RUNTIME_RETURN_IF_ERROR(Relocate(tables, image));
  return functions;
}

std::span<const uint8_t> ElfImage::Rest(std::span<const uint8_t> image, uint64_t address) const {
  for (const ElfSegment& segment : segments_) {
    if (address < segment.address || address - segment.address >= segment.file_bytes) continue;
    return image.subspan(address, segment.address + segment.file_bytes - address);
  }
  return {};
}

RuntimeOr<ElfImage::Tables> ElfImage::ReadDynamic(std::span<const uint8_t> image) const {
  Tables tables;
  bool has_end = false;
  for (uint64_t at = 0; !has_end && Inside(at, sizeof(Elf64_Dyn), dynamic_bytes_);
       at += sizeof(Elf64_Dyn)) {
    const auto entry = At<Elf64_Dyn>(image, dynamic_address_ + at);
    has_end = entry.d_tag == DT_NULL;
    if (has_end) continue;
    if (const char* wrong = WhatIsWrongWith(entry); wrong != nullptr) return Refused(wrong);
    std::optional<uint64_t>* const value = tables.Of(entry.d_tag);
    if (value == nullptr) continue;
    if (value->has_value()) return Refused("its dynamic table says something twice");
    *value = entry.d_un.d_val;
  }
  if (!has_end) return Refused("its dynamic table has no end");
  if (!tables.hash || !tables.names || !tables.names_bytes || !tables.symbols ||
      tables.symbol_bytes != sizeof(Elf64_Sym)) {
    return Refused("it has no table of symbols");
  }
  return tables;
}

RuntimeOr<std::map<std::string, uint64_t>> ElfImage::Functions(
    const Tables& tables, std::span<const uint8_t> image) const {
  RUNTIME_ASSIGN_OR_RETURN(const uint64_t count, CountSymbols(Rest(image, *tables.hash)));
  const std::span<const uint8_t> symbols = Rest(image, *tables.symbols);
  const std::span<const uint8_t> rest = Rest(image, *tables.names);
  if (count > symbols.size() / sizeof(Elf64_Sym) || *tables.names_bytes > rest.size()) {
    return Refused("its table of symbols lies outside of its segments");
  }
  const std::span<const uint8_t> names = rest.first(*tables.names_bytes);
  std::map<std::string, uint64_t> functions;
  for (uint64_t i = 1; i < count; ++i) {  // Symbol 0 is none.
    const auto symbol = At<Elf64_Sym>(symbols, i * sizeof(Elf64_Sym));
    const std::string name = NameAt(names, symbol.st_name);
    if (name.empty()) return Refused("a symbol without a name");
    // Its name may hold anything, and is not repeated.
    if (!IsNameOfTheAbi(name)) return Refused("a symbol that is no kernel and packs for none");
    if (const std::string wrong = WhatIsWrongWith(symbol); !wrong.empty()) {
      return Refused("symbol " + name + " " + wrong);
    }
    const bool is_code =
        std::any_of(segments_.begin(), segments_.end(), [&](const ElfSegment& segment) {
          return segment.is_executable && symbol.st_value >= segment.address &&
                 symbol.st_value - segment.address < segment.file_bytes &&
                 Inside(symbol.st_value - segment.address, symbol.st_size, segment.file_bytes);
        });
    if (!is_code) return Refused("symbol " + name + " lies outside of its code");
    if (!functions.emplace(name, symbol.st_value).second) {
      return Refused("symbol " + name + " is there twice");
    }
  }
  return functions;
}

RuntimeStatus ElfImage::Relocate(const Tables& tables, std::span<uint8_t> image) const {
  if (!tables.relocations && !tables.relocations_bytes) return RuntimeStatus();
  if (!tables.relocations || !tables.relocations_bytes ||
      tables.relocation_bytes != sizeof(Elf64_Rela)) {
    return Refused("its table of relocations");
  }
  const std::span<const uint8_t> entries = Rest(image, *tables.relocations);
  if (*tables.relocations_bytes > entries.size() ||
      *tables.relocations_bytes % sizeof(Elf64_Rela) != 0) {
    return Refused("its table of relocations lies outside of its segments");
  }
  for (uint64_t at = 0; at < *tables.relocations_bytes; at += sizeof(Elf64_Rela)) {
    const auto entry = At<Elf64_Rela>(entries, at);
    if (ELF64_R_TYPE(entry.r_info) == kIndirectRelative) {
      return Refused("a relocation by code of its own (IRELATIVE)");
    }
    if (entry.r_info != ELF64_R_INFO(0, kRelative)) return Refused("a relocation by a symbol");
    const bool may_be_written =
        std::any_of(segments_.begin(), segments_.end(), [&](const ElfSegment& segment) {
          return segment.is_writable && entry.r_offset >= segment.address &&
                 Inside(entry.r_offset - segment.address, sizeof(uint64_t), segment.memory_bytes);
        });
    if (!may_be_written) return Refused("it relocates what is not to be written");
    const auto addend = static_cast<uint64_t>(entry.r_addend);
    if (addend > image.size()) return Refused("a relocation to outside of it");
    const uint64_t value = reinterpret_cast<uintptr_t>(image.data()) + addend;
    std::memcpy(image.data() + entry.r_offset, &value, sizeof(value));
  }
  return RuntimeStatus();
}

}  // namespace burnish
