// If, Loop and Scan: what ONNX text becomes, by the graph interpreter.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "compiler/frontend/onnx_import.h"
#include "compiler/frontend/onnx_testing.h"
#include "compiler/graph/graph_interpreter.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using absl::StatusCode;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TensorValue Floats(std::vector<int64_t> shape, std::vector<double> values) {
  return {.dtype = DType::kF32, .shape = std::move(shape), .floats = std::move(values)};
}
TensorValue Bool(bool value) { return {.dtype = DType::kBool, .shape = {}, .integers = {value}}; }
TensorValue Int(int64_t value) { return {.dtype = DType::kI64, .shape = {}, .integers = {value}}; }

std::string Attribute(absl::string_view name, absl::string_view graph) {
  return absl::StrCat("attribute { name: '", name, "' type: GRAPH g { ", graph, " } } ");
}

// state = state + x + float(iteration); stacks the state. `cond`: nodes that write 'go'.
std::string AddingBody(absl::string_view cond) {
  return absl::StrCat(
      "input { name: 'i' } input { name: 'c' } input { name: 's' } "
      "node { op_type: 'Cast' input: 'i' output: 'f' attribute { name: 'to' type: INT i: 1 } } "
      "node { op_type: 'Add' input: ['s', 'x'] output: 't' } "
      "node { op_type: 'Add' input: ['t', 'f'] output: 'u' } ",
      cond, "output { name: 'go' } output { name: 'u' } output { name: 'u' } ");
}
constexpr char kAlways[] = "node { op_type: 'Identity' input: 'c' output: 'go' } ";
constexpr char kBelowTen[] = "node { op_type: 'Less' input: ['u', 'ten'] output: 'go' } ";

std::string LoopModel(absl::string_view before, absl::string_view m, absl::string_view cond,
                      absl::string_view body, absl::string_view outputs = "['y', 'all']") {
  std::string text =
      absl::StrCat(OnnxTensorInfo("input", "x", {1}), before, OnnxFloats("ten", {1}, {10}),
                   "node { name: 'the loop' op_type: 'Loop' input: ['", m, "', '", cond,
                   "', 'x'] output: ", outputs, " ", Attribute("body", body), " } ",
                   OnnxTensorInfo("output", "y", {1}));
  if (absl::StrContains(outputs, "all")) {
    absl::StrAppend(&text, OnnxTensorInfo("output", "all", {}));
  }
  return OnnxModel(text);
}

TEST(OnnxControlTest, ALoopOfAKnownCountStacks) {
  ASSERT_OK_AND_ASSIGN(const Graph graph,
                       ImportOnnx(LoopModel(OnnxInts("m", {3}), "m", "", AddingBody(kAlways))));
  ASSERT_OK_AND_ASSIGN(const auto got, InterpretGraph(graph, {Floats({1}, {2})}));
  EXPECT_THAT(got[0].floats, ElementsAre(11));
  EXPECT_THAT(got[1].shape, ElementsAre(3, 1));
  EXPECT_THAT(got[1].floats, ElementsAre(4, 7, 11));
}

TEST(OnnxControlTest, AConditionOrACountFromTheInputEndsALoop) {
  ASSERT_OK_AND_ASSIGN(Graph graph,
                       ImportOnnx(LoopModel("", "", "", AddingBody(kBelowTen), "['y', '']")));
  ASSERT_OK_AND_ASSIGN(auto got, InterpretGraph(graph, {Floats({1}, {2})}));
  EXPECT_THAT(got[0].floats, ElementsAre(11));
  ASSERT_OK_AND_ASSIGN(graph, ImportOnnx(LoopModel(OnnxTensorInfo("input", "m", {}, 7) + " " +
                                                       OnnxTensorInfo("input", "go0", {}, 9),
                                                   "m", "go0", AddingBody(kAlways), "['y', '']")));
  ASSERT_OK_AND_ASSIGN(got, InterpretGraph(graph, {Floats({1}, {2}), Int(2), Bool(true)}));
  EXPECT_THAT(got[0].floats, ElementsAre(7));
  ASSERT_OK_AND_ASSIGN(got, InterpretGraph(graph, {Floats({1}, {2}), Int(2), Bool(false)}));
  EXPECT_THAT(got[0].floats, ElementsAre(2));
}

