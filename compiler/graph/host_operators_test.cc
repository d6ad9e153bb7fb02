// Operators without a definition, as the graph interpreter runs them, against ONNX Runtime's
// results (compiler/te/testdata/make_golden.py).
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "compiler/graph/fold_constants_pass.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/te/operator_cases.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

std::vector<OperatorCase> HostCases() {
  std::vector<OperatorCase> cases;
  for (OperatorCase& c : ReadOperatorCases()) {
    if (c.op->fusion == FusionKind::kHost) cases.push_back(std::move(c));
  }
  return cases;
}

Graph OneNode(const OperatorCase& c, bool constant_inputs) {
  Graph graph;
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const TensorType type{c.inputs[i].dtype, c.inputs[i].shape};
    const std::string name = absl::StrCat("x", i);
    inputs.push_back(constant_inputs ? AddConstant(graph, name, type, FromTensorValue(c.inputs[i]))
                                     : AddInput(graph, name, type));
  }
  const absl::StatusOr<GraphNodeId> node = AddNode(graph, c.op->name(), inputs, c.attributes);
  EXPECT_THAT(node, IsOk());
  graph.outputs = graph.nodes[*node].outputs;
  return graph;
}

TEST(HostOperatorsTest, TheInterpreterComputesWhatOnnxRuntimeComputes) {
  std::set<std::string> seen;
  for (const OperatorCase& c : HostCases()) {
    SCOPED_TRACE(c.name);
    seen.insert(c.op->name());
    const Graph graph = OneNode(c, /*constant_inputs=*/false);
    ASSERT_THAT(VerifyGraph(graph), IsOk());
    ASSERT_OK_AND_ASSIGN(const auto got, InterpretGraph(graph, c.inputs));
    EXPECT_EQ(CompareOutputs(c.outputs, got, 1e-6), "");
  }
  EXPECT_GE(seen.size(), 8u);
}

TEST(HostOperatorsTest, ConstantsFold) {
  for (const OperatorCase& c : HostCases()) {
    SCOPED_TRACE(c.name);
    Graph graph = OneNode(c, /*constant_inputs=*/true);
    ASSERT_THAT(FoldConstants(graph), IsOk());
    EXPECT_TRUE(graph.nodes.empty());
    ASSERT_OK_AND_ASSIGN(const auto got, InterpretGraph(graph, {}));
    EXPECT_EQ(CompareOutputs(c.outputs, got, 1e-6), "");
  }
}

TEST(HostOperatorsTest, AnIndexOutOfBoundsBelongsToTheRun) {
  Graph graph;
  const auto constant = [&](const char* name, DType dtype, std::vector<int64_t> shape,
                            const std::vector<int64_t>& values) {
    return AddConstant(graph, name, {dtype, std::move(shape)}, FromInts(dtype, values));
  };
  const ValueId data = constant("data", DType::kI64, {2}, {1, 2});
  const ValueId indices = constant("indices", DType::kI64, {1}, {2});
  graph.outputs = {
      Op(graph, "scatter_elements", {data, indices, constant("updates", DType::kI64, {1}, {3})})};
  ASSERT_THAT(FoldConstants(graph), IsOk());
  EXPECT_EQ(graph.nodes.size(), 1u);
  EXPECT_THAT(InterpretGraph(graph, {}),
              StatusIs(absl::StatusCode::kOutOfRange, ::testing::HasSubstr("scatter_elements")));
}

}  // namespace
}  // namespace burnish
