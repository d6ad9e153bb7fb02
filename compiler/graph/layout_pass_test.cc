#include "compiler/graph/layout_pass.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_matchers.h"
#include "compiler/graph/channel_shuffle.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/graph/simplify_pass.h"
#include "compiler/te/layout.h"
#include "compiler/te/operator.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;
using Doubles = std::vector<double>;

Graph Converted(const Graph& before) {
  Graph after = before;
  EXPECT_THAT(ConvertToChannelsLast(after), IsOk());
  EXPECT_THAT(Simplify(after), IsOk());
  EXPECT_EQ(Difference(before, after), "");
  return after;
}

ValueId Conv(Graph& graph, ValueId x, Shape weights) {
  const ValueId w = AddRandomConstant(graph, "w", std::move(weights), 1);
  return Op(graph, "conv", {x, w}, {{"pads", Shape(4, 0)}});
}

TEST(LayoutTest, AClassifierHasOneTransposeAtItsInput) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 3, 5, 5}});
  const ValueId y = Op(graph, "relu", {Conv(graph, x, {4, 3, 1, 1})});
  const ValueId z = Op(graph, "add", {Conv(graph, y, {4, 4, 1, 1}), y});
  const ValueId mean =
      Op(graph, "reduce_mean", {z}, {{"axes", Shape{2, 3}}, {"keepdims", int64_t{1}}});
  graph.outputs = {Op(graph, "reshape", {mean}, {{"shape", Shape{1, 4}}})};
  const Graph after = Converted(graph);
  EXPECT_EQ(CountNodes(after, "transpose"), 1) << PrintGraph(after);
}

TEST(LayoutTest, BroadcastOperandsAreTurnedAsTheyNeed) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {2, 3, 4, 5}});
  ValueId y = Conv(graph, x, {3, 3, 1, 1});
  y = Op(graph, "add", {y, AddRandomConstant(graph, "channel", {3, 1, 1}, 2)});
  y = Op(graph, "mul", {AddRandomConstant(graph, "column", {5}, 3), y});
  y = Op(graph, "sub", {y, AddRandomConstant(graph, "scalar", {}, 4)});
  y = Op(graph, "prelu", {y, AddRandomConstant(graph, "slope", {3, 1, 1}, 5)});
  const ValueId rows = AddInput(graph, "rows", {DType::kF32, {4, 1}});
  graph.outputs = {Op(graph, "div", {y, rows})};
  Converted(graph);
}

TEST(LayoutTest, AxesFollowTheirDimensions) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 4, 3, 5}});
  const ValueId y = Conv(graph, x, {4, 4, 1, 1});
  const ValueId joined = Op(graph, "concat", {y, Op(graph, "relu", {y})}, {{"axis", int64_t{1}}});
  const ValueId cut = Op(graph, "slice", {joined},
                         {{"starts", Shape{1, 4}},
                          {"ends", Shape{7, 0}},
                          {"axes", Shape{1, 3}},
                          {"steps", Shape{2, -2}}});
  const ValueId padded = Op(graph, "pad", {cut}, {{"pads", Shape{0, 1, 0, 2, 0, 0, 1, 0}}});
  const ValueId soft = Op(graph, "softmax", {padded}, {{"axis", int64_t{1}}});
  graph.outputs = {soft, Op(graph, "reduce_max", {soft}, {{"axes", Shape{1}}}),
                   Op(graph, "reduce_sum", {soft}, {{"axes", Shape{3}}, {"keepdims", int64_t{0}}})};
  Converted(graph);
}

TEST(LayoutTest, AnAxisThatIsNotWrittenFollowsItsDimension) {
  for (const char* op : {"softmax", "log_softmax", "argmax"}) {
    Graph graph;
    const ValueId x = AddInput(graph, "x", {DType::kF32, {2, 3, 4, 5}});
    graph.outputs = {Op(graph, op, {Conv(graph, x, {3, 3, 1, 1})})};
    Converted(graph);
  }
}