// s = s + x while the counter, from 0 in steps of `step`, is below `bound`; as TensorFlow writes
// it.
// `node`: writes 'w', which then is the bound.
std::string CountingModel(absl::string_view m, int64_t step, absl::string_view bound,
                          absl::string_view node = "") {
  const std::string body = absl::StrCat(
      "input { name: 'i' } input { name: 'c' } input { name: 'k' } input { name: 'n' } "
      "input { name: 's' } node { op_type: 'Add' input: ['s', 'x'] output: 't' } "
      "node { op_type: 'Add' input: ['k', 'step'] output: 'l' } "
      "node { op_type: 'Cast' input: 'l' output: 'f' attribute { name: 'to' type: INT i: 1 } } "
      "",
      node, "node { op_type: 'Less' input: ['f', '", node.empty() ? "n" : "w",
      "'] output: 'go' } "
      "output { name: 'go' } output { name: 'l' } output { name: 'n' } output { name: 't' } "
      "output { name: 't' } ");
  return OnnxModel(absl::StrCat(
      OnnxTensorInfo("input", "x", {1}), OnnxTensorInfo("input", "data", {}), OnnxInts("zero", {0}),
      OnnxInts("step", {step}), OnnxInts("m", {3}), OnnxFloats("five", {1}, {5}),
      OnnxFloats("table", {17}, std::vector<float>(17, 5)),
      "node { name: 'the loop' op_type: 'Loop' input: ['", m, "', '', 'zero', '", bound,
      "', 'x'] output: ['', '', 'y', 'all'] ", Attribute("body", body), " } ",
      OnnxTensorInfo("output", "y", {1}), OnnxTensorInfo("output", "all", {})));
}

TEST(OnnxControlTest, AConditionOverKnownCountersIsACount) {
  const std::vector<TensorValue> inputs = {Floats({1}, {2}), Floats({}, {9})};
  ASSERT_OK_AND_ASSIGN(Graph graph, ImportOnnx(CountingModel("", 2, "five")));
  EXPECT_EQ(graph.nodes[0].attributes.Int("has_condition", 1), 0);
  ASSERT_OK_AND_ASSIGN(auto got, InterpretGraph(graph, inputs));
  EXPECT_THAT(got[0].floats, ElementsAre(8));
  EXPECT_THAT(got[1].floats, ElementsAre(4, 6, 8));
  // The count that the loop names is still its limit.
  ASSERT_OK_AND_ASSIGN(graph, ImportOnnx(CountingModel("m", 1, "five")));
  ASSERT_OK_AND_ASSIGN(got, InterpretGraph(graph, inputs));
  EXPECT_THAT(got[1].floats, ElementsAre(4, 6, 8));
  // One iteration, whose condition is false after it.
  ASSERT_OK_AND_ASSIGN(graph, ImportOnnx(CountingModel("", 9, "five")));
  ASSERT_OK_AND_ASSIGN(got, InterpretGraph(graph, inputs));
  EXPECT_THAT(got[1].floats, ElementsAre(4));
  // What only a run knows, what never ends, and what would be counted over much data, are no
  // counts.
  for (const std::string& model : {CountingModel("", 1, "data"), CountingModel("", -1, "five"),
                                   CountingModel("", 1, "five",
                                                 "node { op_type: 'Gather' input: ['table', 'k'] "
                                                 "output: 'w' } ")}) {
    EXPECT_THAT(ImportOnnx(model),
                StatusIs(StatusCode::kUnimplemented,
                         AllOf(HasSubstr("'the loop'"), HasSubstr("only a run knows"))));
  }
}

