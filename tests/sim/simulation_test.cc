#include "tests/sim/simulation.h"

#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish::sim {
namespace {

constexpr uint64_t kSeedsPerBlock = 50;
// 1,000 seeds in all: what CI has time for. `./dev sim` runs as many as one likes.
constexpr int kBlocks = 20;
constexpr uint64_t kSeedsForABug = 1000;

// One block of seeds, so that Bazel can spread them.
class SimulationTest : public ::testing::TestWithParam<int> {};

TEST_P(SimulationTest, EveryPromiseIsKept) {
  for (uint64_t i = 0; i < kSeedsPerBlock; ++i) {
    const uint64_t seed = static_cast<uint64_t>(GetParam()) * kSeedsPerBlock + i;
    const SimulationResult result = Simulate(seed, PlanOf(seed), Bug::kNone);
    ASSERT_TRUE(result.ok()) << Explain(seed, Bug::kNone, result);
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, SimulationTest, ::testing::Range(0, kBlocks));

// Each bug is planted alone, and is found if any promise is broken within so many seeds. What finds
// it is no check of its own: the promises are those of every run.
class PlantedBugTest : public ::testing::TestWithParam<BugInfo> {};

TEST_P(PlantedBugTest, IsFound) {
  for (uint64_t seed = 0; seed < kSeedsForABug; ++seed) {
    const SimulationResult result = Simulate(seed, PlanOf(seed), GetParam().bug);
    if (result.ok()) continue;
    std::cout << GetParam().name << ": seed " << seed << ": " << result.promise << "\n";
    return;
  }
  FAIL() << "not found in " << kSeedsForABug << " seeds";
}
INSTANTIATE_TEST_SUITE_P(Bugs, PlantedBugTest, ::testing::ValuesIn(AllBugs()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(SimulationHarnessTest, ARunIsAFunctionOfItsSeedAndPlan) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const SimulationResult one = Simulate(seed, PlanOf(seed), Bug::kNone);
    const SimulationResult other = Simulate(seed, PlanOf(seed), Bug::kNone);
    EXPECT_EQ(one.digest, other.digest) << "seed " << seed;
    EXPECT_EQ(one.event_count, other.event_count) << "seed " << seed;
    EXPECT_GT(one.grant_count, 0) << "seed " << seed << " has no work";
  }
}

TEST(SimulationHarnessTest, SeedsBringEveryKindOfFault) {
  std::vector<int> counts(kFaultKindCount, 0);
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    for (const Fault& fault : PlanOf(seed)) ++counts[static_cast<int>(fault.kind)];
  }
  for (int kind = 0; kind < kFaultKindCount; ++kind) {
    EXPECT_GT(counts[kind], 50) << "kind " << kind;
  }
}

TEST(SimulationHarnessTest, AFailureIsToldWithTheFewestFaults) {
  constexpr Bug kBug = Bug::kDrainIgnored;  // Nothing shows it but a worker that is drained.
  for (uint64_t seed = 0; seed < kSeedsForABug; ++seed) {
    const std::vector<Fault> plan = PlanOf(seed);
    const SimulationResult result = Simulate(seed, plan, kBug);
    if (result.ok() || plan.size() < 4) continue;
    const std::vector<Fault> few = Minimise(seed, plan, kBug, result.promise);
    EXPECT_LT(few.size(), plan.size());
    EXPECT_EQ(Simulate(seed, few, kBug).promise, result.promise);
    for (size_t i = 0; i < few.size(); ++i) {
      std::vector<Fault> fewer = few;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_NE(Simulate(seed, fewer, kBug).promise, result.promise) << few[i].Text();
    }
    const std::string text = Explain(seed, kBug, result);
    EXPECT_THAT(text, ::testing::HasSubstr(absl::StrCat("seed ", seed)));
    EXPECT_THAT(text, ::testing::HasSubstr("worker is drained"));
    return;
  }
  FAIL() << "no seed has a plan to shorten";
}

}  // namespace
}  // namespace burnish::sim