// Arguments that an elementwise operator accepts, out of an image, one of truth values, and values
// by channel; empty where there are none.
std::vector<ValueId> ArgumentsFor(Graph& graph, const OperatorDef& op, const Attributes& attributes,
                                  ValueId image) {
  const int64_t channels = graph.value(image).type.shape[1];
  const ValueId positive = AddConstant(graph, "c", {DType::kF32, {channels}},
                                       FromDoubles(DType::kF32, Doubles(channels, 0.5)));
  const ValueId zero =
      AddConstant(graph, "zero", {DType::kF32, {}}, FromDoubles(DType::kF32, {0.0}));
  const ValueId flags = Op(graph, "greater", {image, zero});
  const ValueId byte = AddConstant(graph, "byte", {DType::kU8, {}}, FromInts(DType::kU8, {3}));
  const ValueId bytes = Op(graph, "cast", {image}, {{"to", std::string("u8")}});
  const ValueId sums = Op(graph, "cast", {image}, {{"to", std::string("i32")}});
  const std::vector<std::vector<ValueId>> choices = {
      {image, zero, byte},
      {bytes, zero, byte},
      {sums, zero, byte},
      {image},
      {image, image},
      {flags},
      {flags, flags},
      {flags, image, image},
      {image, positive, positive, positive, positive}};
  for (const std::vector<ValueId>& choice : choices) {
    std::vector<TensorType> types;
    for (ValueId v : choice) types.push_back(graph.value(v).type);
    if (op.infer(attributes, types).ok()) return choice;
  }
  return {};
}

// Not a list of names: what the library gets tomorrow is asked for too.
TEST(LayoutTest, NoElementwiseOperatorCostsATranspose) {
  for (const OperatorDef* op : AllOperators()) {
    if (op->fusion != FusionKind::kElementwise) continue;
    SCOPED_TRACE(op->name());
    Graph graph;
    const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 3, 4, 5}});
    const ValueId image = Conv(graph, x, {6, 3, 1, 1});
    const Attributes attributes =
        MakeAttributes({{"to", std::string("f32")}, {"fmod", int64_t{1}}});
    const std::vector<ValueId> arguments = ArgumentsFor(graph, *op, attributes, image);
    ASSERT_FALSE(arguments.empty()) << "give ArgumentsFor arguments that it accepts";
    ASSERT_OK_AND_ASSIGN(const ValueId y, AddOp(graph, op->name(), arguments, attributes));
    const ValueId back = Op(graph, "cast", {y}, {{"to", std::string("f32")}});
    graph.outputs = {Conv(graph, back, {2, 6, 1, 1})};
    // What it computes is held by the test of the library's rows; here it may be NaN.
    ASSERT_THAT(ConvertToChannelsLast(graph), IsOk());
    ASSERT_THAT(Simplify(graph), IsOk());
    EXPECT_EQ(CountNodes(graph, "transpose"), 2) << "at input and output:\n" << PrintGraph(graph);
  }
}

TEST(LayoutTest, AMadeUpElementwiseOperatorIsCarriedThroughByItsRow) {
  const OperatorDef made_up = {
      .id = OpId::kNeg, .fusion = FusionKind::kElementwise, .layout = LayoutRule::kAnyOrder};
  const TensorType image = {DType::kF32, {1, 3, 4, 5}};
  EXPECT_TRUE(FollowsChannelsLast(made_up, 4, {image}));
  EXPECT_EQ(AttributesInOrder(made_up, MakeAttributes({{"alpha", 0.5}}), ChannelsLastOrder(4)),
            MakeAttributes({{"alpha", 0.5}}));
  // An image that is broadcast to more dimensions has its channels in another place.
  EXPECT_FALSE(FollowsChannelsLast(made_up, 4, {{DType::kF32, {2, 1, 3, 4, 5}}}));
  // Channels are the last dimension already.
  EXPECT_FALSE(FollowsChannelsLast(made_up, 2, {{DType::kF32, {1, 3}}}));
}

TEST(LayoutTest, SplitAndResizeAreCarriedThrough) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 4, 3, 3}});
  const ValueId y = Conv(graph, x, {4, 4, 1, 1});
  const absl::StatusOr<GraphNodeId> split =
      AddNode(graph, "split", {y}, MakeAttributes({{"axis", int64_t{1}}, {"split", Shape{1, 3}}}));
  ASSERT_THAT(split, IsOk());
  const ValueId part = graph.nodes[*split].outputs[1];
  graph.outputs = {Op(graph, "resize", {part},
                      {{"scales", std::vector<double>{1, 1, 2, 3}},
                       {"mode", std::string("nearest")},
                       {"coordinate_transformation_mode", std::string("asymmetric")},
                       {"nearest_mode", std::string("floor")}})};
  const Graph after = Converted(graph);
  EXPECT_EQ(CountNodes(after, "transpose"), 2) << PrintGraph(after);
}

TEST(LayoutTest, NormalizationOverNearbyChannelsIsCarriedThrough) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 4, 3, 5}});
  const ValueId y = Op(graph, "lrn", {Conv(graph, x, {7, 4, 1, 1})},
                       {{"size", int64_t{3}}, {"alpha", 0.5}, {"bias", 2.0}});
  graph.outputs = {Conv(graph, y, {4, 7, 1, 1})};
  const Graph after = Converted(graph);
  EXPECT_EQ(CountNodes(after, "transpose"), 2) << PrintGraph(after);
}

