// What the builds of one BundleBuilder have in common is made once.
#include "tuner/app/build_bundle.h"

#include <atomic>
#include <vector>

#include "base/cpu_info.h"
#include "base/status_matchers.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/target/target.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

// One task for each operator that has a kernel: `rows` decides about the workload of each.
Graph Products(int64_t rows) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {rows, 24}});
  const std::vector<double> numbers(24 * 24, 0.5);
  const ValueId w =
      AddConstant(graph, "w", {DType::kF32, {24, 24}}, FromDoubles(DType::kF32, numbers));
  graph.outputs = {Op(graph, "matmul", {Op(graph, "matmul", {x, w}), w})};
  return graph;
}

TEST(BundleBuilderTest, WorkloadsOfAnEarlierBuildAreNotLookedUpAgain) {
  std::atomic<int> lookups = 0;
  const ScheduleFacts facts{.find_best = [&](const BestQuery&) -> absl::StatusOr<BestAnswer> {
    ++lookups;
    return BestAnswer();
  }};
  ASSERT_OK_AND_ASSIGN(const Target target, HostTarget(HostCpuInfo(), 1));
  const BuildModelOptions options{.target = target};
  BundleBuilder builder(facts, options);
  ASSERT_OK_AND_ASSIGN(const BuiltModel first, builder.Build(Products(5), options, "first"));
  const int of_one = lookups;
  EXPECT_GT(of_one, 0);
  ASSERT_OK_AND_ASSIGN(const BuiltModel again, builder.Build(Products(5), options, "again"));
  EXPECT_EQ(lookups, of_one);
  ASSERT_OK_AND_ASSIGN(const BuiltModel other, builder.Build(Products(7), options, "other"));
  EXPECT_EQ(lookups, 2 * of_one);
  // Whatever was built before, a bundle is the one that a builder of its own makes.
  EXPECT_EQ(again.bundle, first.bundle);
  ASSERT_OK_AND_ASSIGN(const BuiltModel alone, BuildBundle(Products(7), facts, options, "alone"));
  EXPECT_EQ(other.bundle, alone.bundle);
}

}  // namespace
}  // namespace burnish
