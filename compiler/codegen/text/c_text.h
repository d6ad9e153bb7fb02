// Lowered programs as C: the text backend's printer. Without LLVM.
//
// The C subset is small so that a GPU's languages have it too: functions, counted loops, branches,
// arrays and arithmetic, under names that a dialect gives (c_helpers.h). The text stands alone: no
// header, no library. Vectorized, unrolled and tensorized loops are plain loops with a comment.
#ifndef COMPILER_CODEGEN_TEXT_C_TEXT_H_
#define COMPILER_CODEGEN_TEXT_C_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/codegen/backend.h"

namespace burnish {

struct CText {
  std::string text;
  std::vector<KernelInfo> kernels;  // In the order of the sources.
};

// A function of the kernel ABI for each source, and for its pack function. INVALID_ARGUMENT for
// what C does not do, with the kernel's name.
absl::StatusOr<CText> PrintC(absl::Span<const KernelSource> sources);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_TEXT_C_TEXT_H_