TEST(OnnxControlTest, LoopsThatCannotBeAreRefusedByName) {
  EXPECT_THAT(ImportOnnx(LoopModel("", "", "", AddingBody(kBelowTen))),
              StatusIs(StatusCode::kUnimplemented,
                       AllOf(HasSubstr("'the loop'"), HasSubstr("only a run knows"))));
  EXPECT_THAT(ImportOnnx(LoopModel("", "", "", AddingBody(kAlways), "['y', '']")),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'the loop'"), HasSubstr("always true"))));
  EXPECT_THAT(ImportOnnx(LoopModel("", "", "x", AddingBody(kBelowTen), "['y', '']")),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'the loop'"), HasSubstr("the condition: got f32[1]"))));
  EXPECT_THAT(
      ImportOnnx(LoopModel(OnnxInts("m", {3, 4}), "m", "", AddingBody(kAlways), "['y', '']")),
      StatusIs(StatusCode::kInvalidArgument,
               AllOf(HasSubstr("'the loop'"), HasSubstr("the trip count is no scalar"))));
  EXPECT_THAT(ImportOnnx(LoopModel(OnnxInts("m", {3}), "m", "",
                                   "input { name: 'i' } output { name: 'i' } ", "['y', '']")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("fewer than 2 inputs")));
  // A state that grows, too often to be unrolled.
  EXPECT_THAT(
      ImportOnnx(LoopModel(OnnxInts("m", {65}), "m", "",
                           "input { name: 'i' } input { name: 'c' } input { name: 's' } "
                           "node { op_type: 'Concat' input: ['s', 'x'] output: 't' attribute { "
                           "name: 'axis' type: INT i: 0 } } "
                           "output { name: 'c' } output { name: 't' } ",
                           "['y']")),
      StatusIs(StatusCode::kUnimplemented,
               AllOf(HasSubstr("'the loop'"), HasSubstr("a state is f32[1] before an iteration"))));
  EXPECT_THAT(ImportOnnx(LoopModel(OnnxInts("m", {3}), "m", "",
                                   "input { name: 'i' } input { name: 'c' } input { name: 's' } "
                                   "node { name: 'odd' op_type: 'NoSuch' input: 's' output: 't' } "
                                   "output { name: 'c' } output { name: 't' } ",
                                   "['y']")),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("NoSuch ('odd')")));
}

// A state that grows, and a slice that begins where the iteration says.
TEST(OnnxControlTest, ASmallLoopThatIsNoNodeIsUnrolled) {
  ASSERT_OK_AND_ASSIGN(
      const Graph graph,
      ImportOnnx(LoopModel(OnnxInts("m", {3}), "m", "",
                           "input { name: 'i' } input { name: 'c' } input { name: 's' } "
                           "node { op_type: 'Concat' input: ['s', 'ten'] output: 't' attribute { "
                           "name: 'axis' type: INT i: 0 } } "
                           "node { op_type: 'Reshape' input: ['i', 'one'] output: 'at' } "
                           "node { op_type: 'Add' input: ['at', 'one'] output: 'end' } "
                           "node { op_type: 'Slice' input: ['t', 'at', 'end'] output: 'u' } "
                           "initializer { name: 'one' dims: 1 data_type: 7 int64_data: 1 } "
                           "output { name: 'c' } output { name: 't' } output { name: 'u' } ")));
  ASSERT_OK_AND_ASSIGN(const auto got, InterpretGraph(graph, {Floats({1}, {2})}));
  EXPECT_THAT(got[0].floats, ElementsAre(2, 10, 10, 10));
  EXPECT_THAT(got[1].floats, ElementsAre(2, 10, 10));
}

std::string IfModel(absl::string_view condition, std::vector<int64_t> shape, int type = 9) {
  return OnnxModel(absl::StrCat(
      OnnxTensorInfo("input", "x", {2}), OnnxTensorInfo("input", "c", shape, type),
      OnnxFloats("k", {2}, {5, 6}), "node { name: 'the if' op_type: 'If' input: '", condition,
      "' output: 'y' ",
      Attribute("then_branch",
                "node { op_type: 'Add' input: ['x', 'k'] output: 't' } output { name: 't' }"),
      Attribute("else_branch", "output { name: 'x' }"), " } ", OnnxTensorInfo("output", "y", {2})));
}

TEST(OnnxControlTest, ABranchByTheModelsInput) {
  ASSERT_OK_AND_ASSIGN(const Graph graph, ImportOnnx(IfModel("c", {})));
  ASSERT_OK_AND_ASSIGN(auto got, InterpretGraph(graph, {Floats({2}, {1, 2}), Bool(true)}));
  EXPECT_THAT(got[0].floats, ElementsAre(6, 8));
  ASSERT_OK_AND_ASSIGN(got, InterpretGraph(graph, {Floats({2}, {1, 2}), Bool(false)}));
  EXPECT_THAT(got[0].floats, ElementsAre(1, 2));
  for (const std::string& model : {IfModel("c", {2}), IfModel("c", {}, 1), IfModel("x", {})}) {
    EXPECT_THAT(ImportOnnx(model),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("'the if'"), HasSubstr("want one element of bool"))));
  }
}

