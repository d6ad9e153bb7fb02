#include "compiler/graph/sink_shuffle_pass.h"

#include "base/status_matchers.h"
#include "compiler/graph/channel_shuffle.h"
#include "compiler/graph/graph_testing.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;

ValueId Shuffle(Graph& graph, ValueId x, int64_t axis, int64_t groups) {
  const auto shuffled = AddChannelShuffle(graph, x, axis, groups, "shuffle");
  EXPECT_THAT(shuffled, IsOk());
  return *shuffled;
}

ValueId Depthwise(Graph& graph, ValueId x, int64_t channels, int64_t stride, int64_t last,
                  uint64_t seed) {
  const ValueId w = AddRandomConstant(graph, "w", {channels, 1, 3, 3}, seed);
  const ValueId b = AddRandomConstant(graph, "b", {channels}, seed + 1);
  return Op(graph, "conv", {x, w, b},
            {{"pads", Shape(4, 1)},
             {"strides", Shape(2, stride)},
             {"group", channels},
             {"channels_last", last}});
}

// The operator that makes `value`.
std::string MakerOf(const Graph& graph, ValueId value) {
  return std::string(OpName(graph.nodes[graph.value(value).producer].op));
}

TEST(SinkShuffleTest, AShuffleGoesPastAsManyDepthwiseConvolutionsAsThereAre) {
  for (const int64_t last : {0, 1}) {
    Graph before;
    const ValueId x =
        AddInput(before, "x", {DType::kF32, last != 0 ? Shape{1, 5, 7, 6} : Shape{1, 6, 5, 7}});
    const ValueId y = Shuffle(before, x, last != 0 ? 3 : 1, 2);
    before.outputs = {Depthwise(before, Depthwise(before, y, 6, 2, last, 1), 6, 1, last, 5)};
    Graph after = before;
    ASSERT_THAT(SinkChannelShuffles(after), IsOk());
    EXPECT_EQ(Difference(before, after), "");
    EXPECT_EQ(MakerOf(after, after.outputs[0]), "reshape");
    EXPECT_EQ(CountNodes(after, "transpose"), 1);
    EXPECT_EQ(after.nodes[0].op, "conv");
  }
}

TEST(SinkShuffleTest, AValueThatOthersReadStaysShuffled) {
  Graph before;
  const ValueId x = AddInput(before, "x", {DType::kF32, {1, 6, 5, 7}});
  const ValueId y = Shuffle(before, x, 1, 3);
  before.outputs = {Depthwise(before, y, 6, 1, 0, 1), Op(before, "relu", {y})};
  Graph after = before;
  ASSERT_THAT(SinkChannelShuffles(after), IsOk());
  EXPECT_EQ(PrintGraph(before), PrintGraph(after));
}

TEST(SinkShuffleTest, OtherConvolutionsAndOtherAxesAreLeftAlone) {
  Graph before;
  const ValueId x = AddInput(before, "x", {DType::kF32, {1, 6, 6, 6}});
  const ValueId rows = Depthwise(before, Shuffle(before, x, 2, 3), 6, 1, 0, 1);
  const ValueId w = AddRandomConstant(before, "w", {12, 1, 1, 1}, 3);
  const ValueId twice = Op(before, "conv", {Shuffle(before, x, 1, 2), w}, {{"group", int64_t{6}}});
  before.outputs = {rows, twice};
  Graph after = before;
  ASSERT_THAT(SinkChannelShuffles(after), IsOk());
  EXPECT_EQ(PrintGraph(before), PrintGraph(after));
}

}  // namespace
}  // namespace burnish
