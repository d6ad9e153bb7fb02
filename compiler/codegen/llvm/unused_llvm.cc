// Parts of LLVM that lld asks for, for bitcode that it might be given, answered with nothing: it is
// given ELF files only. Were these found in LLVM's archives, a builder would have the code
// generators of twenty CPUs and Polly; the code generator that it has is llvm_backend.cc's to
// register.
#include <cstdint>
#include <random>

#include "llvm/Passes/PassPlugin.h"

// In every list below, but not to be answered here.
#define LLVMInitializeX86TargetInfo BurnishUnusedTargetInfo
#define LLVMInitializeX86Target BurnishUnusedTarget
#define LLVMInitializeX86TargetMC BurnishUnusedTargetMC
#define LLVMInitializeX86AsmPrinter BurnishUnusedAsmPrinter
#define LLVMInitializeX86AsmParser BurnishUnusedAsmParser

#define LLVM_TARGET(name)                    \
  void LLVMInitialize##name##TargetInfo() {} \
  void LLVMInitialize##name##Target() {}     \
  void LLVMInitialize##name##TargetMC() {}
#define LLVM_ASM_PRINTER(name) \
  void LLVMInitialize##name##AsmPrinter() {}
#define LLVM_ASM_PARSER(name) \
  void LLVMInitialize##name##AsmParser() {}

extern "C" {

#include "llvm/Config/AsmParsers.def"
#include "llvm/Config/AsmPrinters.def"
#include "llvm/Config/Targets.def"

// LLVM's names of temporary files. The C library has it from 2.36 on: the one thing for which a
// builder would not start on older systems.
uint32_t arc4random() { return std::random_device()(); }

}  // extern "C"

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "no Polly", "", [](llvm::PassBuilder&) {}};
}
