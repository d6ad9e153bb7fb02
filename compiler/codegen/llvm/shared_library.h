// From relocatable ELF objects to a shared library, with lld in this process.
#ifndef COMPILER_CODEGEN_LLVM_SHARED_LIBRARY_H_
#define COMPILER_CODEGEN_LLVM_SHARED_LIBRARY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace burnish {

// `objects`: the bytes of x86-64 object files. `folder`: where the linker may put its output for a
// moment. The result depends on the objects' bytes and order only. INTERNAL with the linker's words
// where they have undefined or double symbols or are broken; UNAVAILABLE where the folder cannot be
// written.
absl::StatusOr<std::vector<uint8_t>> LinkSharedLibrary(absl::Span<const std::string> objects,
                                                       const std::string& folder);

// Bytes of each symbol of an object; empty where the object is broken.
std::map<std::string, int64_t> FunctionSizes(const std::string& object);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_LLVM_SHARED_LIBRARY_H_
