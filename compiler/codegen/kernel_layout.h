// Where a kernel finds its buffers: parameter order, and the places of its temporaries in the two
// scratch areas of the call's context.
#ifndef COMPILER_CODEGEN_KERNEL_LAYOUT_H_
#define COMPILER_CODEGEN_KERNEL_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/backend.h"
#include "compiler/ir/program.h"

namespace burnish {

struct KernelLayout {
  std::vector<BufferId> kernel_parameters;  // Inputs, constants, packed, outputs.
  std::vector<BufferId> pack_parameters;    // Constants, packed.
  // Bytes from the start of the worker's (kScratch) or the shared (kGlobal) area to the buffer's
  // allocation, by BufferId; -1 for what is no such temporary or is never used.
  std::vector<int64_t> temp_offset;
  // Sizes of the areas, for the kernel and the pack function together.
  int64_t scratch_bytes = 0;
  int64_t shared_scratch_bytes = 0;
};

// Temporaries that no root child uses at the same time, or between whose first and last user,
// share memory. INVALID_ARGUMENT for a GPU scope and for a temporary of unknown size.
absl::StatusOr<KernelLayout> PlanLayout(const Program& program);

// The facts that follow from the layout; the rest is 0.
KernelInfo InfoOf(const KernelSource& source, const KernelLayout& layout);

// Size of the buffer's allocation, border included.
int64_t StorageBytes(const Buffer& buffer);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_KERNEL_LAYOUT_H_
