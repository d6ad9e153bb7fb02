#include "compiler/graph/fold_constants_pass.h"

#include "base/status_matchers.h"
#include "compiler/graph/constant_origin.h"
#include "compiler/graph/eliminate_common_pass.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using Shape = std::vector<int64_t>;

TEST(FoldConstantsTest, ASubgraphOfConstantsBecomesOne) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {2}});
  const ValueId a = AddConstant(graph, "a", {DType::kF32, {2}}, MakeConstant<float>({1, 2}));
  const ValueId b = AddConstant(graph, "b", {DType::kF32, {}}, MakeConstant<float>({3}));
  const ValueId folded = Op(graph, "mul", {Op(graph, "add", {a, b}), b});
  graph.outputs = {Op(graph, "add", {x, folded})};
  ASSERT_THAT(FoldConstants(graph), IsOk());
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_THAT(CopyAs<float>(*graph.value(graph.nodes[0].inputs[1]).data), ElementsAre(12, 15));
}

TEST(FoldConstantsTest, OperatorsWithoutAFastPathRunOnTheInterpreter) {
  Graph graph;
  const ValueId a = AddConstant(graph, "a", {DType::kF32, {1, 2}}, MakeConstant<float>({0, 0}));
  graph.outputs = {Op(graph, "softmax", {a}, {{"axis", int64_t{1}}})};
  ASSERT_THAT(FoldConstants(graph), IsOk());
  EXPECT_TRUE(graph.nodes.empty());
  EXPECT_THAT(CopyAs<float>(*graph.value(graph.outputs[0]).data), ElementsAre(0.5f, 0.5f));
}

// More than the interpreter takes, as a table of positions times a projection is.
TEST(FoldConstantsTest, LargeProductsFoldWithinABudget) {
  const auto make = [] {
    Graph graph;
    const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 13, 31}});
    const ValueId a = AddRandomConstant(graph, "a", {1, 13, 29}, 1);
    const ValueId b = AddRandomConstant(graph, "b", {29, 31}, 2);
    graph.outputs = {Op(graph, "add", {x, Op(graph, "matmul", {a, b})})};
    return graph;
  };
  const Graph before = make();
  Graph after = before;
  ASSERT_THAT(FoldConstants(after, {.max_interpreted_flops = 1}), IsOk());
  EXPECT_EQ(after.nodes.size(), 1u);
  EXPECT_EQ(Difference(before, after, 1e-6), "");
  after = before;
  ASSERT_THAT(FoldConstants(after, {.max_product_flops = 1000}), IsOk());
  EXPECT_EQ(after.nodes.size(), 2u);
}

TEST(FoldConstantsTest, AnExpansionBeyondTheLimitStays) {
  Graph graph;
  const ValueId a = AddConstant(graph, "a", {DType::kF32, {1}}, MakeConstant<float>({1}));
  graph.outputs = {Op(graph, "expand", {a}, {{"shape", Shape{1000}}})};
  ASSERT_THAT(FoldConstants(graph, {.max_result_bytes = 100}), IsOk());
  EXPECT_EQ(graph.nodes.size(), 1u);
}

TEST(FoldConstantsTest, DivisionOfIntegersByZeroIsLeftToTheRun) {
  Graph graph;
  const ValueId a = AddConstant(graph, "a", {DType::kI64, {1}}, MakeConstant<int64_t>({1}));
  const ValueId zero = AddConstant(graph, "z", {DType::kI64, {1}}, MakeConstant<int64_t>({0}));
  const ValueId quotient = Op(graph, "div", {a, zero});
  const TypedConstant inputs[] = {{&graph.value(a).type, graph.value(a).data},
                                  {&graph.value(zero).type, graph.value(zero).data}};
  EXPECT_EQ(Evaluate(graph.nodes[0], inputs, {graph.value(quotient).type}), std::nullopt);
}

// The fast paths against the definitions.
struct EvaluateCase {
  const char* op;
  std::vector<TensorType> inputs;
  std::vector<std::pair<std::string, AttributeValue>> attributes;
};

class EvaluateTest : public ::testing::TestWithParam<EvaluateCase> {};

TEST_P(EvaluateTest, AgreesWithTheDefinition) {
  Graph graph;
  std::vector<ValueId> inputs;
  std::vector<TensorValue> arguments;
  for (const TensorType& type : GetParam().inputs) {
    arguments.push_back(RandomValue(type, inputs.size() + 7));
    if (std::string(GetParam().op) == "div" || std::string(GetParam().op) == "mod") {
      for (int64_t& v : arguments.back().integers) v += 1;
    }
    inputs.push_back(AddConstant(graph, "c", type, FromTensorValue(arguments.back())));
  }
  ASSERT_OK_AND_ASSIGN(const GraphNodeId id, AddNode(graph, GetParam().op, inputs,
                                                     MakeAttributes(GetParam().attributes)));
  const GraphNode& node = graph.nodes[id];
  std::vector<TypedConstant> constants;
  for (ValueId input : inputs)
    constants.push_back({&graph.value(input).type, graph.value(input).data});
  std::vector<TensorType> types;
  for (ValueId output : node.outputs) types.push_back(graph.value(output).type);
  const auto got = Evaluate(node, constants, types);
  ASSERT_TRUE(got.has_value());
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, InterpretNode(graph, node, arguments));
  std::vector<TensorValue> results;
  for (size_t i = 0; i < types.size(); ++i) {
    results.push_back(ToTensorValue(types[i], *(*got)[i]));
  }
  EXPECT_EQ(CompareOutputs(want, results, 1e-6), "");
}

