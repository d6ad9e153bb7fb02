// From a relocatable ELF object to a shared library, with lld in this process.
#ifndef COMPILER_CODEGEN_LLVM_SHARED_LIBRARY_H_
#define COMPILER_CODEGEN_LLVM_SHARED_LIBRARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace burnish {

// `object`: the bytes of one x86-64 object file. `folder`: where the linker may put its output for
// a moment. The result depends on the object's bytes only. INTERNAL with the linker's words where
// the object has undefined symbols or is broken; UNAVAILABLE where the folder cannot be written.
absl::StatusOr<std::vector<uint8_t>> LinkSharedLibrary(absl::string_view object,
                                                       const std::string& folder);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_LLVM_SHARED_LIBRARY_H_
