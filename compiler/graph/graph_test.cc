#include "compiler/graph/graph.h"

#include "base/status_matchers.h"
#include "compiler/graph/graph_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

Graph AddAndRelu() {
  Graph graph;
  graph.name = "small";
  const ValueId x = AddInput(graph, "x", {DType::kF32, {2, 3}});
  const ValueId y = AddInput(graph, "y", {DType::kF32, {3}});
  graph.outputs = {Op(graph, "relu", {Op(graph, "add", {x, y})})};
  return graph;
}

TEST(GraphTest, PrintsOneLineANode) {
  EXPECT_EQ(PrintGraph(AddAndRelu()),
            "graph small\n"
            "input %0 f32[2,3] 'x'\n"
            "input %1 f32[3] 'y'\n"
            "%2 f32[2,3] = add(%0, %1)  # add\n"
            "%3 f32[2,3] = relu(%2)  # relu\n"
            "output %3 f32[2,3] 'relu'\n");
}

TEST(GraphTest, UnknownOperatorIsUnimplemented) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1}});
  EXPECT_THAT(AddOp(graph, "frobnicate", {x}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("frobnicate")));
}

TEST(GraphTest, TypeErrorNamesTheNode) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {2, 3}});
  const ValueId y = AddInput(graph, "y", {DType::kF32, {4}});
  EXPECT_THAT(AddOp(graph, "add", {x, y}, {}, "sum1"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'sum1' (add)")));
}

TEST(GraphTest, SortPutsProducersFirstAndKeepsTheRest) {
  Graph graph = AddAndRelu();
  std::swap(graph.nodes[0], graph.nodes[1]);
  EXPECT_THAT(VerifyGraph(graph), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("before anything has written it")));
  ASSERT_THAT(SortTopologically(graph), IsOk());
  EXPECT_EQ(graph.nodes[0].op, "add");
  EXPECT_THAT(VerifyGraph(graph), IsOk());
}

TEST(GraphTest, SortRefusesACycle) {
  Graph graph = AddAndRelu();
  graph.nodes[0].inputs[0] = graph.nodes[1].outputs[0];
  EXPECT_THAT(SortTopologically(graph),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cycle")));
}

TEST(GraphTest, VerifyRefusesAWrongType) {
  Graph graph = AddAndRelu();
  graph.values[graph.outputs[0]].type.shape = {3, 2};
  EXPECT_THAT(VerifyGraph(graph), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("the operator gives f32[2,3]")));
}

TEST(GraphTest, VerifyRefusesAConstantOfTheWrongSize) {
  Graph graph = AddAndRelu();
  const ValueId c = AddConstant(graph, "c", {DType::kF32, {1}}, MakeConstant<float>({1}));
  graph.values[c].type.shape = {2};
  EXPECT_THAT(VerifyGraph(graph),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("got 4 bytes, want 8")));
}

TEST(ConstantTest, ConversionsWrapTruncateAndCompareWithZero) {
  const TensorType floats = {DType::kF32, {3}};
  const ConstantPtr data = MakeConstant<float>({-1.5f, 0.0f, 300.0f});
  EXPECT_EQ(ToInts(floats, *data), (std::vector<int64_t>{-1, 0, 300}));
  EXPECT_EQ(CopyAs<uint8_t>(*FromDoubles(DType::kBool, ToDoubles(floats, *data))),
            (std::vector<uint8_t>{1, 0, 1}));
  EXPECT_EQ(CopyAs<int8_t>(*FromInts(DType::kI8, {300})), (std::vector<int8_t>{44}));
}

}  // namespace
}  // namespace burnish
