// A candidate as programs, up to the one that a backend compiles. No LLVM.
#ifndef WORKER_BUILDER_CANDIDATE_H_
#define WORKER_BUILDER_CANDIDATE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/program.h"
#include "compiler/ir/run_strides.h"
#include "proto/compile.h"

namespace burnish {

struct PreparedCandidate {
  Program definition;  // With the contract's storage.
  Program scheduled;
  Program lowered;
  // In `lowered`; -1: no loop is guarded.
  BufferId live = -1;
  std::vector<StridedParameter> strided = {};
};

// Parses the workload, applies contract and trace, verifies, lowers, guards loops and reads inputs
// by their strides. Texts are hostile. Errors say at which of these points.
absl::StatusOr<PreparedCandidate> PrepareCandidate(const CompileItem& item);

}  // namespace burnish

#endif  // WORKER_BUILDER_CANDIDATE_H_
