// Runs compiled kernels in this process, for tests: loads the library, lays tensors out as the
// program's storage says, calls with any number of workers, and reads the outputs back.
#ifndef COMPILER_CODEGEN_KERNEL_RUNNER_H_
#define COMPILER_CODEGEN_KERNEL_RUNNER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/backend.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/program.h"
#include "compiler/runtime/shared_object.h"

namespace burnish {

class KernelRunner {
 public:
  static absl::StatusOr<KernelRunner> Load(CompiledModule module);

  // Like Interpret, with kernel number `kernel` of the module, which was compiled from `program`.
  // Buffers lie between guard pages, outputs and scratch start as NaN. Errors: OUT_OF_RANGE for a
  // return code other than 0, INTERNAL for a write next to a buffer.
  absl::StatusOr<std::vector<TensorValue>> Run(const Program& program,
                                               const std::vector<TensorValue>& arguments,
                                               int workers = 1, int kernel = 0) const;

 private:
  KernelRunner(CompiledModule module, SharedObject library)
      : module_(std::move(module)), library_(std::move(library)) {}

  CompiledModule module_;
  SharedObject library_;
};

}  // namespace burnish

#endif  // COMPILER_CODEGEN_KERNEL_RUNNER_H_
