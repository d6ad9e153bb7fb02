// What all passes owe: the graph computes the same before and after, on random graphs.
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "compiler/graph/constant_origin.h"
#include "compiler/graph/crop_kernels_pass.h"
#include "compiler/graph/eliminate_common_pass.h"
#include "compiler/graph/eliminate_dead_pass.h"
#include "compiler/graph/fold_batch_norm_pass.h"
#include "compiler/graph/fold_constants_pass.h"
#include "compiler/graph/fold_quantization_pass.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/graph/keep_weights_pass.h"
#include "compiler/graph/layout_pass.h"
#include "compiler/graph/nest_concats_pass.h"
#include "compiler/graph/prepare.h"
#include "compiler/graph/random_concats.h"
#include "compiler/graph/separate_parts_pass.h"
#include "compiler/graph/simplify_pass.h"
#include "compiler/graph/sink_concat_pass.h"
#include "compiler/graph/sink_shuffle_pass.h"
#include "compiler/graph/split_phases_pass.h"
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

// Random graphs, with constants of names and values of their own.
Graph WithConstantsOf(Graph graph, uint64_t seed) {
  for (size_t v = 0; v < graph.values.size(); ++v) {
    GraphValue& value = graph.values[v];
    if (value.data == nullptr || !MayBeParameter(value.type)) continue;
    value.name = "parameter" + std::to_string(v);
    TensorValue values = RandomValue(value.type, seed + v);
    // Variances are no less than 0.
    for (double& x : values.floats) x = std::abs(x) + 0.25;
    value.data = FromTensorValue(values);
  }
  return graph;
}

std::vector<const GraphValue*> ConstantsOf(const Graph& graph) {
  std::vector<const GraphValue*> constants;
  for (const GraphValue& value : graph.values) {
    if (value.data != nullptr) constants.push_back(&value);
  }
  return constants;
}

// What the constants of one graph remember, applied to the parameters of another, gives the other's
// constants; and what they do not remember does not differ.
TEST_P(PassesTest, ConstantsRememberHowTheyCameFromParameters) {
  int remembered = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Graph one = WithConstantsOf(RandomGraph(seed), 1000);
    Graph other = WithConstantsOf(RandomGraph(seed), 2000);
    std::map<std::string, TensorValue> parameters;
    for (const GraphValue* constant : ConstantsOf(other)) {
      parameters[constant->name] = ToTensorValue(constant->type, *constant->data);
    }
    for (Graph* graph : {&one, &other}) {
      MarkParameters(*graph);
      ASSERT_THAT(GetParam().run(*graph), IsOk());
    }
    const std::vector<const GraphValue*> got = ConstantsOf(one), want = ConstantsOf(other);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      const OriginPtr& origin = got[i]->data->origin();
      ASSERT_EQ(got[i]->type, want[i]->type);
      if (origin == nullptr) {
        EXPECT_EQ(got[i]->data->bytes(), want[i]->data->bytes()) << got[i]->name;
        continue;
      }
      ++remembered;
      if (!origin->parameter.empty()) continue;
      ASSERT_OK_AND_ASSIGN(const Graph how, GraphOfOrigins({origin}));
      std::vector<TensorValue> inputs;
      for (const ValueId input : how.inputs) inputs.push_back(parameters.at(how.value(input).name));
      ASSERT_OK_AND_ASSIGN(std::vector<TensorValue> values, InterpretGraph(how, inputs));
      TensorValue wanted = ToTensorValue(want[i]->type, *want[i]->data);
      wanted.shape = values[0].shape;  // As it was computed; a constant may be read reshaped.
      EXPECT_EQ(CompareOutputs({wanted}, values, 1e-6), "") << got[i]->name;
    }
  }
  EXPECT_GT(remembered, 20);
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
        PassCase{"FoldQuantization", FoldQuantization}, PassCase{"KeepWeights", KeepWeights},
        PassCase{"FoldConstants", [](Graph& g) { return FoldConstants(g); }},
        PassCase{"FoldBatchNorm", FoldBatchNorm}, PassCase{"CropKernels", CropKernels},
        PassCase{"SinkChannelShuffles", SinkChannelShuffles}, PassCase{"SinkConcats", SinkConcats},
        PassCase{"NestConcats", NestConcats}, PassCase{"SeparateParts", SeparateParts},
        PassCase{"SplitPhases", SplitPhases},
        PassCase{"ConvertToChannelsLast", ConvertToChannelsLast},
        PassCase{"PrepareGraph", [](Graph& g) { return PrepareGraph(g); }}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace burnish
