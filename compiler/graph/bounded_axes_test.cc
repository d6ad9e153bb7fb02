#include "compiler/graph/bounded_axes.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/status_matchers.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/te/operator_cases.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Shape = std::vector<int64_t>;

// Stand for i64 scalars of some graph.
constexpr ValueId kN = 100, kM = 101, _ = kFullAxis;

absl::StatusOr<CarriedExtents> Carry(const std::string& op, const std::vector<TensorType>& types,
                                     const std::vector<AxisExtents>& extents,
                                     Attributes attributes = {}) {
  Graph graph;
  GraphNode node{.name = "node", .op = FindOpId(op).value(), .attributes = std::move(attributes)};
  for (const TensorType& type : types) node.inputs.push_back(AddInput(graph, "x", type));
  return CarryExtents(graph, node, extents);
}
TensorType F(Shape shape) { return {DType::kF32, std::move(shape)}; }
TensorType I(Shape shape) { return {DType::kI64, std::move(shape)}; }

TEST(BoundedAxesTest, AxesGoOnWhereTheyAreIndexedAsTheyAre) {
  ASSERT_OK_AND_ASSIGN(auto got, Carry("exp", {F({4, 3})}, {{kN, _}}));
  EXPECT_THAT(got.outputs[0], ElementsAre(kN, _));
  ASSERT_OK_AND_ASSIGN(got, Carry("add", {F({4, 3}), F({3})}, {{kN, _}, {_}}));
  EXPECT_THAT(got.outputs[0], ElementsAre(kN, _));
  ASSERT_OK_AND_ASSIGN(got, Carry("add", {F({4, 1}), F({1, 5})}, {{kN, _}, {_, kM}}));
  EXPECT_THAT(got.outputs[0], ElementsAre(kN, kM));
  ASSERT_OK_AND_ASSIGN(got, Carry("transpose", {F({4, 3, 2})}, {{kN, _, _}},
                                  MakeAttributes({{"perm", Shape{2, 0, 1}}})));
  EXPECT_THAT(got.outputs[0], ElementsAre(_, kN, _));
  ASSERT_OK_AND_ASSIGN(
      got, Carry("softmax", {F({4, 3})}, {{kN, _}}, MakeAttributes({{"axis", int64_t{1}}})));
  EXPECT_THAT(got.outputs[0], ElementsAre(kN, _));
  ASSERT_OK_AND_ASSIGN(got, Carry("layer_norm", {F({4, 3}), F({3}), F({3})}, {{kN, _}, {_}, {_}},
                                  MakeAttributes({{"axis", int64_t{1}}})));
  EXPECT_THAT(got.outputs[0], ElementsAre(kN, _));
  ASSERT_OK_AND_ASSIGN(got, Carry("matmul", {F({4, 3}), F({3, 5})}, {{kN, _}, {_, kM}}));
  EXPECT_THAT(got.outputs[0], ElementsAre(kN, kM));
  ASSERT_OK_AND_ASSIGN(got, Carry("concat", {F({4, 3}), F({4, 2})}, {{kN, _}, {kN, _}},
                                  MakeAttributes({{"axis", int64_t{1}}})));
  EXPECT_THAT(got.outputs[0], ElementsAre(kN, _));
  ASSERT_OK_AND_ASSIGN(got, Carry("reduce_mean", {F({4, 3})}, {{kN, _}},
                                  MakeAttributes({{"axes", Shape{1}}, {"keepdims", int64_t{0}}})));
  EXPECT_THAT(got.outputs[0], ElementsAre(kN));
  ASSERT_OK_AND_ASSIGN(got, Carry("slice", {F({4, 3})}, {{kN, _}},
                                  MakeAttributes({{"axes", Shape{1}},
                                                  {"starts", Shape{2}},
                                                  {"ends", Shape{0}},
                                                  {"steps", Shape{-1}}})));
  EXPECT_THAT(got.outputs[0], ElementsAre(kN, _));
}

TEST(BoundedAxesTest, IndicesAndDivisorsAreMadeHarmless) {
  ASSERT_OK_AND_ASSIGN(auto got, Carry("gather", {F({9, 3}), I({4})}, {{_, _}, {kN}},
                                       MakeAttributes({{"axis", int64_t{0}}})));
  EXPECT_THAT(got.outputs[0], ElementsAre(kN, _));
  ASSERT_EQ(got.fills.size(), 1u);
  EXPECT_EQ(got.fills[0].input, 1u);
  EXPECT_EQ(got.fills[0].value, 0);
  ASSERT_OK_AND_ASSIGN(got, Carry("gather_nd", {F({9, 3}), I({4, 2})}, {{_, _}, {kN, _}}));
  EXPECT_THAT(got.outputs[0], ElementsAre(kN));
  EXPECT_FALSE(got.fills.empty());
  ASSERT_OK_AND_ASSIGN(got, Carry("div", {I({4}), I({4})}, {{kN}, {kN}}));
  ASSERT_EQ(got.fills.size(), 1u);
  EXPECT_EQ(got.fills[0].input, 1u);
  EXPECT_EQ(got.fills[0].value, 1);
  ASSERT_OK_AND_ASSIGN(got, Carry("div", {F({4}), F({4})}, {{kN}, {kN}}));
  EXPECT_TRUE(got.fills.empty()) << "a float is divided by 0 without an error";
}