const TensorType kF = {DType::kF32, {2, 3, 4}};
const TensorType kRow = {DType::kF32, {4}};
const TensorType kI = {DType::kI64, {2, 3}};
const TensorType kB = {DType::kBool, {2, 3}};

INSTANTIATE_TEST_SUITE_P(
    Operators, EvaluateTest,
    ::testing::Values(
        EvaluateCase{"add", {kF, kRow}, {}}, EvaluateCase{"sub", {kRow, kF}, {}},
        EvaluateCase{"div", {kF, kF}, {}}, EvaluateCase{"max", {kF, kRow}, {}},
        EvaluateCase{"less", {kF, kRow}, {}}, EvaluateCase{"mul", {kI, kI}, {}},
        EvaluateCase{"div", {kI, kI}, {}}, EvaluateCase{"mod", {kI, kI}, {{"fmod", int64_t{0}}}},
        EvaluateCase{"equal", {kI, kI}, {}}, EvaluateCase{"and", {kB, kB}, {}},
        EvaluateCase{"not", {kB}, {}}, EvaluateCase{"where", {kB, kI, kI}, {}},
        EvaluateCase{"abs", {kF}, {}}, EvaluateCase{"floor", {kF}, {}},
        EvaluateCase{"abs", {kI}, {}}, EvaluateCase{"neg", {kI}, {}},
        EvaluateCase{"sign", {kI}, {}}, EvaluateCase{"sign", {kF}, {}},
        EvaluateCase{"relu", {kI}, {}}, EvaluateCase{"relu", {kF}, {}},
        EvaluateCase{"cast", {kF}, {{"to", std::string("i32")}}},
        EvaluateCase{"cast", {kI}, {{"to", std::string("f32")}}},
        EvaluateCase{"reduce_sum", {kF}, {{"axes", Shape{0, 2}}, {"keepdims", int64_t{1}}}},
        EvaluateCase{"reduce_prod", {kI}, {{"axes", Shape{1}}, {"keepdims", int64_t{0}}}},
        EvaluateCase{"reduce_min", {kF}, {{"axes", Shape{1}}, {"keepdims", int64_t{0}}}},
        EvaluateCase{"matmul", {kF, {DType::kF32, {4, 5}}}, {}},
        EvaluateCase{"transpose", {kF}, {{"perm", Shape{2, 0, 1}}}},
        EvaluateCase{"reshape", {kF}, {{"shape", Shape{6, 4}}}},
        EvaluateCase{"expand", {kRow}, {{"shape", Shape{3, 4}}}},
        EvaluateCase{"concat", {kF, kF}, {{"axis", int64_t{1}}}},
        EvaluateCase{"split", {kF}, {{"axis", int64_t{2}}, {"split", Shape{1, 3}}}},
        EvaluateCase{"slice",
                     {kF},
                     {{"starts", Shape{2, 3}},
                      {"ends", Shape{-1, 1}},
                      {"axes", Shape{1, 2}},
                      {"steps", Shape{-1, -2}}}},
        EvaluateCase{"gather", {kF, {DType::kI64, {2, 2}}}, {{"axis", int64_t{2}}}},
        // Axes from the end.
        EvaluateCase{"concat", {kF, kF}, {{"axis", int64_t{-2}}}},
        EvaluateCase{"split", {kF}, {{"axis", int64_t{-1}}, {"split", Shape{1, 3}}}},
        EvaluateCase{"slice",
                     {kF},
                     {{"starts", Shape{1}}, {"ends", Shape{3}}, {"axes", Shape{-2}}}},
        EvaluateCase{"gather", {kF, {DType::kI64, {2, 2}}}, {{"axis", int64_t{-1}}}},
        EvaluateCase{"reduce_sum", {kF}, {{"axes", Shape{-2}}, {"keepdims", int64_t{1}}}}));

// Chains of operators over one parameter: x + x, again and again.
Graph DeepChain(int length) {
  Graph graph;
  ValueId x = AddRandomConstant(graph, "parameter", {2}, 1);
  for (int i = 0; i < length; ++i) x = Op(graph, "sub", {x, x});
  graph.outputs = {Op(graph, "relu", {x})};
  graph.values[graph.outputs[0]].name = "y";
  return graph;
}

TEST(FoldConstantsTest, LongChainsAreRememberedUpToADepth) {
  Graph short_chain = DeepChain(60), long_chain = DeepChain(20'000);
  for (Graph* graph : {&short_chain, &long_chain}) {
    MarkParameters(*graph);
    ASSERT_THAT(FoldConstants(*graph), IsOk());
    EliminateCommon(*graph);
  }
  EXPECT_EQ(CountNodes(short_chain, "sub"), 0);
  EXPECT_EQ(CountNodes(long_chain, "sub"), 20'000 - kOriginDepthMax);
  // Without parameters all is folded.
  Graph untracked = DeepChain(20'000);
  ASSERT_THAT(FoldConstants(untracked), IsOk());
  EXPECT_EQ(CountNodes(untracked, "sub"), 0);
}

}  // namespace
}  // namespace burnish
