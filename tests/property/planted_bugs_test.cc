// The property test is no formality: bugs planted in every stage are each caught by it on some of
// its first cases, and none of these cases fails without one.
#include "tests/property/planted_bugs.h"

#include <iostream>
#include <set>
#include <string>

#include "base/status_matchers.h"
#include "compiler/ir/lower.h"
#include "gtest/gtest.h"
#include "tests/property/random_program.h"
#include "tests/property/random_trace.h"
#include "tests/property/schedule_check.h"

namespace burnish {
namespace {

// What the property test would have said, had the bug been in the stage.
absl::Status CheckWith(const PlantedBug& bug, const RandomProgram& defined,
                       const std::vector<TensorValue>& want, const Program& planted,
                       const Program& scheduled) {
  switch (bug.stage) {
    case PlantedBug::Stage::kPrimitive: {
      const auto lowered = Lower(planted);
      return lowered.ok() ? CheckInterpreted(defined, want, planted, *lowered) : lowered.status();
    }
    case PlantedBug::Stage::kLowering:
      return CheckInterpreted(defined, want, scheduled, planted);
    case PlantedBug::Stage::kCodegen:
      return CheckCompiled(HostTargets()[0],
                           {{.defined = &defined, .want = &want, .lowered = &planted}})[0];
  }
  return absl::OkStatus();
}

TEST(PlantedBugsTest, EachIsCaught) {
  constexpr uint64_t kSeeds = 300;
  std::set<std::string> open;
  for (const PlantedBug& bug : PlantedBugs()) open.insert(bug.name);
  ASSERT_GE(open.size(), 10u);
  for (uint64_t seed = 0; seed < kSeeds && !open.empty(); ++seed) {
    SCOPED_TRACE(seed);
    const RandomProgram defined = MakeRandomProgram(seed);
    const RandomTrace random = MakeRandomTrace(defined.program, seed);
    ASSERT_OK_AND_ASSIGN(const auto want, ExpectedResults(defined, random.scheduled));
    ASSERT_THAT(CheckInterpreted(defined, want, random.scheduled, random.lowered), IsOk());
    for (const PlantedBug& bug : PlantedBugs()) {
      if (open.count(bug.name) == 0) continue;
      Program planted =
          bug.stage == PlantedBug::Stage::kPrimitive ? random.scheduled : random.lowered;
      if (!bug.plant(planted)) continue;
      const absl::Status status = CheckWith(bug, defined, want, planted, random.scheduled);
      if (status.ok()) continue;
      open.erase(bug.name);
      std::cout << bug.name << ": seed " << seed << ", " << defined.family << ": "
                << status.message() << "\n";
    }
  }
  EXPECT_THAT(open, ::testing::IsEmpty());
}

}  // namespace
}  // namespace burnish
