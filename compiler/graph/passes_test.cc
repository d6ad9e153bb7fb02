// What all passes owe: the graph computes the same before and after, on random graphs.
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "base/status_matchers.h"
#include "compiler/graph/constant_origin.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/graph/prepare.h"
#include "compiler/graph/random_concats.h"
#include "compiler/graph/separate_parts_pass.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;

struct PassCase {
  absl::string_view name;
  std::function<absl::Status(Graph&)> run;
  bool keeps_bits = false;
};

class PassesTest : public ::testing::TestWithParam<PassCase> {};

void ExpectTheSameResults(const PassCase& pass, const std::function<Graph(uint64_t)>& make) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Graph before = make(seed);
    Graph after = before;
    ASSERT_THAT(pass.run(after), IsOk());
    ASSERT_EQ(Difference(before, after, pass.keeps_bits ? 0 : 1e-5), "");
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
  for (const GraphNode& node : graph.nodes) ops.emplace(OpName(node.op));
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

// Each row of GraphPasses, what comes behind them, and all in a row.
std::vector<PassCase> Cases() {
  std::vector<PassCase> cases = {{"separate_parts", SeparateParts},
                                 {"PrepareGraph", [](Graph& g) { return PrepareGraph(g); }}};
  for (const GraphPass& pass : GraphPasses()) {
    cases.push_back({pass.name, [&pass](Graph& graph) { return pass.run(graph, {}); }});
    cases.back().keeps_bits = pass.keeps == PassKeeps::kBits;
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Passes, PassesTest, ::testing::ValuesIn(Cases()), [](const auto& info) {
  return absl::StrReplaceAll(info.param.name, {{".", "_"}});
});

std::vector<std::string> NamesOf(const std::function<bool(const GraphPass&)>& which) {
  std::vector<std::string> names;
  for (const GraphPass& pass : GraphPasses()) {
    if (which(pass)) names.emplace_back(pass.name);
  }
  return names;
}

TEST(GraphPassesTest, NeedRowsAbove) {
  std::set<absl::string_view> above;
  for (const GraphPass& pass : GraphPasses()) {
    for (const absl::string_view need : pass.needs) EXPECT_TRUE(above.count(need)) << pass.name;
    EXPECT_TRUE(above.insert(pass.name).second) << pass.name;
  }
}

TEST(GraphPassesTest, GraphsAreRightWithoutAnyOptionalRow) {
  for (const GraphPass& pass : GraphPasses()) {
    SCOPED_TRACE(pass.name);
    const absl::StatusOr<std::vector<std::string>> without = LeftOut({std::string(pass.name)});
    if (!without.ok()) continue;
    EXPECT_EQ(without->front(), pass.name);
    ExpectTheSameResults({pass.name,
                          [&](Graph& graph) {
                            return PrepareGraph(graph,
                                                {.passes = {.without = *without, .verify = true}});
                          }},
                         &RandomGraph);
  }
}

TEST(GraphPassesTest, WhatABuildNeedsIsNotLeftOut) {
  EXPECT_THAT(LeftOut({"channels_last"}),
              IsOkAndHolds(ElementsAre("channels_last", "simplify.2", "fold_constants.2",
                                       "fold_batch_norm.2")));
  EXPECT_THAT(LeftOut({"name_layers"}).status().message(),
              "pass 'name_layers' cannot be left out: a build needs it");
  EXPECT_THAT(LeftOut({"fold_constants"}).status().message(),
              "pass 'fold_constants' cannot be left out: a build needs it");
  EXPECT_THAT(LeftOut({"simplify", "simplfy"}).status().message(), "there is no pass 'simplfy'");
}

TEST(GraphPassesTest, AnObserverSeesTheRowsOfALevelInOrder) {
  for (int level = 0; level <= 3; ++level) {
    std::vector<std::string> seen;
    Graph graph = RandomGraph(1);
    ASSERT_THAT(PrepareGraph(graph, {.opt_level = level,
                                     .passes = {.observer =
                                                    [&](const GraphPass& pass, const Graph& after,
                                                        absl::Duration time) {
                                                      seen.emplace_back(pass.name);
                                                      EXPECT_THAT(VerifyGraph(after), IsOk());
                                                      EXPECT_GE(time, absl::ZeroDuration());
                                                    }}}),
                IsOk());
    EXPECT_EQ(seen, NamesOf([&](const GraphPass& pass) { return pass.opt_level <= level; }));
  }
}

}  // namespace
}  // namespace burnish
