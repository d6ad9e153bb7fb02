// Machine code of a shared library as instructions, for tests.
#ifndef COMPILER_CODEGEN_LLVM_DISASSEMBLER_H_
#define COMPILER_CODEGEN_LLVM_DISASSEMBLER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace burnish {

struct MachineInstruction {
  std::string mnemonic;  // "vfmadd231ps"
  std::string operands;  // AT&T syntax.
  // By the first byte that is no legacy prefix.
  enum class Encoding { kLegacy, kVex, kEvex } encoding = Encoding::kLegacy;
};

// Every instruction of an x86-64 ELF file's executable segments. INVALID_ARGUMENT for bytes that
// are no instruction.
absl::StatusOr<std::vector<MachineInstruction>> Disassemble(const std::vector<uint8_t>& elf);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_LLVM_DISASSEMBLER_H_
