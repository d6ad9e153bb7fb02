#include "compiler/graph/call_parts.h"

#include <vector>

#include "compiler/graph/graph_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// exp(x) of x [b of 4, s of 8, 6], which is read as far as b and s; and the sum of each row's
// products with all rows, of which all are read.
struct Sized {
  Graph graph;
  ValueId exp, turned, scores;
  Sized(int64_t b_from, int64_t s_from) {
    const ValueId x = AddInput(graph, "x", {DType::kF32, {4, 8, 6}});
    const ValueId b = AddInput(graph, "b", {DType::kI64, {}});
    const ValueId s = AddInput(graph, "s", {DType::kI64, {}});
    graph.sizes = {{.name = "b", .least = 1, .greatest = 4, .served_from = b_from},
                   {.name = "s", .least = 2, .greatest = 8, .served_from = s_from}};
    exp = Op(graph, "exp", {x});
    turned = Op(graph, "transpose", {exp}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
    scores = Op(graph, "matmul", {exp, turned});
    graph.outputs = {scores, b, s};
    graph.hidden_outputs = 2;
    graph.bounded_axes = {{.output = 0, .axis = 0, .extent = 1},
                          {.output = 0, .axis = 1, .extent = 2}};
  }
};

TEST(CallPartsTest, AllIsWantedWhereNoRunSizesAnything) {
  EXPECT_THAT(PartsOfValues(Graph()), IsEmpty());
  EXPECT_EQ(LeastParts(std::vector<ValueId>{0, 3}, {}), 1);
}

TEST(CallPartsTest, SizesThatARunHasAtLeastSayWhichPartItWants) {
  const Sized sized(2, 5);
  const std::vector<double> parts = PartsOfValues(sized.graph);
  EXPECT_THAT(parts[sized.scores], DoubleEq(4 / 2.0 * 8 / 5.0));
  // Each row is multiplied by all: batches alone are left out.
  EXPECT_THAT(parts[sized.exp], DoubleEq(4 / 2.0));
  // A size that no smaller bounds serve is there from its least on.
  const Sized words(0, 0);
  EXPECT_THAT(PartsOfValues(words.graph)[words.scores], DoubleEq(4 / 1.0 * 8 / 2.0));
}

TEST(CallPartsTest, AKernelComputesWhatAnyOfItsResultsNeeds) {
  const Sized sized(2, 5);
  const std::vector<double> parts = PartsOfValues(sized.graph);
  EXPECT_EQ(LeastParts(std::vector<ValueId>{sized.scores, sized.exp}, parts), parts[sized.exp]);
  EXPECT_EQ(LeastParts(std::vector<ValueId>{sized.scores}, parts), parts[sized.scores]);
}

}  // namespace
}  // namespace burnish
