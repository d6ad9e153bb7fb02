#include "compiler/runtime/shared_object.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "compiler/runtime/elf_for_tests.h"
#include "compiler/runtime/test_bundle.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kIndirect = R_X86_64_IRELATIVE, kGlobal = R_X86_64_GLOB_DAT;
constexpr uint32_t kRelative = R_X86_64_RELATIVE;
constexpr uint16_t kOtherMachine = EM_AARCH64;
#else
constexpr uint32_t kIndirect = R_AARCH64_IRELATIVE, kGlobal = R_AARCH64_GLOB_DAT;
constexpr uint32_t kRelative = R_AARCH64_RELATIVE;
constexpr uint16_t kOtherMachine = EM_X86_64;
#endif

struct Mapping {
  uint64_t begin = 0, end = 0;
  std::string protection;
};

// As the kernel has them: the oracle of what was mapped.
std::vector<Mapping> Mappings() {
  std::vector<Mapping> mappings;
  std::ifstream file("/proc/self/maps");
  for (std::string line; std::getline(file, line);) {
    Mapping& mapping = mappings.emplace_back();
    std::istringstream words(line);
    char dash = 0;
    words >> std::hex >> mapping.begin >> dash >> mapping.end >> mapping.protection;
  }
  return mappings;
}

std::string ProtectionAt(uint64_t address, const std::vector<Mapping>& mappings) {
  for (const Mapping& mapping : mappings) {
    if (address >= mapping.begin && address < mapping.end) return mapping.protection;
  }
  return "";
}

uint64_t AddressOf(const SharedObject& object, const std::string& symbol) {
  const RuntimeOr<BurnishKernel> kernel = object.Kernel(symbol);
  return kernel.ok() ? reinterpret_cast<uint64_t>(*kernel) : 0;
}

// What a loaded object may be, whatever the file: its functions lie in code, and what was mapped
// for it cannot be written.
void ExpectHarmless(const SharedObject& object, const std::string& what) {
  const std::vector<Mapping> mappings = Mappings();
  for (const Mapping& mapping : mappings) {
    EXPECT_TRUE(mapping.protection[1] == '-' || mapping.protection[2] == '-') << what;
  }
  for (const char* name : {"burnish_kernel_0", "burnish_pack_0"}) {
    const uint64_t address = AddressOf(object, name);
    EXPECT_TRUE(address == 0 || ProtectionAt(address, mappings) == "r-xp") << what;
  }
}

std::string Refusal(std::span<const uint8_t> bytes) {
  const RuntimeOr<SharedObject> object = SharedObject::Load(bytes);
  if (object.ok()) return "";
  EXPECT_EQ(object.status().code(), RuntimeCode::kDataLoss);
  constexpr const char kPrefix[] = "refused machine code: ";
  EXPECT_EQ(object.status().message().rfind(kPrefix, 0), 0u) << object.status().message();
  return object.status().message().substr(sizeof(kPrefix) - 1);
}

TEST(SharedObjectTest, EachSegmentHasItsProtectionAndPointersAreMoved) {
  const ElfForTests elf;
  const RuntimeOr<SharedObject> object = SharedObject::Load(elf.Bytes());
  ASSERT_TRUE(object.ok()) << object.status().message();
  ExpectHarmless(*object, "as it is");
  const std::vector<Mapping> mappings = Mappings();
  const uint64_t kernel = AddressOf(*object, "burnish_kernel_0");
  ASSERT_NE(kernel, 0u);
  const uint64_t base = kernel - elf.symbols[1].st_value;
  EXPECT_EQ(ProtectionAt(base, mappings), "r--p");
  const uint64_t pointer = base + elf.relocations[0].r_offset;
  EXPECT_EQ(ProtectionAt(pointer, mappings), "r--p");
  uint64_t moved = 0;
  std::memcpy(&moved, reinterpret_cast<const void*>(pointer), sizeof(moved));
  EXPECT_EQ(moved, base + static_cast<uint64_t>(elf.relocations[0].r_addend));
}

TEST(SharedObjectTest, CodeRunsAndIsGoneAfterwards) {
  uint64_t address = 0;
  {
    const RuntimeOr<SharedObject> object =
        SharedObject::Load(ElfForTests(CodeThatExits(7)).Bytes());
    ASSERT_TRUE(object.ok());
    address = AddressOf(*object, "burnish_pack_0");
    const RuntimeOr<BurnishKernel> kernel = object->Kernel("burnish_pack_0");
    EXPECT_EXIT((*kernel)(nullptr, 0, 1), ::testing::ExitedWithCode(7), "");
    EXPECT_EQ(object->Kernel("burnish_kernel_1").status().code(), RuntimeCode::kNotFound);
  }
  EXPECT_EQ(ProtectionAt(address, Mappings()), "");
}

