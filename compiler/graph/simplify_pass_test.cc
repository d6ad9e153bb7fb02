#include "compiler/graph/simplify_pass.h"

#include <cmath>

#include "base/status_matchers.h"
#include "compiler/graph/graph_testing.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;

// Operators of the simplified graph in order, after checking that it computes the same.
std::string Simplified(Graph graph) {
  const Graph before = graph;
  EXPECT_THAT(Simplify(graph), IsOk());
  EXPECT_EQ(Difference(before, graph), "");
  std::string ops;
  for (const GraphNode& node : graph.nodes)
    ops += (ops.empty() ? "" : " ") + std::string(OpName(node.op));
  return ops;
}

ValueId Turn(Graph& graph, ValueId x, Shape perm) {
  return Op(graph, "transpose", {x}, {{"perm", std::move(perm)}});
}

TEST(SimplifyTest, TransposesThatUndoEachOtherGo) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {2, 3, 4}});
  const ValueId there = Turn(graph, x, {2, 0, 1});
  graph.outputs = {Op(graph, "relu", {Turn(graph, there, {1, 2, 0})})};
  EXPECT_EQ(Simplified(graph), "relu");
}

TEST(SimplifyTest, TransposesMergeAndOneThatMovesNothingIsAReshape) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {2, 3, 4}});
  const ValueId thin = AddInput(graph, "thin", {DType::kF32, {2, 1, 4}});
  graph.outputs = {Op(graph, "relu", {Turn(graph, Turn(graph, x, {2, 0, 1}), {0, 2, 1})}),
                   Op(graph, "relu", {Turn(graph, thin, {1, 0, 2})})};
  EXPECT_EQ(Simplified(graph), "transpose relu reshape relu");
}

TEST(SimplifyTest, ReshapeChainsShrinkToOneOrNone) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {2, 6}});
  const ValueId a = Op(graph, "reshape", {x}, {{"shape", Shape{12}}});
  const ValueId b = Op(graph, "reshape", {a}, {{"shape", Shape{3, 4}}});
  const ValueId c = Op(graph, "reshape", {a}, {{"shape", Shape{2, 6}}});
  graph.outputs = {Op(graph, "relu", {b}), Op(graph, "relu", {c})};
  EXPECT_EQ(Simplified(graph), "relu reshape relu");
}

TEST(SimplifyTest, ChoicesThatAreNoneGo) {
  const auto choose = [](std::vector<uint8_t> condition, bool of_one) {
    Graph graph;
    const ValueId x = AddInput(graph, "x", {DType::kF32, {2, 3}});
    const ValueId y = AddInput(graph, "y", {DType::kF32, {3}});
    const auto count = static_cast<int64_t>(condition.size());
    const ValueId c = AddConstant(graph, "c", {DType::kBool, {count}}, MakeConstant(condition));
    graph.outputs = {Op(graph, "relu", {Op(graph, "where", {c, x, of_one ? x : y})})};
    return Simplified(graph);
  };
  EXPECT_EQ(choose({1, 1, 1}, /*of_one=*/false), "relu");
  EXPECT_EQ(choose({1}, /*of_one=*/false), "relu");
  EXPECT_EQ(choose({0, 0, 0}, /*of_one=*/false), "expand relu");
  EXPECT_EQ(choose({1, 0, 1}, /*of_one=*/true), "relu");
  EXPECT_EQ(choose({1, 0, 1}, /*of_one=*/false), "where relu");
}

TEST(SimplifyTest, AChoiceKeepsTheShapeThatItsConditionGives) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {3}});
  const ValueId holds = AddInput(graph, "holds", {DType::kBool, {4, 1}});
  graph.outputs = {Op(graph, "relu", {Op(graph, "where", {holds, x, x})})};
  EXPECT_EQ(Simplified(graph), "expand relu");
}

TEST(SimplifyTest, OnlyCastsThatLoseNothingMerge) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kI32, {3}});
  const auto cast = [&](ValueId v, const char* to) {
    return Op(graph, "cast", {v}, {{"to", std::string(to)}});
  };
  const ValueId exact = cast(cast(x, "i64"), "i32");
  const ValueId lossy = cast(cast(x, "i8"), "i32");
  graph.outputs = {Op(graph, "add", {exact, lossy})};
  EXPECT_EQ(Simplified(graph), "cast cast add");
}