TEST(BoundedAxesTest, WhatMixesIsRefusedWithItsDimension) {
  const auto refused = [](const absl::StatusOr<CarriedExtents>& got, const char* what) {
    EXPECT_THAT(got, StatusIs(absl::StatusCode::kUnimplemented, HasSubstr(what)));
  };
  refused(Carry("reduce_sum", {F({4, 3})}, {{kN, _}}, MakeAttributes({{"axes", Shape{0}}})),
          "reduce over dimension 0 of input 0");
  refused(Carry("softmax", {F({4, 3})}, {{_, kN}}, MakeAttributes({{"axis", int64_t{1}}})),
          "reduce over dimension 1 of input 0");
  refused(Carry("matmul", {F({4, 3}), F({3, 5})}, {{_, kN}, {kN, _}}),
          "reduce over dimension 1 of input 0");
  refused(Carry("add", {F({4}), F({4})}, {{kN}, {kM}}), "dimension 0");
  refused(Carry("add", {F({4}), F({4})}, {{kN}, {_}}), "dimension 0");
  refused(Carry("concat", {F({4}), F({4})}, {{kN}, {_}}, MakeAttributes({{"axis", int64_t{0}}})),
          "element by element along dimension 0 of input 0");
  refused(Carry("slice", {F({4})}, {{kN}},
                MakeAttributes({{"axes", Shape{0}}, {"starts", Shape{0}}, {"ends", Shape{3}}})),
          "dimension 0");
  refused(
      Carry("gather", {F({9, 3}), I({4})}, {{kN, _}, {_}}, MakeAttributes({{"axis", int64_t{0}}})),
      "dimension 0 of input 0");
  refused(Carry("cum_sum", {F({4})}, {{kN}}), "takes no input");
}

bool IsSame(const TensorValue& a, const TensorValue& b) {
  return a.integers == b.integers &&
         std::equal(a.floats.begin(), a.floats.end(), b.floats.begin(), b.floats.end(),
                    [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

// Of every operator of the library, on the cases that ONNX Runtime has answered: with whatever in
// the elements that do not hold, those that hold of the results are the same.
TEST(BoundedAxesTest, NothingOfWhatDoesNotHoldComesThrough) {
  int carried_cases = 0;
  for (const OperatorCase& c : ReadOperatorCases()) {
    if (c.op->fusion == FusionKind::kHost) continue;
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      for (size_t d = 0; d < c.inputs[i].shape.size(); ++d) {
        if (c.inputs[i].shape[d] < 2) continue;
        std::vector<AxisExtents> extents;
        for (const TensorValue& input : c.inputs) {
          extents.emplace_back(input.shape.size(), kFullAxis);
        }
        extents[i][d] = kN;
        Graph graph;
        GraphNode node{.name = c.name, .op = c.op->id, .attributes = c.attributes};
        for (const TensorValue& input : c.inputs) {
          node.inputs.push_back(AddInput(graph, "x", {input.dtype, input.shape}));
        }
        const auto carried = CarryExtents(graph, node, extents);
        if (!carried.ok() || !carried->fills.empty()) continue;
        ++carried_cases;
        node.outputs.assign(c.outputs.size(), -1);
        const int64_t holding = c.inputs[i].shape[d] - 1;
        std::vector<TensorValue> inputs = c.inputs;
        int64_t inner = 1;
        for (size_t k = d + 1; k < inputs[i].shape.size(); ++k) inner *= inputs[i].shape[k];
        const int64_t count = ElementCount(inputs[i].shape);
        for (int64_t at = 0; at < count; ++at) {
          if (at / inner % inputs[i].shape[d] < holding) continue;
          if (!inputs[i].floats.empty()) inputs[i].floats[at] = 77.5;
          if (!inputs[i].integers.empty()) inputs[i].integers[at] ^= 1;
        }
        ASSERT_OK_AND_ASSIGN(std::vector<TensorValue> want, InterpretNode(graph, node, c.inputs));
        ASSERT_OK_AND_ASSIGN(std::vector<TensorValue> got, InterpretNode(graph, node, inputs));
        for (size_t o = 0; o < want.size(); ++o) {
          Shape shape = want[o].shape;
          for (size_t k = 0; k < shape.size(); ++k) {
            if (carried->outputs[o][k] == kN) shape[k] = holding;
          }
          EXPECT_TRUE(IsSame(Prefix(want[o], shape), Prefix(got[o], shape)))
              << c.name << " input " << i << " dimension " << d << " output " << o;
        }
      }
    }
  }
  EXPECT_GE(carried_cases, 300) << "the analysis carries nearly nothing";
}

}  // namespace
}  // namespace burnish
