// A small shared object as the compiler's linker lays one out, written field by field, so that a
// test can make any of its fields lie.
#ifndef COMPILER_RUNTIME_ELF_FOR_TESTS_H_
#define COMPILER_RUNTIME_ELF_FOR_TESTS_H_

#include <elf.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace burnish {

// The file is packed: three segments (tables, code, data) that lie one page apart in memory. Two
// functions, burnish_kernel_0 and burnish_pack_0, and one pointer that is relocated.
struct ElfForTests {
  // `code`: of both functions. Needs no more than 256 bytes.
  explicit ElfForTests(std::span<const uint8_t> code = {});

  enum Segment { kTables = 0, kCode = 1, kData = 2, kDynamic = 3, kStack = 4, kSegmentCount = 5 };
  static constexpr uint64_t kPageBytes = 4096;
  static constexpr uint64_t kPointerOffset = 0;  // Of the data.

  Elf64_Ehdr header = {};
  std::vector<Elf64_Phdr> segments;
  std::vector<Elf64_Sym> symbols;  // The first is none.
  std::vector<std::string> names;  // Of the symbols.
  std::vector<Elf64_Rela> relocations;
  std::vector<Elf64_Dyn> dynamic;  // Ends with DT_NULL.
  std::vector<uint32_t> hash;      // Of one bucket.

  Elf64_Dyn& Entry(Elf64_Sxword tag);

  // The file of these fields; no field is mended.
  std::vector<uint8_t> Bytes() const;

 private:
  std::vector<uint8_t> code_;
};

// Machine code of a function that ends the process with this exit code, by the system call.
std::vector<uint8_t> CodeThatExits(uint8_t exit_code);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_ELF_FOR_TESTS_H_