TEST(SimplifyTest, ZeroPaddingMovesIntoTheConvolution) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 2, 4, 4}});
  const ValueId w = AddRandomConstant(graph, "w", {3, 2, 3, 3}, 1);
  const ValueId padded = Op(graph, "pad", {x}, {{"pads", Shape{0, 0, 1, 0, 0, 0, 2, 1}}});
  graph.outputs = {Op(graph, "conv", {padded, w}, {{"pads", Shape{0, 1, 1, 0}}})};
  EXPECT_EQ(Simplified(graph), "conv");
}

TEST(SimplifyTest, PaddingWithOtherValuesStays) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 2, 4, 4}});
  const ValueId w = AddRandomConstant(graph, "w", {3, 2, 3, 3}, 1);
  const ValueId padded =
      Op(graph, "pad", {x}, {{"pads", Shape{0, 0, 1, 1, 0, 0, 1, 1}}, {"value", 1.0}});
  graph.outputs = {Op(graph, "conv", {padded, w})};
  EXPECT_EQ(Simplified(graph), "pad conv");
}

TEST(SimplifyTest, SquaresAndRootsArePlainArithmetic) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {3}});
  const auto power = [&](ValueId v, float exponent) {
    const ValueId e = AddConstant(graph, "e", {DType::kF32, {}}, MakeConstant<float>({exponent}));
    return Op(graph, "pow", {v, e});
  };
  graph.outputs = {power(power(x, 2), 0.5f)};
  // What a root would make of -0 and of -infinity is put right.
  EXPECT_EQ(Simplified(graph), "mul add sqrt equal where");
}

// The reciprocal of 2^-17 is no 16-bit float, and that of 2^127 is a denormal one.
TEST(SimplifyTest, AQuotientWhoseReciprocalIsNoNumberStays) {
  for (const DType dtype : {DType::kF16, DType::kBf16, DType::kF32, DType::kF64}) {
    const int most = dtype == DType::kF16 ? 14 : dtype == DType::kF64 ? 1022 : 126;
    for (const int exponent : {-most - 1, -most, most, most + 1}) {
      SCOPED_TRACE(testing::Message() << DTypeName(dtype) << " 2^" << exponent);
      Graph graph;
      const ValueId x = AddInput(graph, "x", {dtype, {3}});
      const ValueId d =
          AddConstant(graph, "d", {dtype, {}}, FromDoubles(dtype, {std::ldexp(1.0, exponent)}));
      graph.outputs = {Op(graph, "div", {x, d})};
      EXPECT_EQ(Simplified(graph), std::abs(exponent) == most ? "mul" : "div");
    }
  }
}

TEST(SimplifyTest, OnlyDivisionsByPowersOfTwoAreProducts) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {3}});
  const auto divided = [&](float divisor) {
    const ValueId d = AddConstant(graph, "d", {DType::kF32, {}}, MakeConstant<float>({divisor}));
    return Op(graph, "div", {x, d});
  };
  graph.outputs = {divided(8), divided(3), divided(-0.5f), divided(0)};
  const Graph before = graph;
  ASSERT_THAT(Simplify(graph), IsOk());
  std::string ops;
  for (const GraphNode& node : graph.nodes) absl::StrAppend(&ops, OpName(node.op), " ");
  EXPECT_EQ(ops, "div div mul mul ");
}

TEST(SimplifyTest, AProductWithItsOwnSigmoidIsSilu) {
  const auto product = [](bool gate_first, bool of_another, bool used_twice) {
    Graph graph;
    const ValueId x = AddInput(graph, "x", {DType::kF32, {2, 3}});
    const ValueId y = AddInput(graph, "y", {DType::kF32, {2, 3}});
    const ValueId gate = Op(graph, "sigmoid", {x});
    const ValueId other = of_another ? y : x;
    graph.outputs = {gate_first ? Op(graph, "mul", {gate, other})
                                : Op(graph, "mul", {other, gate})};
    if (used_twice) graph.outputs.push_back(Op(graph, "neg", {gate}));
    return Simplified(graph);
  };
  EXPECT_EQ(product(false, false, false), "silu");
  EXPECT_EQ(product(true, false, false), "silu");
  EXPECT_EQ(product(true, true, false), "sigmoid mul");
  EXPECT_EQ(product(false, false, true), "sigmoid mul neg");
}

