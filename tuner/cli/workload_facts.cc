#include "tuner/cli/workload_facts.h"

#include "absl/status/statusor.h"
#include "compiler/ir/parser.h"
#include "compiler/te/operator.h"

namespace burnish {

std::optional<int64_t> WorkloadFlops(absl::string_view workload_text) {
  const absl::StatusOr<Program> program = ParseProgram(workload_text);
  if (!program.ok()) return std::nullopt;
  return CountFlops(*program);
}

}  // namespace burnish
