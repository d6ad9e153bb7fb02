// The property: whatever the primitives accept, the program still computes what its definition
// computes, in every form and in machine code. 1,000 random traces over every operator family; each
// batch is one module for one instruction set. A failure prints its seed, program and trace:
//   bazel run //tests/property:schedule_case -- SEED
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "compiler/codegen/text/text_backend.h"
#include "compiler/ir/join_parallel.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/printer.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_text.h"
#include "gtest/gtest.h"
#include "tests/property/random_program.h"
#include "tests/property/random_trace.h"
#include "tests/property/schedule_check.h"

namespace burnish {
namespace {

constexpr int kBatchCount = 50;
constexpr int kBatchSize = 20;
// One in so many as C too: clang takes longer for it than LLVM does.
constexpr int kBatchesOfText = 5;

struct Case {
  uint64_t seed = 0;
  RandomProgram defined;
  RandomTrace random;
  std::vector<TensorValue> want;
};

std::string Describe(const Case& c) {
  return absl::StrCat("seed ", c.seed, ", ", c.defined.family, "\n", Print(c.defined.program),
                      PrintTrace(c.random.trace), Print(c.random.lowered));
}

class RandomScheduleTest : public ::testing::TestWithParam<int> {};

TEST_P(RandomScheduleTest, ComputesWhatTheDefinitionComputes) {
  std::vector<Case> cases;
  for (int i = 0; i < kBatchSize; ++i) {
    Case c{.seed = static_cast<uint64_t>(GetParam()) * kBatchSize + i};
    c.defined = MakeRandomProgram(c.seed);
    c.random = MakeRandomTrace(c.defined.program, c.seed);
    SCOPED_TRACE(Describe(c));
    for (const std::string& broken : c.random.broken) ADD_FAILURE() << broken;
    ASSERT_OK_AND_ASSIGN(c.want, ExpectedResults(c.defined, c.random.scheduled));
    EXPECT_THAT(CheckInterpreted(c.defined, c.want, c.random.scheduled, c.random.lowered), IsOk());
    cases.push_back(std::move(c));
  }
  std::vector<CompiledCase> compiled;
  for (const Case& c : cases) compiled.push_back({&c.defined, &c.want, &c.random.lowered});
  const std::vector<CodegenTarget> targets = HostTargets();
  ASSERT_FALSE(targets.empty());
  const auto check = [&](Backend* by) {
    const std::vector<absl::Status> results =
        CheckCompiled(targets[GetParam() % targets.size()], compiled, by);
    for (size_t i = 0; i < results.size(); ++i) {
      EXPECT_THAT(results[i], IsOk()) << Describe(cases[i]);
    }
  };
  check(nullptr);
  if (GetParam() % kBatchesOfText == 0) check(MakeTextBackend().get());
}

// The outermost loops dealt out to workers, where the primitive takes them.
Program WithParallelPhases(Program scheduled) {
  const std::vector<NodeId> phases = scheduled.nodes[scheduled.root].children;
  for (const NodeId phase : phases) {
    const Node& node = scheduled.nodes[phase];
    if (node.kind != NodeKind::kLoop || node.loop_kind != LoopKind::kSerial) continue;
    const auto step = ParseTrace(absl::StrCat("parallel@1 ", scheduled.vars[node.var].name, "\n"));
    if (step.ok()) ApplyStep(step->at(0), scheduled).IgnoreError();
  }
  return scheduled;
}

TEST(JoinedScheduleTest, ComputesWhatTheDefinitionComputes) {
  int joined_count = 0;
  for (uint64_t seed = 0; seed < kBatchCount * kBatchSize; seed += 2) {
    const RandomProgram defined = MakeRandomProgram(seed);
    const RandomTrace random = MakeRandomTrace(defined.program, seed);
    const Program parallel = WithParallelPhases(random.scheduled);
    Program joined = parallel;
    JoinParallel(joined);
    if (Print(joined) == Print(parallel)) continue;
    ++joined_count;
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", Print(joined)));
    ASSERT_OK_AND_ASSIGN(const auto want, ExpectedResults(defined, joined));
    ASSERT_OK_AND_ASSIGN(const Program lowered, Lower(joined));
    EXPECT_THAT(CheckInterpreted(defined, want, joined, lowered), IsOk());
  }
  EXPECT_GE(joined_count, 50);
}

INSTANTIATE_TEST_SUITE_P(Batches, RandomScheduleTest, ::testing::Range(0, kBatchCount));

}  // namespace
}  // namespace burnish