struct Lie {
  const char* refusal;
  std::function<void(ElfForTests&)> tell;
};

void ExpectRefused(const std::vector<Lie>& lies) {
  for (const Lie& lie : lies) {
    ElfForTests elf(CodeThatExits(99));
    lie.tell(elf);
    EXPECT_EQ(Refusal(elf.Bytes()), lie.refusal);
  }
}

void AddEntry(ElfForTests& elf, Elf64_Sxword tag, uint64_t value) {
  elf.dynamic.insert(elf.dynamic.begin(), {.d_tag = tag, .d_un = {.d_val = value}});
}

// A table where the offset points that says what a checker wants to read.
void SplitTables(ElfForTests& elf) {
  elf.segments[ElfForTests::kDynamic].p_offset = elf.segments[ElfForTests::kData].p_offset - 0x100;
}

TEST(SharedObjectTest, CodeThatWouldRunOnItsOwnIsRefusedByName) {
  constexpr const char kConstructors[] = "it has constructors or destructors";
  constexpr const char kLinkage[] = "it calls functions through a linkage table";
  ExpectRefused({
      {"symbol burnish_kernel_0 is chosen by code of its own (IFUNC)",
       [](auto& elf) { elf.symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC); }},
      {"a relocation by code of its own (IRELATIVE)",
       [](auto& elf) { elf.relocations[0].r_info = ELF64_R_INFO(0, kIndirect); }},
      {kConstructors, [](auto& elf) { AddEntry(elf, DT_INIT, 0x1600); }},
      {kConstructors, [](auto& elf) { AddEntry(elf, DT_FINI, 0x1600); }},
      {kConstructors, [](auto& elf) { AddEntry(elf, DT_INIT_ARRAY, 0x2700); }},
      {kConstructors, [](auto& elf) { AddEntry(elf, DT_FINI_ARRAY, 0x2700); }},
      {kConstructors, [](auto& elf) { AddEntry(elf, DT_PREINIT_ARRAY, 0x2700); }},
      {"it needs another library", [](auto& elf) { AddEntry(elf, DT_NEEDED, 1); }},
      {kLinkage, [](auto& elf) { AddEntry(elf, DT_PLTGOT, 0x2700); }},
      {kLinkage, [](auto& elf) { AddEntry(elf, DT_JMPREL, 0x500); }},
      {"its dynamic table is not where its segments load it", SplitTables},
      {"its dynamic table is not where its segments load it",
       [](auto& elf) { elf.segments[ElfForTests::kDynamic].p_vaddr = 0x8000; }},
      {"two dynamic tables",
       [](auto& elf) { elf.segments[ElfForTests::kStack] = elf.segments[ElfForTests::kDynamic]; }},
  });
}

TEST(SharedObjectTest, CodeAndDataStayApart) {
  constexpr const char kNotWritten[] = "it relocates what is not to be written";
  constexpr const char kOrder[] = "its segments overlap or are not in order";
  constexpr const char kUnmapped[] = "a segment that cannot be mapped from the file";
  ExpectRefused({
      {"a segment is writable and executable",
       [](auto& elf) { elf.segments[ElfForTests::kCode].p_flags |= PF_W; }},
      {"a segment is writable and executable",
       [](auto& elf) { elf.segments[ElfForTests::kData].p_flags |= PF_X; }},
      {"it wants an executable stack",
       [](auto& elf) { elf.segments[ElfForTests::kStack].p_flags |= PF_X; }},
      {kNotWritten, [](auto& elf) { elf.relocations[0].r_offset = elf.symbols[1].st_value; }},
      {kNotWritten, [](auto& elf) { elf.relocations[0].r_offset = 0x200; }},
      {kNotWritten, [](auto& elf) { elf.relocations[0].r_offset = uint64_t{0} - 4; }},
      {kNotWritten,
       [](auto& elf) {  // The last byte but seven of the segment.
         const Elf64_Phdr& data = elf.segments[ElfForTests::kData];
         elf.relocations[0].r_offset = data.p_vaddr + data.p_memsz - 7;
       }},
      {"a relocation to outside of it",
       [](auto& elf) { elf.relocations[0].r_addend = int64_t{1} << 40; }},
      {"a relocation to outside of it", [](auto& elf) { elf.relocations[0].r_addend = -8; }},
      {"it relocates its code", [](auto& elf) { AddEntry(elf, DT_TEXTREL, 0); }},
      {"it relocates its code", [](auto& elf) { elf.Entry(DT_FLAGS).d_un.d_val |= DF_TEXTREL; }},
      {kOrder,
       [](auto& elf) {  // The data's page is the code's.
         elf.segments[ElfForTests::kData].p_vaddr -= ElfForTests::kPageBytes;
       }},
      {kUnmapped,
       [](auto& elf) { elf.segments[ElfForTests::kCode].p_memsz = 2 * ElfForTests::kPageBytes; }},
      {kUnmapped, [](auto& elf) { elf.segments[ElfForTests::kTables].p_memsz += 1; }},
      {kUnmapped, [](auto& elf) { elf.segments[ElfForTests::kCode].p_vaddr += 0x10; }},
      {kOrder,
       [](auto& elf) {
         std::swap(elf.segments[ElfForTests::kCode], elf.segments[ElfForTests::kData]);
       }},
      {"symbol burnish_kernel_0 lies outside of its code",
       [](auto& elf) { elf.symbols[1].st_value = 0x200; }},
      {"symbol burnish_kernel_0 lies outside of its code",
       [](auto& elf) { elf.symbols[1].st_value = uint64_t{0} - 1; }},
      {"symbol burnish_kernel_0 lies outside of its code",
       [](auto& elf) { elf.symbols[1].st_size = ~uint64_t{0}; }},
  });
}