TEST(LayoutTest, ACropIsCarriedThrough) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 4, 3, 5}});
  const ValueId y = Conv(graph, x, {4, 4, 1, 1});
  graph.outputs = {Op(graph, "resize", {y},
                      {{"sizes", Shape{1, 4, 2, 4}},
                       {"roi", std::vector<double>{0, 0, 0.25, -0.5, 1, 1, 0.75, 1}},
                       {"extrapolation_value", 3.0},
                       {"mode", std::string("linear")},
                       {"coordinate_transformation_mode", std::string("tf_crop_and_resize")}})};
  const Graph after = Converted(graph);
  EXPECT_EQ(CountNodes(after, "transpose"), 2) << PrintGraph(after);
}

ValueId Shuffle(Graph& graph, ValueId x, int64_t axis, int64_t groups) {
  const auto shuffled = AddChannelShuffle(graph, x, axis, groups, "shuffle");
  EXPECT_THAT(shuffled, IsOk());
  return *shuffled;
}

TEST(LayoutTest, AChannelShuffleIsCarriedThrough) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {2, 6, 3, 5}});
  const ValueId y = Shuffle(graph, Conv(graph, x, {6, 6, 1, 1}), 1, 2);
  graph.outputs = {Conv(graph, y, {4, 6, 1, 1})};
  const Graph after = Converted(graph);
  EXPECT_EQ(CountNodes(after, "transpose"), 3) << PrintGraph(after);
}

TEST(LayoutTest, AShuffleOfRowsOrOfAModelsInputIsLeftAsItIs) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {2, 6, 4, 5}});
  const ValueId y = Conv(graph, Shuffle(graph, x, 1, 3), {6, 6, 1, 1});
  graph.outputs = {Shuffle(graph, y, 2, 2)};
  Converted(graph);
}

TEST(LayoutTest, OneAndThreeDimensionsWorkAlike) {
  for (const Shape& spatial : {Shape{6}, Shape{3, 4, 2}}) {
    Graph graph;
    Shape in = {1, 2}, weights = {3, 2};
    in.insert(in.end(), spatial.begin(), spatial.end());
    weights.insert(weights.end(), spatial.size(), 1);
    const ValueId x = AddInput(graph, "x", {DType::kF32, in});
    const ValueId w = AddRandomConstant(graph, "w", weights, 1);
    graph.outputs = {Op(graph, "relu", {Op(graph, "conv", {x, w})})};
    Converted(graph);
  }
}

// Transposes of a convolution of an image of `shape` by `weights` that stands between an input and
// an output, behind what `more` appends.
int TransposesAround(const Shape& shape, const Shape& weights,
                     const std::vector<std::pair<std::string, AttributeValue>>& attributes,
                     const std::function<ValueId(Graph&, ValueId)>& more = nullptr) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, shape});
  ValueId y = Op(graph, "conv", {x, AddRandomConstant(graph, "w", weights, 1)}, attributes);
  if (more != nullptr) y = more(graph, y);
  graph.outputs = {y};
  return CountNodes(Converted(graph), "transpose");
}

TEST(LayoutTest, ALoneConvolutionOfLittleWorkStays) {
  EXPECT_EQ(TransposesAround({1, 3, 2, 32}, {5, 3, 1, 1}, {}), 0);
  EXPECT_EQ(TransposesAround({1, 3, 2, 34}, {12, 3, 3, 3}, {{"pads", Shape{1, 0, 1, 0}}}), 0);
  // One behind which only elements follow, and a product, which wants the model's order.
  EXPECT_EQ(TransposesAround({1, 3, 2, 32}, {5, 3, 1, 1}, {},
                             [](Graph& graph, ValueId y) {
                               y = Op(graph, "relu", {y});
                               return Op(graph, "reshape", {y}, {{"shape", Shape{5, 64}}});
                             }),
            0);
  EXPECT_EQ(TransposesAround({1, 8, 2, 34}, {8, 1, 1, 3}, {{"group", int64_t{8}}}), 0);
}

