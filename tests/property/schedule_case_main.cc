// Shows cases of the property test: the program, its trace, what was refused, and the checks.
//   schedule_case SEED [COUNT]     one seed in full, or a summary over COUNT seeds from SEED on
#include <cstdlib>
#include <iostream>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "compiler/codegen/text/text_backend.h"
#include "compiler/ir/printer.h"
#include "compiler/schedule/primitive.h"
#include "tests/property/random_program.h"
#include "tests/property/random_trace.h"
#include "tests/property/schedule_check.h"

namespace burnish {
namespace {

absl::Status CheckSeed(uint64_t seed, bool verbose, std::map<std::string, int>& refusals,
                       std::map<std::string, int>& accepted, int& proposals) {
  const RandomProgram defined = MakeRandomProgram(seed);
  if (verbose) std::cout << defined.family << "\n" << Print(defined.program);
  const RandomTrace random = MakeRandomTrace(defined.program, seed);
  proposals += random.proposal_count;
  for (const std::string& refusal : random.refusals) ++refusals[refusal];
  for (const Step& step : random.trace) ++accepted[step.primitive->name];
  for (const std::string& broken : random.broken) {
    std::cout << "BROKEN seed " << seed << " " << defined.family << "\n" << broken << "\n";
  }
  if (verbose) {
    std::cout << PrintTrace(random.trace) << Print(random.scheduled) << Print(random.lowered);
  }
  const auto want = ExpectedResults(defined, random.scheduled);
  if (!want.ok()) return want.status();
  const absl::Status status = CheckInterpreted(defined, *want, random.scheduled, random.lowered);
  if (!status.ok()) return status;
  const std::vector<CodegenTarget> targets = HostTargets();
  const std::vector<CompiledCase> cases = {
      {.defined = &defined, .want = &*want, .lowered = &random.lowered}};
  const absl::Status by_llvm = CheckCompiled(targets[seed / 7 % targets.size()], cases)[0];
  if (!by_llvm.ok()) return by_llvm;
  const absl::Status as_c = CheckCompiled(targets[0], cases, MakeTextBackend().get())[0];
  return absl::Status(as_c.code(), absl::StrCat("as C: ", as_c.message()));
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) {
  const uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  const int count = argc > 2 ? std::atoi(argv[2]) : 1;
  std::map<std::string, int> refusals, accepted;
  int failed = 0, proposals = 0;
  std::cout << std::unitbuf;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const absl::Status status = burnish::CheckSeed(seed, count == 1, refusals, accepted, proposals);
    if (status.ok()) continue;
    ++failed;
    std::cout << "FAILED seed " << seed << ": " << status.ToString() << "\n";
  }
  for (const auto& [reason, times] : refusals) std::cout << times << " x " << reason << "\n";
  int steps = 0;
  for (const auto& [primitive, times] : accepted) {
    std::cout << primitive << " " << times << "\n";
    steps += times;
  }
  std::cout << count << " cases, " << steps << " steps, " << proposals << " proposals, " << failed
            << " failed\n";
  return failed > 0;
}