// All tails of up to three of these behind each beginning.
TEST(SharedObjectTest, OnlyNamesOfTheKernelAbiAreLookedUp) {
  constexpr const char kOthers[] = {'0', '1', '9', '/', ':', '_', '-', '+', ' ', 'a', '\n', '\xb9'};
  std::vector<std::string> tails = {""};
  for (size_t i = 0; tails[i].size() < 3; ++i) {
    for (const char other : kOthers) tails.push_back(tails[i] + other);
  }
  for (const char* longer : {"123456789", "999999999", "1234567890", "4294967296", "0000000001"}) {
    tails.emplace_back(longer);
  }
  const std::regex abi("burnish_(kernel|pack)_(0|[1-9][0-9]{0,8})");
  std::set<std::string> loaded;
  for (const std::string begin :
       {"burnish_kernel_", "burnish_pack_", "burnish_kernel", "Burnish_kernel_", "_burnish_kernel_",
        "burnish_", "memcpy", ""}) {
    for (const std::string& tail : tails) {
      ElfForTests elf;
      elf.names[2] = begin + tail;  // "burnish_kernel_0" is the other's.
      if (elf.names[2] == elf.names[1] || elf.names[2].empty()) continue;
      const bool want = std::regex_match(elf.names[2], abi);
      EXPECT_EQ(Refusal(elf.Bytes()), want ? "" : "a symbol that is no kernel and packs for none")
          << elf.names[2];
      if (want) loaded.insert(elf.names[2]);
    }
  }
  // 1 + 2 * 1 + 2 * 3 + 2 * 9 indices, two long ones; one is taken.
  EXPECT_EQ(loaded.size(), 2 * 29 - 1);
}

TEST(SharedObjectTest, WhatTheKernelsDoNotNeedIsRefused) {
  ExpectRefused({
      {"symbol burnish_kernel_0 is not in it",
       [](auto& elf) { elf.symbols[1].st_shndx = SHN_UNDEF; }},
      {"symbol burnish_kernel_0 is thread-local",
       [](auto& elf) { elf.symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS); }},
      {"symbol burnish_kernel_0 is no function",
       [](auto& elf) { elf.symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT); }},
      {"symbol burnish_kernel_0 is not global",
       [](auto& elf) { elf.symbols[1].st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC); }},
      {"symbol burnish_kernel_0 is there twice", [](auto& elf) { elf.symbols[2].st_name = 1; }},
      {"a relocation by a symbol",
       [](auto& elf) { elf.relocations[0].r_info = ELF64_R_INFO(1, kGlobal); }},
      {"a relocation by a symbol",
       [](auto& elf) { elf.relocations[0].r_info = ELF64_R_INFO(1, kRelative); }},
      {"it has thread-local storage",
       [](auto& elf) { elf.segments[ElfForTests::kStack].p_type = PT_TLS; }},
      {"it names an interpreter",
       [](auto& elf) { elf.segments[ElfForTests::kStack].p_type = PT_INTERP; }},
      {"a program header of the unknown type 1879048192",
       [](auto& elf) { elf.segments[ElfForTests::kStack].p_type = PT_LOPROC; }},
      {"its flags", [](auto& elf) { elf.Entry(DT_FLAGS).d_un.d_val |= DF_STATIC_TLS; }},
      {"its flags", [](auto& elf) { elf.Entry(DT_FLAGS_1).d_un.d_val |= DF_1_NODELETE; }},
      {"its symbols have versions", [](auto& elf) { AddEntry(elf, DT_VERNEED, 0); }},
      {"its relocations have no addends", [](auto& elf) { AddEntry(elf, DT_REL, 0); }},
      {"an unknown entry of its dynamic table", [](auto& elf) { AddEntry(elf, DT_RELR, 0x500); }},
      {"an unknown entry of its dynamic table", [](auto& elf) { AddEntry(elf, DT_AUDIT, 1); }},
      {"not a 64-bit shared object for this machine",
       [](auto& elf) { elf.header.e_machine = kOtherMachine; }},
      {"not a 64-bit shared object for this machine",
       [](auto& elf) { elf.header.e_type = ET_EXEC; }},
      {"not a 64-bit shared object for this machine",
       [](auto& elf) { elf.header.e_ident[EI_CLASS] = ELFCLASS32; }},
      {"not a 64-bit shared object for this machine",
       [](auto& elf) { elf.header.e_ident[EI_DATA] = ELFDATA2MSB; }},
  });
}

