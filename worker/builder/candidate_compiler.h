// Candidates to artifacts, in this process. What a backend may do to the process is the caller's
// worry (forked_worker.h).
#ifndef WORKER_BUILDER_CANDIDATE_COMPILER_H_
#define WORKER_BUILDER_CANDIDATE_COMPILER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/codegen/backend.h"
#include "compiler/target/target.h"
#include "proto/compile.h"
#include "worker/builder/kernel_objects.h"

namespace burnish {

class CandidateCompiler {
 public:
  // `backend` outlives this. `compiler_version`: for the record ("19.1.7").
  CandidateCompiler(Backend& backend, std::string compiler_version)
      : backend_(backend), compiler_version_(std::move(compiler_version)) {}

  // An artifact with the one kernel, and its pack function if it has one. An error is the
  // candidate's fault.
  absl::StatusOr<CompiledKernel> CompileArtifact(const CompileItem& item, const Target& target);

  // The item at one point of its way; `form` as in CompileRequest. INVALID_ARGUMENT for another.
  absl::StatusOr<std::string> Emit(const CompileItem& item, const Target& target,
                                   absl::string_view form);

  // All items in one artifact, pack functions in another, on all CPUs. Items that cannot be
  // scheduled are failures among the results, and there is then no library; an error is of the
  // backend, and says nothing about which item it was.
  absl::StatusOr<CompileReply> CompileLibrary(absl::Span<const CompileItem> items,
                                              const Target& target, const Target& pack_target);

 private:
  Backend& backend_;
  const std::string compiler_version_;
  KernelObjects objects_;
};

CodegenTarget ToCodegenTarget(const Target& target);

}  // namespace burnish

#endif  // WORKER_BUILDER_CANDIDATE_COMPILER_H_
