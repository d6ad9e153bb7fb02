#include "compiler/graph/infer_shapes_pass.h"

#include "base/status_matchers.h"
#include "compiler/graph/graph_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(InferShapesTest, ANewBatchReachesTheOutputs) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 4}});
  const ValueId w = AddRandomConstant(graph, "w", {3, 4}, 1);
  graph.outputs = {Op(graph, "relu", {Op(graph, "dense", {x, w})})};
  graph.values[x].type.shape = {8, 4};
  ASSERT_THAT(InferShapes(graph), IsOk());
  EXPECT_THAT(graph.value(graph.outputs[0]).type.shape, ElementsAre(8, 3));
}

TEST(InferShapesTest, AReshapeThatNoLongerFitsIsNamed) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 4}});
  graph.outputs = {Op(graph, "reshape", {x}, {{"shape", std::vector<int64_t>{2, 2}}})};
  graph.values[x].type.shape = {8, 4};
  EXPECT_THAT(InferShapes(graph),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("(reshape)")));
}

}  // namespace
}  // namespace burnish
