#include "compiler/codegen/llvm/disassembler.h"

#include <elf.h>

#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "llvm-c/Disassembler.h"
#include "llvm-c/Target.h"

namespace burnish {
namespace {

MachineInstruction::Encoding EncodingOf(const uint8_t* bytes) {
  // 66, F2, F3, segment overrides and REX.
  while (*bytes == 0x66 || *bytes == 0xf2 || *bytes == 0xf3 || *bytes == 0x2e ||
         (*bytes & 0xf0) == 0x40) {
    ++bytes;
  }
  if (*bytes == 0xc4 || *bytes == 0xc5) return MachineInstruction::Encoding::kVex;
  return *bytes == 0x62 ? MachineInstruction::Encoding::kEvex
                        : MachineInstruction::Encoding::kLegacy;
}

MachineInstruction Parse(absl::string_view text, const uint8_t* bytes) {
  text = absl::StripAsciiWhitespace(text);
  // What tells an assembler which of two encodings is meant; the bytes tell it here.
  if (absl::ConsumePrefix(&text, "{vex}")) text = absl::StripAsciiWhitespace(text);
  const size_t end = text.find_first_of(" \t");
  MachineInstruction instruction{.mnemonic = std::string(text.substr(0, end)),
                                 .encoding = EncodingOf(bytes)};
  if (end != absl::string_view::npos) {
    instruction.operands = std::string(absl::StripAsciiWhitespace(text.substr(end)));
  }
  return instruction;
}

}  // namespace

absl::StatusOr<std::vector<MachineInstruction>> Disassemble(const std::vector<uint8_t>& elf) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86Disassembler();
  const LLVMDisasmContextRef context =
      LLVMCreateDisasm("x86_64-unknown-linux-gnu", nullptr, 0, nullptr, nullptr);
  if (context == nullptr) return absl::InternalError("no disassembler");
  const absl::Cleanup dispose = [&] { LLVMDisasmDispose(context); };
  Elf64_Ehdr header;
  std::memcpy(&header, elf.data(), sizeof(header));
  std::vector<MachineInstruction> instructions;
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, elf.data() + header.e_phoff + i * sizeof(segment), sizeof(segment));
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    // LLVM takes the bytes as not const and leaves them alone.
    std::vector<uint8_t> code(
        elf.begin() + static_cast<int64_t>(segment.p_offset),
        elf.begin() + static_cast<int64_t>(segment.p_offset + segment.p_filesz));
    code.resize(code.size() + 16);  // Room for a look beyond the last prefix.
    for (size_t at = 0; at < segment.p_filesz;) {
      char text[256];
      const size_t size = LLVMDisasmInstruction(context, code.data() + at, segment.p_filesz - at,
                                                at, text, sizeof(text));
      if (size == 0) {
        return absl::InvalidArgumentError(absl::StrCat("no instruction at byte ", at));
      }
      instructions.push_back(Parse(text, code.data() + at));
      at += size;
    }
  }
  return instructions;
}

}  // namespace burnish
