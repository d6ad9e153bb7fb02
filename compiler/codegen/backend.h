// What a code generator owes: machine code for a lowered program.
#ifndef COMPILER_CODEGEN_BACKEND_H_
#define COMPILER_CODEGEN_BACKEND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/ir/program.h"
#include "compiler/runtime/kernel_abi.h"

namespace burnish {

// The instruction set that code is made for; filled from a Target's text by the caller.
struct CodegenTarget {
  std::string triple = "x86_64-unknown-linux-gnu";
  std::string tune_cpu = "generic";   // Scheduling model only.
  std::vector<std::string> features;  // The complete list of allowed features ("avx2", "fma", ..).
};

struct KernelSource {
  std::string symbol = BURNISH_KERNEL_PREFIX "0";  // Exported name; loaders take those of the ABI.
  const Program* program;                          // Lowered.
};

// Exported name of the pack function that a kernel's program has.
std::string PackSymbol(absl::string_view kernel_symbol);

// Facts of one compiled kernel, in the order of the sources.
struct KernelInfo {
  std::string symbol;
  bool has_pack = false;
  // Parameter order of the call: inputs, constants, packed, outputs, each in the program's order.
  // The pack function takes constants, then packed.
  std::vector<std::string> buffer_names;
  std::vector<int64_t> buffer_bytes;  // Storage, border included.
  int64_t scratch_bytes = 0;          // Per worker.
  int64_t shared_scratch_bytes = 0;   // One for all workers: data that crosses phases.
  // Stores and loads of spilled registers: all of them, and those of vector registers inside
  // innermost loops. The latter make a kernel slow: a candidate that has them is kept, with the
  // count on its record. Spilled addresses cost little.
  int64_t spill_count = 0;
  int64_t innermost_spill_count = 0;
  int64_t code_bytes = 0;
};

struct CompiledObject {
  std::string elf;  // Relocatable, for Link.
  std::vector<KernelInfo> kernels;
};

struct CompiledModule {
  std::vector<uint8_t> elf;  // A shared library without undefined symbols.
  std::vector<KernelInfo> kernels;
};

class Backend {
 public:
  virtual ~Backend() = default;
  // One object with every kernel. INVALID_ARGUMENT for a target that the backend does not know,
  // INTERNAL where the generated module is broken. Deterministic: same input, same bytes. May run
  // in several threads at once.
  virtual absl::StatusOr<CompiledObject> CompileObject(
      const CodegenTarget& target, absl::Span<const KernelSource> sources) const = 0;
  // One shared library of the objects, in their order. Deterministic too. No other call may run
  // beside this one.
  virtual absl::StatusOr<std::vector<uint8_t>> Link(absl::Span<const std::string> objects) = 0;
  // Both steps for one object.
  absl::StatusOr<CompiledModule> Compile(const CodegenTarget& target,
                                         absl::Span<const KernelSource> sources);
  // Any point of the way as text: "llvm" or "asm" of LLVM, "c" of the text backend.
  virtual absl::StatusOr<std::string> Emit(const CodegenTarget& target, const KernelSource& source,
                                           absl::string_view form) = 0;
};

}  // namespace burnish

#endif  // COMPILER_CODEGEN_BACKEND_H_
