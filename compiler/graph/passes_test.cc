// What all passes owe: the graph computes the same before and after, on random graphs.
#include <functional>
#include <set>
#include <string>

#include "base/status_matchers.h"
#include "compiler/graph/crop_kernels_pass.h"
#include "compiler/graph/eliminate_common_pass.h"
#include "compiler/graph/eliminate_dead_pass.h"
#include "compiler/graph/fold_batch_norm_pass.h"
#include "compiler/graph/fold_constants_pass.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/graph/layout_pass.h"
#include "compiler/graph/nest_concats_pass.h"
#include "compiler/graph/prepare.h"
#include "compiler/graph/random_concats.h"
#include "compiler/graph/separate_parts_pass.h"
#include "compiler/graph/simplify_pass.h"
#include "compiler/graph/sink_concat_pass.h"
#include "compiler/graph/sink_shuffle_pass.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

struct PassCase {
  const char* name;
  std::function<absl::Status(Graph&)> run;
};

class PassesTest : public ::testing::TestWithParam<PassCase> {};

void ExpectTheSameResults(const PassCase& pass, const std::function<Graph(uint64_t)>& make) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Graph before = make(seed);
    Graph after = before;
    ASSERT_THAT(pass.run(after), IsOk());
    ASSERT_EQ(Difference(before, after), "");
  }
}

TEST_P(PassesTest, KeepsWhatRandomGraphsCompute) { ExpectTheSameResults(GetParam(), &RandomGraph); }

TEST_P(PassesTest, KeepsWhatRandomConcatsCompute) {
  ExpectTheSameResults(GetParam(), &RandomConcats);
}

// Operators, sorted: a second run may number values anew.
std::multiset<std::string> Operators(const Graph& graph) {
  std::multiset<std::string> ops;
  for (const GraphNode& node : graph.nodes) ops.insert(node.op);
  return ops;
}

TEST_P(PassesTest, ASecondRunChangesNothing) {
  for (const auto& make : {&RandomGraph, &RandomConcats}) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      Graph once = make(seed);
      ASSERT_THAT(GetParam().run(once), IsOk());
      Graph twice = once;
      ASSERT_THAT(GetParam().run(twice), IsOk());
      EXPECT_EQ(Operators(once), Operators(twice)) << "seed " << seed << PrintGraph(once);
    }
  }
}

template <void (*pass)(Graph&)>
absl::Status Ok(Graph& graph) {
  pass(graph);
  return absl::OkStatus();
}

INSTANTIATE_TEST_SUITE_P(
    Passes, PassesTest,
    ::testing::Values(
        PassCase{"EliminateDead", Ok<&EliminateDead>},
        PassCase{"EliminateCommon", Ok<&EliminateCommon>}, PassCase{"Simplify", Simplify},
        PassCase{"FoldConstants", [](Graph& g) { return FoldConstants(g); }},
        PassCase{"FoldBatchNorm", FoldBatchNorm}, PassCase{"CropKernels", CropKernels},
        PassCase{"SinkChannelShuffles", SinkChannelShuffles}, PassCase{"SinkConcats", SinkConcats},
        PassCase{"NestConcats", NestConcats}, PassCase{"SeparateParts", SeparateParts},
        PassCase{"ConvertToChannelsLast", ConvertToChannelsLast},
        PassCase{"PrepareGraph", [](Graph& g) { return PrepareGraph(g); }}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace burnish