TEST(SharedObjectTest, CountsAndSizesAreBounded) {
  constexpr const char kOutside[] = "a segment lies outside of the file";
  constexpr const char kHash[] = "its hash table is damaged";
  constexpr const char kSymbols[] = "its table of symbols lies outside of its segments";
  constexpr const char kRelocations[] = "its table of relocations lies outside of its segments";
  ExpectRefused({
      {"it has more program headers than a linker writes",
       [](auto& elf) { elf.header.e_phnum = 0xffff; }},
      {"its program headers lie outside of the file",
       [](auto& elf) { elf.header.e_phoff = ~uint64_t{0} - 3; }},
      {"nothing to load", [](auto& elf) { elf.header.e_phnum = 0; }},
      {kOutside, [](auto& elf) { elf.segments[0].p_filesz = ~uint64_t{0}; }},
      {kOutside, [](auto& elf) { elf.segments[0].p_offset = ~uint64_t{0}; }},
      {kOutside, [](auto& elf) { elf.segments[0].p_memsz = 0; }},
      {kOutside, [](auto& elf) { elf.segments[ElfForTests::kData].p_memsz = uint64_t{1} << 40; }},
      {kOutside, [](auto& elf) { elf.segments[ElfForTests::kData].p_vaddr = ~uint64_t{0}; }},
      {"the alignment of a segment", [](auto& elf) { elf.segments[0].p_align = 3; }},
      {"the alignment of a segment",
       [](auto& elf) { elf.segments[0].p_align = uint64_t{1} << 62; }},
      {"its first segment does not begin at address 0",
       [](auto& elf) { elf.segments.erase(elf.segments.begin()); }},
      {"its dynamic table has no end", [](auto& elf) { elf.dynamic.assign(19, elf.dynamic[0]); }},
      {"its dynamic table says something twice",
       [](auto& elf) { AddEntry(elf, DT_SYMTAB, 0x200); }},
      {"it has no table of symbols", [](auto& elf) { elf.Entry(DT_SYMENT).d_un.d_val = 0; }},
      {"it has no table of symbols",
       [](auto& elf) { elf.Entry(DT_GNU_HASH) = {.d_tag = DT_SONAME, .d_un = {.d_val = 1}}; }},
      {kHash, [](auto& elf) { elf.Entry(DT_GNU_HASH).d_un.d_val = ~uint64_t{0}; }},
      {kHash, [](auto& elf) { elf.hash[0] = ~0U; }},
      {kHash, [](auto& elf) { elf.hash[2] = ~0U; }},
      {kHash, [](auto& elf) { elf.hash[6] = ~0U; }},
      {kHash, [](auto& elf) { elf.hash[1] = 5; }},
      {kSymbols,
       [](auto& elf) {  // Nothing is exported, and 2^32 symbols are not.
         elf.hash[6] = 0;
         elf.hash[1] = ~0U;
       }},
      {kSymbols, [](auto& elf) { elf.Entry(DT_STRSZ).d_un.d_val = ~uint64_t{0}; }},
      {kSymbols, [](auto& elf) { elf.Entry(DT_SYMTAB).d_un.d_val = 0x9000; }},
      {"a symbol without a name", [](auto& elf) { elf.symbols[2].st_name = ~0U; }},
      {"a symbol without a name", [](auto& elf) { elf.Entry(DT_STRSZ).d_un.d_val = 4; }},
      {kRelocations, [](auto& elf) { elf.Entry(DT_RELASZ).d_un.d_val = ~uint64_t{0} / 24 * 24; }},
      {kRelocations, [](auto& elf) { elf.Entry(DT_RELASZ).d_un.d_val = 23; }},
      {kRelocations, [](auto& elf) { elf.Entry(DT_RELA).d_un.d_val = ~uint64_t{0}; }},
      {"its table of relocations", [](auto& elf) { elf.Entry(DT_RELAENT).d_un.d_val = 8; }},
  });
}

