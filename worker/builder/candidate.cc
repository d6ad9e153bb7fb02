#include "worker/builder/candidate.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/contract.h"
#include "compiler/ir/guard_loops.h"
#include "compiler/ir/join_parallel.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/run_strides.h"
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
  if (!item.guarded_axes.empty()) JoinParallel(*scheduled);
  if (const absl::Status status = Verify(*scheduled); !status.ok()) {
    return At("scheduled program", status);
  }
  absl::StatusOr<Program> lowered = Lower(*scheduled);
  if (!lowered.ok()) return At("lowering", lowered.status());
  GuardRequest request{.axes = item.guarded_axes, .rests = {}};
  for (const ParameterRest& rest : item.rests) {
    request.rests.push_back({.parameter = rest.parameter,
                             .axis = rest.axis,
                             .value = rest.value,
                             .extent = rest.extent});
  }
  if (const absl::Status status = CheckRequest(request, *lowered); !status.ok()) {
    return At("guards", status);
  }
  std::vector<RunStrides> strides;
  for (const ParameterStrides& of : item.strides) {
    strides.push_back({.parameter = of.parameter, .numbers = of.numbers});
  }
  if (const absl::Status status = CheckRunStrides(strides, *lowered); !status.ok()) {
    return At("strides", status);
  }
  const GuardedLoops guarded = GuardLoops(request, *lowered);
  // Behind guards, which look at indices as they are.
  std::vector<StridedParameter> strided = ReadByRunStrides(strides, *lowered);
  return PreparedCandidate{.definition = *std::move(definition),
                           .scheduled = *std::move(scheduled),
                           .lowered = *std::move(lowered),
                           .live = guarded.live,
                           .strided = std::move(strided)};
}

}  // namespace burnish
