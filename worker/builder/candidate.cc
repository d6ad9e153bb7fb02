#include "worker/builder/candidate.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/contract.h"
#include "compiler/ir/guard_loops.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/verifier.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_text.h"

namespace burnish {
namespace {

absl::Status At(absl::string_view point, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(point, ": ", status.message()));
}

}  // namespace

absl::StatusOr<PreparedCandidate> PrepareCandidate(const CompileItem& item) {
  absl::StatusOr<Program> definition = ParseProgram(item.workload);
  if (!definition.ok()) return At("workload", definition.status());
  RETURN_IF_ERROR(ApplyContract(item.contract, *definition));
  const absl::StatusOr<Trace> trace = ParseTrace(item.trace);
  if (!trace.ok()) return At("trace", trace.status());
  absl::StatusOr<Program> scheduled = ApplyTrace(*trace, *definition);
  if (!scheduled.ok()) return At("trace", scheduled.status());
  if (const absl::Status status = Verify(*scheduled); !status.ok()) {
    return At("scheduled program", status);
  }
  absl::StatusOr<Program> lowered = Lower(*scheduled);
  if (!lowered.ok()) return At("lowering", lowered.status());
  for (const int axis : item.guarded_axes) {
    for (const Buffer& buffer : lowered->buffers) {
      if (buffer.role != BufferRole::kOutput ||
          (axis >= 0 && axis < static_cast<int>(buffer.shape.size()))) {
        continue;
      }
      return At("guards", absl::InvalidArgumentError(absl::StrCat(
                              "got axis ", axis, " of output ", buffer.name, ", which has none")));
    }
  }
  const GuardedLoops guarded = GuardLoops({.axes = item.guarded_axes}, *lowered);
  return PreparedCandidate{.definition = *std::move(definition),
                           .scheduled = *std::move(scheduled),
                           .lowered = *std::move(lowered),
                           .live = guarded.live};
}

}  // namespace burnish
