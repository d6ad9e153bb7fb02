// Objects of a library's kernels, one each: they compile on all CPUs, and the next library compiles
// only what the one before it did not have. A model is built more than once where its error is
// measured: without lossy schedules first, and again with a smaller budget.
#ifndef WORKER_BUILDER_KERNEL_OBJECTS_H_
#define WORKER_BUILDER_KERNEL_OBJECTS_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/codegen/backend.h"

namespace burnish {

class KernelObjects {
 public:
  // Ends the library before: its objects are the ones that can be used again.
  void BeginLibrary();

  // One shared library with the kernels, in their order. An error is that of the first kernel that
  // does not compile. The bytes do not depend on the number of CPUs, nor on what was there before.
  absl::StatusOr<CompiledModule> Compile(Backend& backend, const CodegenTarget& target,
                                         absl::Span<const KernelSource> sources);

 private:
  // By what they were made of. Two generations, so that memory stays that of two libraries.
  std::map<std::string, CompiledObject> before_, now_;
};

}  // namespace burnish

#endif  // WORKER_BUILDER_KERNEL_OBJECTS_H_
