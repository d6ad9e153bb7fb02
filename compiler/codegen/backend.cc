#include "compiler/codegen/backend.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace burnish {

std::string PackSymbol(absl::string_view kernel_symbol) {
  if (!absl::StartsWith(kernel_symbol, BURNISH_KERNEL_PREFIX)) {
    return absl::StrCat(kernel_symbol, "_pack");
  }
  return absl::StrCat(BURNISH_PACK_PREFIX, absl::StripPrefix(kernel_symbol, BURNISH_KERNEL_PREFIX));
}

absl::StatusOr<CompiledModule> Backend::Compile(const CodegenTarget& target,
                                                absl::Span<const KernelSource> sources) {
  ASSIGN_OR_RETURN(CompiledObject object, CompileObject(target, sources));
  CompiledModule module{.kernels = std::move(object.kernels)};
  ASSIGN_OR_RETURN(module.elf, Link({&object.elf, 1}));
  return module;
}

}  // namespace burnish
