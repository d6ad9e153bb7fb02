#include "compiler/frontend/zoo.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/status_matchers.h"
#include "compiler/graph/extract_tasks.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/graph/prepare.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

int64_t ParameterCount(const Graph& graph) {
  int64_t count = 0;
  for (const GraphValue& value : graph.values) {
    if (value.data != nullptr) count += ElementCount(value.type.shape);
  }
  return count;
}

TEST(ZooTest, ModelsHaveTheSizesOfTheirPapers) {
  // Parameters as published, running means and variances of batch norms included.
  const std::map<std::string, int64_t> want = {{"resnet18", 11699112},
                                               {"resnet50", 25610152},
                                               {"mobilenet_v2", 3538984},
                                               {"vgg16", 138357544}};
  for (const auto& [name, count] : want) {
    ASSERT_OK_AND_ASSIGN(const Graph graph, BuildZooModel(name));
    EXPECT_THAT(VerifyGraph(graph), IsOk());
    EXPECT_EQ(ParameterCount(graph), count) << name;
    EXPECT_THAT(graph.value(graph.outputs[0]).type.shape, ElementsAre(1, 1000));
  }
}

TEST(ZooTest, BertTakesTokensAndGivesStates) {
  ASSERT_OK_AND_ASSIGN(const Graph graph, BuildZooModel("bert_base", {.batch = 2, .sequence = 7}));
  EXPECT_THAT(VerifyGraph(graph), IsOk());
  EXPECT_EQ(PrintType(graph.value(graph.inputs[0]).type), "i64[2,7]");
  EXPECT_EQ(PrintType(graph.value(graph.outputs[0]).type), "f32[2,7,768]");
  EXPECT_EQ(PrintType(graph.value(graph.outputs[1]).type), "f32[2,768]");
}

TEST(ZooTest, WeightsFollowTheSeedAndAreHeScaled) {
  ASSERT_OK_AND_ASSIGN(const Graph a, BuildZooModel("resnet18", {.seed = 1}));
  ASSERT_OK_AND_ASSIGN(const Graph b, BuildZooModel("resnet18", {.batch = 3, .seed = 1}));
  ASSERT_OK_AND_ASSIGN(const Graph c, BuildZooModel("resnet18", {.seed = 2}));
  const auto weights = [](const Graph& graph) {
    const auto found =
        std::find_if(graph.values.begin(), graph.values.end(),
                     [](const GraphValue& value) { return value.name == "stage4.1.conv2.weight"; });
    return CopyAs<float>(*found->data);
  };
  EXPECT_EQ(weights(a), weights(b));
  EXPECT_NE(weights(a), weights(c));
  double sum = 0, squares = 0;
  for (float v : weights(a)) {
    sum += v;
    squares += static_cast<double>(v) * v;
  }
  const auto count = static_cast<double>(weights(a).size());
  const double want = 2.0 / (512 * 9);
  EXPECT_NEAR(squares / count, want, 0.01 * want);
  EXPECT_NEAR(sum / count, 0, 0.01 * std::sqrt(want));
}

TEST(ZooTest, Resnet50HasItsTasks) {
  ASSERT_OK_AND_ASSIGN(Graph graph, BuildZooModel("resnet50"));
  ASSERT_THAT(PrepareGraph(graph), IsOk());
  ASSERT_OK_AND_ASSIGN(const TaskList list, ExtractTasks(graph, Fuse(graph)));
  int64_t convolutions = 0, flops = 0, distinct = 0;
  for (const ExtractedTask& task : list.tasks) {
    flops += task.weight * task.flop_count;
    if (task.name.substr(0, 4) != "conv") continue;
    convolutions += task.weight;
    ++distinct;
  }
  EXPECT_EQ(convolutions, 53);
  EXPECT_EQ(distinct, 24);  // 23 shapes; the first block's 1x1 has one with and one without ReLU.
  EXPECT_NEAR(static_cast<double>(flops), 8.2e9, 0.1e9);
  EXPECT_EQ(CountNodes(graph, "batch_norm"), 0);
  EXPECT_EQ(CountNodes(graph, "transpose"), 1);
}

TEST(ZooTest, PassesKeepWhatSmallModelsCompute) {
  ASSERT_OK_AND_ASSIGN(const Graph graph, BuildZooModel("mobilenet_v2", {.image_size = 32}));
  Graph after = graph;
  ASSERT_THAT(PrepareGraph(after), IsOk());
  EXPECT_EQ(Difference(graph, after, 1e-4), "");
}

TEST(ZooTest, UnknownModelsAndOptionsAreRefused) {
  EXPECT_THAT(BuildZooModel("alexnet"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("mobilenet_v2")));
  EXPECT_THAT(BuildZooModel("vgg16", {.image_size = 33}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(BuildZooModel("bert_base", {.sequence = 513}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace burnish
