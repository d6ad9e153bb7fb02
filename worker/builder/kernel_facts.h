// What programs and the backend say about a kernel, as artifacts, results and records carry it.
#ifndef WORKER_BUILDER_KERNEL_FACTS_H_
#define WORKER_BUILDER_KERNEL_FACTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "compiler/codegen/backend.h"
#include "compiler/ir/program.h"
#include "compiler/runtime/kernel_manifest.h"
#include "proto/compile.h"

namespace burnish {

// 32 raw bytes.
std::string RawSha256(absl::string_view bytes);

// Of a program whose compiled form is `kernel`. `scheduled`: null where no output may share an
// input's memory (pack functions), else the program that in-place pairs are derived from.
FunctionInfo ManifestOf(const Program& program, const KernelInfo& kernel, const Program* scheduled);

// What each buffer of the call is: buffers of `packed_role` are what packing writes, in order; all
// others are the workload's parameters. kTemp: nothing is packed. `tables`: what the builder added,
// by name.
std::vector<CallBuffer> CallBuffersOf(const Program& program, const KernelInfo& kernel,
                                      const Program& definition, BufferRole packed_role,
                                      const std::map<std::string, CallBuffer>& tables = {});

// Bytes that `pack` writes.
int64_t PackedBytes(const Program& pack);

}  // namespace burnish

#endif  // WORKER_BUILDER_KERNEL_FACTS_H_
