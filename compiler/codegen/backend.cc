#include "compiler/codegen/backend.h"

#include <utility>

#include "base/status_macros.h"

namespace burnish {

absl::StatusOr<CompiledModule> Backend::Compile(const CodegenTarget& target,
                                                absl::Span<const KernelSource> sources) {
  ASSIGN_OR_RETURN(CompiledObject object, CompileObject(target, sources));
  CompiledModule module{.kernels = std::move(object.kernels)};
  ASSIGN_OR_RETURN(module.elf, Link({&object.elf, 1}));
  return module;
}

}  // namespace burnish