TEST(LayoutTest, ALoneConvolutionByStepsStaysWhereItsCopyIsReadOften) {
  const std::vector<std::pair<std::string, AttributeValue>> steps = {{"strides", Shape{1, 2}}};
  EXPECT_EQ(TransposesAround({1, 1, 2, 66}, {64, 1, 1, 4}, steps), 0);
  // An image of one channel has the same order either way: its result is turned.
  EXPECT_EQ(TransposesAround({1, 1, 2, 66}, {63, 1, 1, 4}, steps), 1) << "few readers";
  EXPECT_EQ(TransposesAround({1, 1, 2, 99}, {64, 1, 1, 33}, steps), 1) << "many taps";
  // Depthwise ones go by steps themselves.
  const auto depthwise = [](int64_t row, int64_t step) {
    return TransposesAround({1, 8, 2, row}, {8, 1, 1, 1},
                            {{"group", int64_t{8}}, {"strides", Shape{1, step}}});
  };
  EXPECT_EQ(depthwise(15, 2), 0);
  EXPECT_EQ(depthwise(14, 2), 2) << "short rows";
  EXPECT_EQ(depthwise(99, 5), 2) << "long steps";
}

TEST(LayoutTest, AConvolutionThatGainsOrIsNotAloneIsTurned) {
  EXPECT_EQ(TransposesAround({1, 3, 2, 31}, {5, 3, 1, 1}, {}), 2) << "short rows";
  EXPECT_EQ(TransposesAround({1, 3, 2, 65}, {5, 3, 1, 1}, {{"strides", Shape{1, 2}}}), 2)
      << "steps";
  EXPECT_EQ(TransposesAround({1, 65, 2, 32}, {5, 65, 1, 1}, {}), 2) << "many channels";
  EXPECT_EQ(TransposesAround({1, 32, 3, 34}, {128, 32, 3, 3}, {}), 2) << "much work";
  EXPECT_EQ(TransposesAround({1, 3, 3, 34}, {11, 3, 3, 3}, {}), 2) << "windows of many channels";
  EXPECT_EQ(TransposesAround({1, 8, 2, 32}, {8, 4, 1, 1}, {{"group", int64_t{2}}}), 2) << "groups";
  EXPECT_EQ(TransposesAround({1, 3, 2, 32}, {5, 3, 1, 1}, {},
                             [](Graph& graph, ValueId y) {
                               y = Op(graph, "relu", {y});
                               return Conv(graph, y, {4, 5, 1, 1});
                             }),
            2)
      << "another convolution behind";
}

int TransposesAroundPool(const std::string& op, const Shape& shape, const Shape& kernel,
                         const std::vector<std::pair<std::string, AttributeValue>>& more = {},
                         bool convolved = false) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, shape});
  std::vector<std::pair<std::string, AttributeValue>> attributes = {{"kernel_shape", kernel}};
  attributes.insert(attributes.end(), more.begin(), more.end());
  const ValueId y = Op(graph, op, {x}, attributes);
  graph.outputs = {convolved ? Conv(graph, y, {70, shape[1], 1, 1}) : y};
  return CountNodes(Converted(graph), "transpose");
}

TEST(LayoutTest, ALonePoolStays) {
  EXPECT_EQ(TransposesAroundPool("max_pool", {1, 70, 9, 10}, {3, 3}), 0);
  EXPECT_EQ(TransposesAroundPool("average_pool", {1, 5, 3, 4, 33}, {1, 2, 2},
                                 {{"strides", Shape{1, 2, 4}}}),
            0);
  EXPECT_EQ(TransposesAroundPool("max_pool", {1, 70, 9, 9}, {3, 3}), 2) << "short rows";
  EXPECT_EQ(TransposesAroundPool("max_pool", {1, 70, 9, 99}, {5, 5}), 2) << "many taps";
  EXPECT_EQ(TransposesAroundPool("max_pool", {1, 70, 9, 99}, {3, 3}, {{"strides", Shape{5, 5}}}), 2)
      << "long steps";
  EXPECT_EQ(TransposesAroundPool("max_pool", {1, 70, 9, 10}, {3, 3}, {}, true), 2)
      << "a convolution behind";
}

TEST(LayoutTest, AConvolutionThatJoinsAnotherOnesResultIsTurnedWithIt) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 3, 2, 32}});
  const ValueId other =
      Conv(graph, AddInput(graph, "z", {DType::kF32, {1, 70, 2, 32}}), {5, 70, 1, 1});
  graph.outputs = {Op(graph, "add", {Conv(graph, x, {5, 3, 1, 1}), other})};
  EXPECT_EQ(CountNodes(Converted(graph), "transpose"), 3);
}

TEST(LayoutTest, AModelWithoutImagesIsNotTouched) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 2, 3, 4}});
  graph.outputs = {Op(graph, "softmax", {Op(graph, "relu", {x})}, {{"axis", int64_t{1}}})};
  Graph after = graph;
  ASSERT_THAT(ConvertToChannelsLast(after), IsOk());
  EXPECT_EQ(PrintGraph(graph), PrintGraph(after));
}

}  // namespace
}  // namespace burnish