std::string ScanModel(absl::string_view attributes, std::vector<int64_t> second) {
  return OnnxModel(absl::StrCat(
      OnnxTensorInfo("input", "s0", {2}), OnnxTensorInfo("input", "a", {3, 2}),
      OnnxTensorInfo("input", "b", second),
      "node { name: 'the scan' op_type: 'Scan' input: ['s0', 'a', 'b'] output: ['s', 'z'] ",
      "attribute { name: 'num_scan_inputs' type: INT i: 2 } ", attributes,
      Attribute("body",
                "input { name: 'p' } input { name: 'q' } input { name: 'r' } "
                "node { op_type: 'Add' input: ['p', 'q'] output: 'm' } "
                "node { op_type: 'Sub' input: ['m', 'r'] output: 'n' } "
                "output { name: 'n' } output { name: 'n' } "),
      " } ", OnnxTensorInfo("output", "s", {2}), OnnxTensorInfo("output", "z", {})));
}

TEST(OnnxControlTest, AScanWithAxesAndDirections) {
  const std::string turned =
      "attribute { name: 'scan_input_axes' type: INTS ints: [0, -1] } "
      "attribute { name: 'scan_input_directions' type: INTS ints: [0, 1] } "
      "attribute { name: 'scan_output_axes' type: INTS ints: [1] } "
      "attribute { name: 'scan_output_directions' type: INTS ints: [1] } ";
  ASSERT_OK_AND_ASSIGN(const Graph graph, ImportOnnx(ScanModel(turned, {2, 3})));
  ASSERT_OK_AND_ASSIGN(
      const auto got,
      InterpretGraph(graph, {Floats({2}, {100, 200}), Floats({3, 2}, {1, 2, 3, 4, 5, 6}),
                             Floats({2, 3}, {10, 20, 30, 40, 50, 60})}));
  // Slices of b from the end: 30,60; 20,50; 10,40.
  EXPECT_THAT(got[0].floats, ElementsAre(49, 62));
  EXPECT_THAT(got[1].shape, ElementsAre(2, 3));
  EXPECT_THAT(got[1].floats, ElementsAre(49, 54, 71, 62, 96, 142));
}

TEST(OnnxControlTest, ScansThatDoNotFitAreRefusedByName) {
  EXPECT_THAT(ImportOnnx(ScanModel("", {4, 2})),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'the scan'"),
                             HasSubstr("scan input 1 has 4 slices, input 0 has 3"))));
  EXPECT_THAT(
      ImportOnnx(ScanModel("attribute { name: 'scan_input_axes' type: INTS ints: [0] } ", {3, 2})),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("has 1 elements, want 2")));
  EXPECT_THAT(ImportOnnx(ScanModel("attribute { name: 'scan_input_axes' type: INTS ints: [0, 2] } ",
                                   {3, 2})),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("axis 2 is out of range")));
}

TEST(OnnxControlTest, NestingIsBounded) {
  std::string body = "output { name: 'x' }";
  for (int depth = 0; depth < 20; ++depth) {
    body = absl::StrCat("node { name: 'n", depth, "' op_type: 'If' input: 'c' output: 'd", depth,
                        "' ", Attribute("then_branch", body),
                        Attribute("else_branch", "output { name: 'x' }"), " } output { name: 'd",
                        depth, "' }");
  }
  const std::string model = OnnxModel(absl::StrCat(
      OnnxTensorInfo("input", "x", {2}), OnnxTensorInfo("input", "c", {}, 9),
      "node { op_type: 'If' input: 'c' output: 'y' ", Attribute("then_branch", body),
      Attribute("else_branch", "output { name: 'x' }"), " } ", OnnxTensorInfo("output", "y", {2})));
  EXPECT_THAT(ImportOnnx(model), StatusIs(StatusCode::kResourceExhausted,
                                          AllOf(HasSubstr("'n4'"), HasSubstr("16 deep"))));
}

}  // namespace
}  // namespace burnish
