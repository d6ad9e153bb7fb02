#include "compiler/codegen/llvm/emit_state.h"

namespace burnish {

VarRanges EmitState::Ranges() const {
  return [this](VarId var) -> std::optional<Range> {
    const VarBinding& binding = vars[var];
    if (!binding.bound) return std::nullopt;
    if (binding.value != nullptr) return binding.range;
    const int64_t last = binding.constant + (var == vector_var ? lanes - 1 : 0);
    return Range{binding.constant, last};
  };
}

void EmitState::Fail(const std::string& message) {
  if (status.ok()) status = absl::InvalidArgumentError(message);
}

}  // namespace burnish
