// What compiled code of one trace depends on beside the trace.
#ifndef COMPILER_CODEGEN_CODEGEN_EPOCH_H_
#define COMPILER_CODEGEN_CODEGEN_EPOCH_H_

#include <cstdint>

namespace burnish {

// Raised by hand when lowering or a backend makes other code of the same trace: latencies that were
// measured before are stale then, traces never. Part of every candidate's id.
inline constexpr int32_t kCodegenEpoch = 11;

}  // namespace burnish

#endif  // COMPILER_CODEGEN_CODEGEN_EPOCH_H_
