// The CPU backend: x86-64 machine code by LLVM 19, one shared library per batch of kernels.
#ifndef COMPILER_CODEGEN_LLVM_LLVM_BACKEND_H_
#define COMPILER_CODEGEN_LLVM_LLVM_BACKEND_H_

#include <memory>
#include <string>

#include "compiler/codegen/backend.h"

namespace burnish {

struct LlvmBackendOptions {
  // The linker's output lives here for a moment.
  std::string temporary_folder = "/tmp";
};

// One process may hold several, used in turn: the linker has global state, and LLVM's command line
// is one. A process may fork between calls. The target must have sse4.1; of other features any
// subset will do.
std::unique_ptr<Backend> MakeLlvmBackend(LlvmBackendOptions options = {});

// Of the library that this program uses: "19.1.7".
std::string LlvmVersion();

}  // namespace burnish

#endif  // COMPILER_CODEGEN_LLVM_LLVM_BACKEND_H_