TEST(SharedObjectTest, TruncatedAnywhereIsRefused) {
  for (const std::vector<uint8_t>& whole : {ElfForTests().Bytes(), TestElf()}) {
    ASSERT_EQ(Refusal(whole), "");
    size_t loaded_bytes = 0;  // What lies behind it (section headers) nobody reads.
    Elf64_Ehdr header;
    std::memcpy(&header, whole.data(), sizeof(header));
    for (size_t i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr segment;
      std::memcpy(&segment, whole.data() + header.e_phoff + i * sizeof(segment), sizeof(segment));
      if (segment.p_type != PT_LOAD) continue;
      loaded_bytes = std::max<size_t>(loaded_bytes, segment.p_offset + segment.p_filesz);
    }
    for (size_t size = 0; size < loaded_bytes; ++size) {
      // Of its own size, so that a sanitizer sees a read behind the end.
      const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
      EXPECT_NE(Refusal(cut), "") << "cut at " << size;
    }
  }
}

// Values that arithmetic goes wrong at, and what points nearly or quite into the object.
uint64_t OddValue(std::mt19937_64& random) {
  constexpr uint64_t kValues[] = {0,
                                  1,
                                  8,
                                  0x18,
                                  0x1000,
                                  0x1600,
                                  0x2700,
                                  0x3fffffff,
                                  0x40000000,
                                  0x7fffffff,
                                  0x80000000,
                                  0xffffffff,
                                  uint64_t{1} << 63,
                                  ~uint64_t{0},
                                  ~uint64_t{0} - 0xfff};
  return kValues[random() % std::size(kValues)] + random() % 3;
}

std::vector<uint8_t> Mutated(std::vector<uint8_t> bytes, std::mt19937_64& random) {
  const int count = 1 + static_cast<int>(random() % 3);
  for (int i = 0; i < count; ++i) {
    // Mostly tables; they lie in front, and the dynamic table behind the code.
    const size_t at = random() % bytes.size();
    switch (random() % 4) {
      case 0:
        bytes[at] ^= static_cast<uint8_t>(1 << random() % 8);
        break;
      case 1:
        bytes[at] = static_cast<uint8_t>(random());
        break;
      case 2: {  // A field of 64 bits.
        const uint64_t value = OddValue(random);
        const size_t field = at / 8 * 8;
        std::memcpy(bytes.data() + field, &value, std::min<size_t>(8, bytes.size() - field));
        break;
      }
      default: {  // One of 32.
        const auto value = static_cast<uint32_t>(OddValue(random));
        const size_t field = at / 4 * 4;
        std::memcpy(bytes.data() + field, &value, std::min<size_t>(4, bytes.size() - field));
        break;
      }
    }
  }
  return bytes;
}

// Each is refused, or harmless as far as the kernel's tables say. Its code, which may be anything
// by now, is not called; where loading called it, the process would end with 99.
TEST(SharedObjectTest, TenThousandMutationsAreRefusedOrHarmless) {
  const std::vector<std::vector<uint8_t>> wholes = {ElfForTests(CodeThatExits(99)).Bytes(),
                                                    TestElf()};
  const size_t mapping_count = Mappings().size();
  int refused = 0, loaded = 0;
  for (uint64_t seed = 0; seed < 10'000; ++seed) {
    std::mt19937_64 random(seed);
    const std::vector<uint8_t> bytes = Mutated(wholes[seed % wholes.size()], random);
    const RuntimeOr<SharedObject> object = SharedObject::Load(bytes);
    (object.ok() ? loaded : refused) += 1;
    if (object.ok()) ExpectHarmless(*object, "seed " + std::to_string(seed));
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
  EXPECT_GT(refused, 2'000);
  EXPECT_GT(loaded, 2'000);
  // Refused ones leave nothing behind; the allocator may have grown meanwhile.
  EXPECT_LT(Mappings().size(), mapping_count + 10);
}

}  // namespace
}  // namespace burnish