TEST(SimplifyTest, OnePlaceThatIsKnownIsCutOut) {
  const auto taken = [](int64_t place, Shape places_shape, int64_t axis) {
    Graph graph;
    const ValueId x = AddInput(graph, "x", {DType::kF32, {2, 3, 4}});
    const ValueId at = AddConstant(graph, "at", {DType::kI64, std::move(places_shape)},
                                   MakeConstant(std::vector<int64_t>{place}));
    graph.outputs = {Op(graph, "relu", {Op(graph, "gather", {x, at}, {{"axis", axis}})})};
    return Simplified(graph);
  };
  EXPECT_EQ(taken(1, {}, 1), "slice reshape relu");
  EXPECT_EQ(taken(-1, {}, -1), "slice reshape relu");
  EXPECT_EQ(taken(2, {1}, 1), "slice relu");
  EXPECT_EQ(taken(0, {1, 1}, 0), "slice reshape relu");
}

TEST(SimplifyTest, APlaceThatIsNotThereOrInAnAxisThatRunsFillIsLeftToTheRun) {
  for (const bool sized : {false, true}) {
    Graph graph;
    const ValueId x = AddInput(graph, "x", {DType::kF32, {2, 3}});
    const ValueId at = AddConstant(graph, "at", {DType::kI64, {}},
                                   MakeConstant(std::vector<int64_t>{sized ? 1 : 3}));
    graph.outputs = {Op(graph, "gather", {x, at}, {{"axis", int64_t{1}}})};
    if (sized) graph.sizes.emplace_back();
    ASSERT_THAT(Simplify(graph), IsOk());
    ASSERT_EQ(graph.nodes.size(), 1u);
    EXPECT_EQ(graph.nodes[0].op, "gather");
  }
}

TEST(SimplifyTest, ProductsWithConstantMatricesAreDense) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {2, 3, 4}});
  const ValueId w = AddRandomConstant(graph, "w", {4, 5}, 1);
  graph.outputs = {Op(graph, "matmul", {x, w})};
  EXPECT_EQ(Simplified(graph), "dense");
}

TEST(SimplifyTest, ProductsOfIntegersStayWhatTheyAre) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kI32, {2, 2}});
  const ValueId w =
      AddConstant(graph, "w", {DType::kI32, {2, 2}}, MakeConstant<int32_t>({1, 2, 3, 4}));
  graph.outputs = {Op(graph, "matmul", {x, w})};
  EXPECT_EQ(Simplified(graph), "matmul");
}

TEST(SimplifyTest, AProductReadsItsOperandTransposed) {
  Graph graph;
  const ValueId a = AddInput(graph, "a", {DType::kF32, {2, 3, 4}});
  const ValueId b = AddInput(graph, "b", {DType::kF32, {5, 2, 4}});
  graph.outputs = {Op(graph, "matmul", {a, Turn(graph, b, {1, 2, 0})})};
  Graph simple = graph;
  ASSERT_THAT(Simplify(simple), IsOk());
  EXPECT_EQ(simple.nodes.back().attributes.Int("trans_b", 0), 1);
  EXPECT_EQ(simple.nodes.front().attributes.Ints("perm", {}), (Shape{1, 0, 2}));
  EXPECT_EQ(Difference(graph, simple), "");
}

TEST(SimplifyTest, AnInputThatIsAnOutputKeepsBothNames) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {3}});
  graph.outputs = {Op(graph, "identity", {x})};
  graph.values[graph.outputs[0]].name = "y";
  EXPECT_EQ(Simplified(graph), "identity");
}

}  // namespace
}  // namespace burnish
