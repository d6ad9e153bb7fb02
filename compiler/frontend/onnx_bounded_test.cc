// Results whose size is data: what ONNX text becomes, by the graph interpreter.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "compiler/frontend/onnx_import.h"
#include "compiler/frontend/onnx_testing.h"
#include "compiler/graph/graph_interpreter.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pointwise;

TensorValue Floats(std::vector<int64_t> shape, std::vector<double> values) {
  return {.dtype = DType::kF32, .shape = std::move(shape), .floats = std::move(values)};
}
TensorValue Ints(std::vector<int64_t> shape, std::vector<int64_t> values) {
  return {.dtype = DType::kI64, .shape = std::move(shape), .integers = std::move(values)};
}

// Inputs x f32[6] and table f32[6,2]; 'found' [1,n] are the places where x is not 0; the outputs of
// `nodes` are 'y' and perhaps 'z'.
absl::StatusOr<Graph> Import(absl::string_view nodes, absl::string_view more = "") {
  return ImportOnnx(OnnxModel(
      absl::StrCat(OnnxTensorInfo("input", "x", {6}), OnnxTensorInfo("input", "table", {6, 2}),
                   more, "node { name: 'find' op_type: 'NonZero' input: 'x' output: 'found' } ",
                   nodes, OnnxTensorInfo("output", "y", {}))));
}
constexpr char kPlaces[] =
    "node { op_type: 'Squeeze' input: ['found', 'zero'] output: 'places' } "
    "initializer { name: 'zero' data_type: 7 dims: 1 int64_data: 0 } ";
std::string Rows(absl::string_view rest) {
  return absl::StrCat(
      kPlaces, "node { op_type: 'Gather' input: ['table', 'places'] output: 'rows' } ", rest);
}
std::string Node(absl::string_view op, absl::string_view inputs,
                 absl::string_view attributes = "") {
  return absl::StrCat("node { name: 'the node' op_type: '", op, "' input: [", inputs,
                      "] output: 'y' ", attributes, " } ");
}
std::string IntAttribute(absl::string_view name, int64_t value) {
  return absl::StrCat("attribute { name: '", name, "' type: INT i: ", value, " } ");
}

const TensorValue kTable = Floats({6, 2}, {0, 1, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51});
const TensorValue kThree = Floats({6}, {0, 2, 0, 2, 0, 2}), kNone = Floats({6}, {0, 0, 0, 0, 0, 0});

TEST(OnnxBoundedTest, ResultsHaveTheShapeOfTheRun) {
  ASSERT_OK_AND_ASSIGN(const Graph graph, Import(Rows(Node("Neg", "'rows'"))));
  EXPECT_EQ(graph.hidden_outputs, 1);
  ASSERT_OK_AND_ASSIGN(auto got, InterpretGraph(graph, {kThree, kTable}));
  ASSERT_EQ(got.size(), 1u);
  EXPECT_THAT(got[0].shape, ElementsAre(3, 2));
  EXPECT_THAT(got[0].floats, ElementsAre(-10, -11, -30, -31, -50, -51));
  ASSERT_OK_AND_ASSIGN(got, InterpretGraph(graph, {kNone, kTable}));
  EXPECT_THAT(got[0].shape, ElementsAre(0, 2));
}

TEST(OnnxBoundedTest, ShapeAndSizeAreThoseOfTheRun) {
  ASSERT_OK_AND_ASSIGN(Graph graph, Import(Rows(Node("Shape", "'rows'"))));
  EXPECT_EQ(graph.hidden_outputs, 0);
  ASSERT_OK_AND_ASSIGN(auto got, InterpretGraph(graph, {kThree, kTable}));
  EXPECT_THAT(got[0].integers, ElementsAre(3, 2));
  ASSERT_OK_AND_ASSIGN(graph, Import(Rows(Node("Size", "'rows'"))));
  ASSERT_OK_AND_ASSIGN(got, InterpretGraph(graph, {kThree, kTable}));
  EXPECT_THAT(got[0].integers, ElementsAre(6));
}

// Two parts that a run sizes, around one that is full.
TEST(OnnxBoundedTest, PartsAreJoinedWithoutWhatDoesNotHold) {
  ASSERT_OK_AND_ASSIGN(
      const Graph graph,
      Import(Rows(Node("Concat", "'rows', 'table', 'rows'", IntAttribute("axis", 0)))));
  ASSERT_OK_AND_ASSIGN(auto got, InterpretGraph(graph, {kThree, kTable}));
  EXPECT_THAT(got[0].shape, ElementsAre(12, 2));
  EXPECT_THAT(got[0].floats, ElementsAre(10, 11, 30, 31, 50, 51, 0, 1, 10, 11, 20, 21, 30, 31, 40,
                                         41, 50, 51, 10, 11, 30, 31, 50, 51));
  ASSERT_OK_AND_ASSIGN(got, InterpretGraph(graph, {kNone, kTable}));
  EXPECT_THAT(got[0].shape, ElementsAre(6, 2));
  EXPECT_EQ(got[0].floats, kTable.floats);
  // The run's shape of it goes on.
  ASSERT_OK_AND_ASSIGN(
      const Graph size,
      Import(Rows("node { op_type: 'Concat' input: ['rows', 'rows'] output: 'both' "
                  "attribute { name: 'axis' type: INT i: -2 } } " +
                  Node("Shape", "'both'"))));
  ASSERT_OK_AND_ASSIGN(got, InterpretGraph(size, {kThree, kTable}));
  EXPECT_THAT(got[0].integers, ElementsAre(6, 2));
}

// As a detector joins what it found of each of COCO's classes.
TEST(OnnxBoundedTest, ManyPartsAreJoined) {
  constexpr int kParts = 90;
  std::string nodes, parts;
  for (int i = 0; i < kParts; ++i) {
    absl::StrAppend(&nodes, "initializer { name: 'c", i, "' data_type: 1 float_data: ", i, " } ",
                    "node { op_type: 'Sub' input: ['x', 'c", i, "'] output: 'd", i, "' } ",
                    "node { op_type: 'NonZero' input: 'd", i, "' output: 'n", i, "' } ");
    absl::StrAppend(&parts, i == 0 ? "'n" : ", 'n", i, "'");
  }
  ASSERT_OK_AND_ASSIGN(const Graph graph,
                       Import(nodes + Node("Concat", parts, IntAttribute("axis", 1))));
  ASSERT_OK_AND_ASSIGN(const auto got, InterpretGraph(graph, {kThree, kTable}));
  std::vector<int64_t> want;
  for (int i = 0; i < kParts; ++i) {
    for (int64_t place = 0; place < 6; ++place) {
      if (kThree.floats[place] != i) want.push_back(place);
    }
  }
  EXPECT_EQ(got[0].integers, want);
  // Each part's end is one sum more than the end before: sums grow with the parts, not their
  // square.
  EXPECT_LE(std::count_if(graph.nodes.begin(), graph.nodes.end(),
                          [](const GraphNode& node) { return node.op == "add"; }),
            2 * kParts);
}

TEST(OnnxBoundedTest, SlicesOfTheAxisItself) {
  const auto slice = [](int64_t start, int64_t end, const TensorValue& x) {
    const auto graph =
        Import(absl::StrCat(Rows(Node("Slice", "'rows', 's', 'e', 'a'")), OnnxInts("s", {start}),
                            OnnxInts("e", {end}), OnnxInts("a", {0})));
    EXPECT_THAT(graph, IsOk());
    const auto got = InterpretGraph(*graph, {x, kTable});
    EXPECT_THAT(got, IsOk());
    EXPECT_EQ((*got)[0].shape[0] * 2, static_cast<int64_t>((*got)[0].floats.size()));
    return (*got)[0].floats;
  };
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(slice(0, 2, kThree), ElementsAre(10, 11, 30, 31));
  EXPECT_THAT(slice(0, 1, kThree), ElementsAre(10, 11));
  EXPECT_THAT(slice(0, 5, kThree), ElementsAre(10, 11, 30, 31, 50, 51));
  EXPECT_THAT(slice(0, kEnd, kThree), ElementsAre(10, 11, 30, 31, 50, 51));
  EXPECT_THAT(slice(1, kEnd, kThree), ElementsAre(30, 31, 50, 51));
  EXPECT_THAT(slice(0, -1, kThree), ElementsAre(10, 11, 30, 31));
  EXPECT_THAT(slice(1, -1, kThree), ElementsAre(30, 31));
  EXPECT_THAT(slice(0, -6, kThree), IsEmpty());
  EXPECT_THAT(slice(4, kEnd, kThree), IsEmpty());
  EXPECT_THAT(slice(0, 1, kNone), IsEmpty());
  EXPECT_THAT(slice(1, -1, kNone), IsEmpty());
}

TEST(OnnxBoundedTest, IndicesIntoTheAxisCountFromItsRunTimeEnd) {
  ASSERT_OK_AND_ASSIGN(const Graph graph, Import(Rows(Node("Gather", "'rows', 'which'")),
                                                 OnnxTensorInfo("input", "which", {2}, 7)));
  const auto run = [&](const TensorValue& x, std::vector<int64_t> which) {
    return InterpretGraph(graph, {x, kTable, Ints({2}, std::move(which))});
  };
  ASSERT_OK_AND_ASSIGN(auto got, run(kThree, {-1, 0}));
  EXPECT_THAT(got[0].floats, ElementsAre(50, 51, 10, 11));
  ASSERT_OK_AND_ASSIGN(got, run(kThree, {-3, 2}));
  EXPECT_THAT(got[0].floats, ElementsAre(10, 11, 50, 51));
  for (const int64_t wrong : {3, 5, 6, -4, -6, -7}) EXPECT_FALSE(run(kThree, {0, wrong}).ok());
  EXPECT_FALSE(run(kNone, {0, 0}).ok());
}

TEST(OnnxBoundedTest, SelectionsOfSelections) {
  // Of the rows that were found those whose place is above 1, by a condition of a run.
  ASSERT_OK_AND_ASSIGN(
      Graph graph,
      Import(absl::StrCat(Rows("node { op_type: 'Greater' input: ['places', 'one'] output: 'c' } "),
                          OnnxInts("one", {1}),
                          Node("Compress", "'rows', 'c'", IntAttribute("axis", 0)))));
  ASSERT_OK_AND_ASSIGN(auto got, InterpretGraph(graph, {kThree, kTable}));
  EXPECT_THAT(got[0].shape, ElementsAre(2, 2));
  EXPECT_THAT(got[0].floats, ElementsAre(30, 31, 50, 51));
  ASSERT_OK_AND_ASSIGN(got, InterpretGraph(graph, {kNone, kTable}));
  EXPECT_THAT(got[0].shape, ElementsAre(0, 2));

  ASSERT_OK_AND_ASSIGN(graph, Import(Rows(Node("NonZero", "'rows'"))));
  ASSERT_OK_AND_ASSIGN(got, InterpretGraph(graph, {Floats({6}, {1, 1, 0, 0, 0, 0}), kTable}));
  EXPECT_THAT(got[0].shape, ElementsAre(2, 3));
  EXPECT_THAT(got[0].integers, ElementsAre(0, 1, 1, 1, 0, 1));

  ASSERT_OK_AND_ASSIGN(graph, Import(Rows(Node("Unique", "'rows'"))));
  ASSERT_OK_AND_ASSIGN(got, InterpretGraph(graph, {Floats({6}, {0, 1, 0, 0, 0, 0}), kTable}));
  EXPECT_THAT(got[0].floats, ElementsAre(10, 11));
}

TEST(OnnxBoundedTest, WhatIsKnownWhenTheModelIsReadHasAFixedShape) {
  ASSERT_OK_AND_ASSIGN(const Graph graph,
                       ImportOnnx(OnnxModel(absl::StrCat(
                           OnnxTensorInfo("input", "x", {2}), OnnxFloats("w", {5}, {3, 1, 3, 1, 3}),
                           "node { op_type: 'Unique' input: 'w' output: 'u' } ",
                           Node("Add", "'x', 'u'"), OnnxTensorInfo("output", "y", {2})))));
  EXPECT_EQ(graph.hidden_outputs, 0);
  ASSERT_OK_AND_ASSIGN(const auto got, InterpretGraph(graph, {Floats({2}, {10, 20})}));
  EXPECT_THAT(got[0].floats, ElementsAre(11, 23));
}

// What does not hold is the neutral element there; it would be row 0 of the table otherwise.
TEST(OnnxBoundedTest, ReductionsSeeWhatHolds) {
  struct Case {
    const char* op;
    std::vector<double> three, none;
  };
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const Case cases[] = {
      {"ReduceSum", {90, 93}, {0, 0}},
      {"ReduceSumSquare", {3500, 3683}, {0, 0}},
      {"ReduceL1", {90, 93}, {0, 0}},
      {"ReduceProd", {15000, 17391}, {1, 1}},
      {"ReduceMax", {50, 51}, {-kInf, -kInf}},
      {"ReduceMin", {10, 11}, {kInf, kInf}},
      {"ReduceMean", {30, 31}, {}},
      {"ReduceLogSumExp", {50, 51}, {-kInf, -kInf}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.op);
    const std::string attributes =
        std::string(c.op) == "ReduceSum" ? "" : "attribute { name: 'axes' type: INTS ints: 0 } ";
    ASSERT_OK_AND_ASSIGN(const Graph graph,
                         Import(Rows(absl::StrCat(Node(
                             c.op, std::string(c.op) == "ReduceSum" ? "'rows', 'zero'" : "'rows'",
                             absl::StrCat(attributes, IntAttribute("keepdims", 0)))))));
    EXPECT_EQ(graph.hidden_outputs, 0);
    ASSERT_OK_AND_ASSIGN(auto got, InterpretGraph(graph, {kThree, kTable}));
    EXPECT_THAT(got[0].floats, Pointwise(DoubleNear(1e-6), c.three));  // exp(30 - 50) is some more.
    ASSERT_OK_AND_ASSIGN(got, InterpretGraph(graph, {kNone, kTable}));
    if (!c.none.empty()) EXPECT_EQ(got[0].floats, c.none);
  }
  ASSERT_OK_AND_ASSIGN(const Graph graph,
                       Import(Rows(Node("ArgMin", "'rows'",
                                        IntAttribute("axis", 0) + IntAttribute("keepdims", 0)))));
  ASSERT_OK_AND_ASSIGN(const auto got, InterpretGraph(graph, {kThree, kTable}));
  EXPECT_THAT(got[0].integers, ElementsAre(0, 0));
}

TEST(OnnxBoundedTest, SoftmaxAndProductsOverWhatHolds) {
  // Attention of the rows to themselves.
  ASSERT_OK_AND_ASSIGN(const Graph graph,
                       Import(Rows(absl::StrCat(
                           "node { op_type: 'Transpose' input: 'rows' output: 'turned' } "
                           "node { op_type: 'MatMul' input: ['rows', 'turned'] output: 'scores' } "
                           "node { op_type: 'Softmax' input: 'scores' output: 'shares' attribute { "
                           "name: 'axis' type: "
                           "INT i: -1 } } ",
                           Node("MatMul", "'shares', 'rows'")))));
  ASSERT_OK_AND_ASSIGN(auto got, InterpretGraph(graph, {kThree, kTable}));
  EXPECT_THAT(got[0].shape, ElementsAre(3, 2));
  // The last row's scores are hundreds above the others'.
  EXPECT_THAT(got[0].floats, ElementsAre(50, 51, 50, 51, 50, 51));
  ASSERT_OK_AND_ASSIGN(got, InterpretGraph(graph, {kNone, kTable}));
  EXPECT_THAT(got[0].shape, ElementsAre(0, 2));
}

TEST(OnnxBoundedTest, TopKOfWhatHoldsAndAsManyAsARunSays) {
  const std::string first =
      "node { op_type: 'Gather' input: ['rows', 'zero0'] output: 'column' attribute { name: 'axis' "
      "type: INT i: 1 } } initializer { name: 'zero0' data_type: 7 int64_data: 0 } ";
  const std::string top = "node { op_type: 'TopK' input: ['column', 'k'] output: ['y', 'at'] } ";
  for (const int64_t k : {1, 2, 3}) {
    ASSERT_OK_AND_ASSIGN(const Graph graph,
                         Import(Rows(absl::StrCat(first, top, OnnxInts("k", {k})))));
    ASSERT_OK_AND_ASSIGN(auto got, InterpretGraph(graph, {kThree, kTable}));
    const std::vector<double> want = {50, 30, 10};
    EXPECT_EQ(got[0].floats, std::vector<double>(want.begin(), want.begin() + k));
    // As ONNX Runtime: more than there are is an error.
    EXPECT_FALSE(InterpretGraph(graph, {kNone, kTable}).ok());
  }
  EXPECT_FALSE(Import(Rows(absl::StrCat(first, top, OnnxInts("k", {7})))).ok());
  // As exporters write the lesser of a number and of what there is. No more than that is sorted,
  // and what follows is no larger.
  const std::string shape =
      absl::StrCat(first, "node { op_type: 'Shape' input: 'column' output: 'n' } ");
  for (const std::string& lesser :
       {absl::StrCat("node { op_type: 'Min' input: ['n', 'two'] output: 'k' } ",
                     OnnxInts("two", {2})),
        absl::StrCat(
            "node { op_type: 'Concat' input: ['two', 'n', 'five'] output: 'all' attribute { "
            "name: 'axis' type: INT i: 0 } } node { op_type: 'ReduceMin' input: 'all' "
            "output: 'k' } ",
            OnnxInts("two", {2}), OnnxInts("five", {5}))}) {
    ASSERT_OK_AND_ASSIGN(const Graph graph, Import(Rows(absl::StrCat(shape, lesser, top))));
    EXPECT_THAT(graph.value(graph.outputs[0]).type.shape, ElementsAre(2));
    ASSERT_OK_AND_ASSIGN(auto got, InterpretGraph(graph, {kThree, kTable}));
    EXPECT_THAT(got[0].floats, ElementsAre(50, 30));
    ASSERT_OK_AND_ASSIGN(got, InterpretGraph(graph, {Floats({6}, {0, 0, 0, 0, 1, 0}), kTable}));
    EXPECT_THAT(got[0].floats, ElementsAre(40));
    ASSERT_OK_AND_ASSIGN(got, InterpretGraph(graph, {kNone, kTable}));
    EXPECT_THAT(got[0].shape, ElementsAre(0));
  }
  // Of the greater one, and of one that may be below 0, all that there may be.
  for (const std::string& other :
       {absl::StrCat("node { op_type: 'Max' input: ['n', 'two'] output: 'k' } ",
                     OnnxInts("two", {2})),
        absl::StrCat("node { op_type: 'Sub' input: ['n', 'two'] output: 'less' } node { op_type: "
                     "'Min' input: ['less', 'two'] output: 'k' } ",
                     OnnxInts("two", {2}))}) {
    ASSERT_OK_AND_ASSIGN(const Graph graph, Import(Rows(absl::StrCat(shape, other, top))));
    EXPECT_THAT(graph.value(graph.outputs[0]).type.shape, ElementsAre(6));
    EXPECT_THAT(InterpretGraph(graph, {kNone, kTable}), StatusIs(absl::StatusCode::kOutOfRange));
    ASSERT_OK_AND_ASSIGN(const auto got, InterpretGraph(graph, {kThree, kTable}));
    EXPECT_EQ(got[0].floats[0], 50);
  }
}

TEST(OnnxBoundedTest, MoreThanThereAreIsAnErrorOfTheNode) {
  ASSERT_OK_AND_ASSIGN(
      const Graph graph,
      Import("node { name: 'the node' op_type: 'TopK' input: ['x', 'k'] output: ['y', 'at'] } ",
             OnnxTensorInfo("input", "k", {1}, 7)));
  const auto run = [&](int64_t k) {
    return InterpretGraph(graph, {Floats({6}, {3, 1, 2, 6, 5, 4}), kTable, Ints({1}, {k})});
  };
  for (const int64_t k : {0, 1, 6}) {
    ASSERT_OK_AND_ASSIGN(const auto got, run(k));
    const std::vector<double> want = {6, 5, 4, 3, 2, 1};
    EXPECT_EQ(got[0].floats, std::vector<double>(want.begin(), want.begin() + k));
  }
  for (const int64_t k : {-1, 7, 1000}) {
    EXPECT_THAT(run(k), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("'the node'"))) << k;
  }
}

// What exporters write between Shape and Reshape.
TEST(OnnxBoundedTest, ReshapesByShapesOfTheRun) {
  const std::string shape = absl::StrCat(
      "node { op_type: 'Shape' input: 'rows' output: 'shape' } "
      "node { op_type: 'Gather' input: ['shape', 'zero'] output: 'n' } "
      "node { op_type: 'Mul' input: ['n', 'two'] output: 'twice' } "
      "node { op_type: 'Div' input: ['twice', 'two'] output: 'again' } ",
      OnnxInts("one", {1}), OnnxInts("two", {2}), OnnxInts("rest", {-1}));
  const auto reshape = [&](const std::string& parts) {
    return Import(Rows(absl::StrCat(shape, "node { op_type: 'Concat' input: [", parts,
                                    "] output: 'to' attribute { name: 'axis' type: INT i: 0 } } ",
                                    Node("Reshape", "'rows', 'to'"))));
  };
  for (const auto& [parts, want] : std::vector<std::pair<std::string, std::vector<int64_t>>>{
           {"'n', 'two'", {3, 2}},
           {"'one', 'again', 'rest'", {1, 3, 2}},
           {"'n', 'one', 'two'", {3, 1, 2}},
           {"'twice'", {6}},
           {"'one', 'rest'", {1, 6}}}) {
    SCOPED_TRACE(parts);
    ASSERT_OK_AND_ASSIGN(const Graph graph, reshape(parts));
    ASSERT_OK_AND_ASSIGN(auto got, InterpretGraph(graph, {kThree, kTable}));
    EXPECT_EQ(got[0].shape, want);
    EXPECT_THAT(got[0].floats, ElementsAre(10, 11, 30, 31, 50, 51));
    ASSERT_OK_AND_ASSIGN(got, InterpretGraph(graph, {kNone, kTable}));
    EXPECT_THAT(got[0].floats, IsEmpty());
  }
  // The dimension would have to be another than what a run fills.
  for (const char* parts : {"'two', 'n'", "'two', 'rest'"}) {
    EXPECT_THAT(std::string(reshape(parts).status().message()),
                AllOf(HasSubstr("node 'the node' (Reshape)"), HasSubstr("dimension")))
        << parts;
  }
}

TEST(OnnxBoundedTest, SqueezeLeavesNoRankToTheRun) {
  for (const char* axes : {"", ", 'zero'"}) {
    const absl::Status status =
        Import(Rows(Node("Squeeze", absl::StrCat("'places'", axes)))).status();
    EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("dimension 0 of [")) << axes;
  }
}

TEST(OnnxBoundedTest, ConstantsAndRangesOfTheRun) {
  const std::string shape = absl::StrCat(
      "node { op_type: 'Shape' input: 'places' output: 'n' } "
      "node { op_type: 'Squeeze' input: 'n' output: 'scalar' } "
      "initializer { name: 'start' data_type: 7 int64_data: 0 } "
      "initializer { name: 'step' data_type: 7 int64_data: 1 } ",
      OnnxInts("two", {2}));
  // Rows numbered: found * 0 + range, and as many ones as there are.
  ASSERT_OK_AND_ASSIGN(
      Graph graph,
      Import(Rows(absl::StrCat(
          shape, "node { op_type: 'Range' input: ['start', 'scalar', 'step'] output: 'numbers' } ",
          "node { op_type: 'ConstantOfShape' input: 'n' output: 'threes' attribute { name: 'value' "
          "type: TENSOR t { dims: 1 data_type: 7 int64_data: 3 } } } ",
          "node { op_type: 'Mul' input: ['numbers', 'threes'] output: 'product' } ",
          Node("Add", "'product', 'places'")))));
  EXPECT_EQ(graph.hidden_outputs, 1);
  ASSERT_OK_AND_ASSIGN(auto got, InterpretGraph(graph, {kThree, kTable}));
  EXPECT_THAT(got[0].integers, ElementsAre(1, 6, 11));
  ASSERT_OK_AND_ASSIGN(got, InterpretGraph(graph, {kNone, kTable}));
  EXPECT_THAT(got[0].integers, IsEmpty());

  ASSERT_OK_AND_ASSIGN(
      graph,
      Import(Rows(absl::StrCat(
          shape, OnnxFloats("seven", {1, 1}, {7}),
          "node { op_type: 'Concat' input: ['n', 'two'] output: 'to' attribute { name: 'axis' "
          "type: INT i: 0 } } ",
          "node { op_type: 'Expand' input: ['seven', 'to'] output: 'sevens' } ",
          Node("Add", "'rows', 'sevens'")))));
  ASSERT_OK_AND_ASSIGN(got, InterpretGraph(graph, {kThree, kTable}));
  EXPECT_THAT(got[0].floats, ElementsAre(17, 18, 37, 38, 57, 58));
}

// As torchvision puts boxes back that it has shared out to the levels of a pyramid.
TEST(OnnxBoundedTest, AsManyUpdatesAsARunFinds) {
  const std::string negated =
      "node { op_type: 'Gather' input: ['x', 'places'] output: 'found values' } "
      "node { op_type: 'Neg' input: 'found values' output: 'updates' } ";
  ASSERT_OK_AND_ASSIGN(
      const Graph graph,
      Import(absl::StrCat(kPlaces, negated, Node("ScatterElements", "'x', 'places', 'updates'"))));
  EXPECT_EQ(graph.hidden_outputs, 0);
  ASSERT_OK_AND_ASSIGN(auto got, InterpretGraph(graph, {kThree, kTable}));
  EXPECT_THAT(got[0].floats, ElementsAre(0, -2, 0, -2, 0, -2));
  ASSERT_OK_AND_ASSIGN(got, InterpretGraph(graph, {kNone, kTable}));
  EXPECT_EQ(got[0].floats, kNone.floats);
  // Places and updates of other selections: one shape in this run, or an error.
  ASSERT_OK_AND_ASSIGN(
      const Graph others,
      Import(absl::StrCat(
                 kPlaces, negated, "node { op_type: 'NonZero' input: 'other' output: 'found 2' } ",
                 "node { op_type: 'Squeeze' input: ['found 2', 'zero'] output: 'places 2' } ",
                 Node("ScatterElements", "'x', 'places 2', 'updates'",
                      "attribute { name: 'reduction' type: STRING s: 'add' } ")),
             OnnxTensorInfo("input", "other", {6})));
  ASSERT_OK_AND_ASSIGN(got,
                       InterpretGraph(others, {kThree, kTable, Floats({6}, {1, 1, 1, 0, 0, 0})}));
  EXPECT_THAT(got[0].floats, ElementsAre(-2, 0, -2, 2, 0, 2));
  for (const TensorValue& other :
       {Floats({6}, {1, 1, 0, 0, 0, 0}), Floats({6}, {1, 1, 1, 1, 0, 0})}) {
    EXPECT_FALSE(InterpretGraph(others, {kThree, kTable, other}).ok());
  }
}

TEST(OnnxBoundedTest, UpdatesOfWhatARunFills) {
  ASSERT_OK_AND_ASSIGN(
      const Graph graph,
      Import(Rows(absl::StrCat(OnnxFloats("updates", {1, 2}, {7, 8}),
                               Node("ScatterElements", "'rows', 'which', 'updates'"))),
             OnnxTensorInfo("input", "which", {1, 2}, 7)));
  const auto run = [&](const TensorValue& x, std::vector<int64_t> which) {
    return InterpretGraph(graph, {x, kTable, Ints({1, 2}, std::move(which))});
  };
  ASSERT_OK_AND_ASSIGN(const auto got, run(kThree, {-1, 0}));
  EXPECT_THAT(got[0].shape, ElementsAre(3, 2));
  EXPECT_THAT(got[0].floats, ElementsAre(10, 8, 30, 31, 7, 51));
  for (const int64_t wrong : {3, 6, -4, -7}) EXPECT_FALSE(run(kThree, {0, wrong}).ok()) << wrong;
  EXPECT_FALSE(run(kNone, {0, 0}).ok());
}

TEST(OnnxBoundedTest, SlicesUpToAnEndOfTheRun) {
  ASSERT_OK_AND_ASSIGN(const Graph graph,
                       Import(Rows(absl::StrCat(OnnxInts("begin", {0}),
                                                Node("Slice", "'rows', 'begin', 'end', 'zero'"))),
                              OnnxTensorInfo("input", "end", {1}, 7)));
  for (const auto& [end, count] : std::vector<std::pair<int64_t, size_t>>{
           {2, 2}, {0, 0}, {3, 3}, {99, 3}, {-1, 2}, {-3, 0}, {-99, 0}}) {
    ASSERT_OK_AND_ASSIGN(const auto got, InterpretGraph(graph, {kThree, kTable, Ints({1}, {end})}));
    EXPECT_EQ(got[0].shape[0], static_cast<int64_t>(count)) << end;
    EXPECT_EQ(got[0].floats.size(), 2 * count);
  }
}

// Two axes to ends of a run: the message is the one that `--value` answers.
TEST(OnnxBoundedTest, AnEndThatNoExtentCanSayMustBeKnown) {
  const auto graph = Import(absl::StrCat(OnnxInts("begin", {0, 0}), OnnxInts("axes", {0, 1}),
                                         Node("Slice", "'table', 'begin', 'end', 'axes'")),
                            OnnxTensorInfo("input", "end", {2}, 7));
  EXPECT_THAT(graph, StatusIs(absl::StatusCode::kFailedPrecondition,
                              HasSubstr("ends (input 2) must be known when the model is read")));
}

// As torchvision suppresses boxes: nothing where there are none, else a selection.
TEST(OnnxBoundedTest, BranchesTakeAndGiveWhatARunSizes) {
  const std::string branches = Rows(
      "node { name: 'the node' op_type: 'If' input: 'none' output: 'y' "
      "attribute { name: 'then_branch' type: GRAPH g { node { op_type: 'Constant' output: 'a' "
      "attribute { name: 'value' type: TENSOR t { data_type: 1 dims: 0 dims: 2 } } } "
      "output { name: 'a' } } } "
      "attribute { name: 'else_branch' type: GRAPH g { node { op_type: 'Neg' input: 'rows' "
      "output: 'b' } output { name: 'b' } } } } "
      "node { op_type: 'Size' input: 'rows' output: 'size' } "
      "node { op_type: 'Equal' input: ['size', 'nil'] output: 'none' } "
      "initializer { name: 'nil' data_type: 7 int64_data: 0 } ");
  ASSERT_OK_AND_ASSIGN(const Graph graph, Import(branches));
  ASSERT_OK_AND_ASSIGN(auto got, InterpretGraph(graph, {kThree, kTable}));
  EXPECT_THAT(got[0].shape, ElementsAre(3, 2));
  EXPECT_THAT(got[0].floats, ElementsAre(-10, -11, -30, -31, -50, -51));
  ASSERT_OK_AND_ASSIGN(got, InterpretGraph(graph, {kNone, kTable}));
  EXPECT_THAT(got[0].shape, ElementsAre(0, 2));
}

// As offsets by level are sliced whole before boxes are suppressed.
TEST(OnnxBoundedTest, ABranchSlicesWhatWasJoined) {
  const std::string branches = Rows(
      "node { op_type: 'Concat' input: ['rows', 'rows'] output: 'both' attribute { name: 'axis' "
      "type: INT i: 0 } } "
      "node { name: 'the node' op_type: 'If' input: 'go' output: 'y' "
      "attribute { name: 'then_branch' type: GRAPH g { node { op_type: 'Slice' "
      "input: ['both', 'zero', 'most', 'zero'] output: 'a' } output { name: 'a' } } } "
      "attribute { name: 'else_branch' type: GRAPH g { node { op_type: 'Neg' input: 'both' "
      "output: 'b' } output { name: 'b' } } } } " +
      OnnxInts("most", {std::numeric_limits<int64_t>::max()}));
  ASSERT_OK_AND_ASSIGN(const Graph graph, Import(branches, OnnxTensorInfo("input", "go", {}, 9)));
  for (const bool go : {true, false}) {
    const TensorValue condition = {.dtype = DType::kBool, .shape = {}, .integers = {go}};
    ASSERT_OK_AND_ASSIGN(auto got, InterpretGraph(graph, {kThree, kTable, condition}));
    EXPECT_THAT(got[0].shape, ElementsAre(6, 2));
    EXPECT_EQ(got[0].floats[0], go ? 10 : -10);
    ASSERT_OK_AND_ASSIGN(got, InterpretGraph(graph, {kNone, kTable, condition}));
    EXPECT_THAT(got[0].shape, ElementsAre(0, 2));
  }
}

// Rows 1, 3 and 5 as the type, below 0 where it has such numbers.
TEST(OnnxBoundedTest, ExtremesSeeWhatHoldsInEveryType) {
  struct Case {
    int type;  // ONNX's number.
    bool is_signed;
  };
  for (const Case& c :
       {Case{1, true}, Case{11, true}, Case{10, true}, Case{3, true}, Case{5, true}, Case{6, true},
        Case{7, true}, Case{2, false}, Case{4, false}, Case{12, false}, Case{13, false}}) {
    for (const char* const op : {"ReduceMax", "ReduceMin"}) {
      SCOPED_TRACE(absl::StrCat(op, " of type ", c.type));
      const auto cast = [](absl::string_view from, absl::string_view to, int type) {
        return absl::StrCat("node { op_type: 'Cast' input: '", from, "' output: '", to, "' ",
                            IntAttribute("to", type), "} ");
      };
      ASSERT_OK_AND_ASSIGN(
          const Graph graph,
          Import(Rows(absl::StrCat(
              cast("rows", "typed", c.type), "node { op_type: '", op,
              "' input: 'typed' output: 'm' attribute { name: 'axes' type: INTS ints: 0 } } ",
              cast("m", "y", 7)))));
      const double sign = c.is_signed ? -1 : 1;
      TensorValue table = kTable;
      for (double& value : table.floats) value *= sign;
      ASSERT_OK_AND_ASSIGN(const auto got, InterpretGraph(graph, {kThree, table}));
      const bool far = (std::string(op) == "ReduceMax") != c.is_signed;
      EXPECT_THAT(got[0].integers,
                  far ? ElementsAre(sign * 50, sign * 51) : ElementsAre(sign * 10, sign * 11));
    }
  }
}

// Branches may give other shapes, too: the condition is then what a run knows.
TEST(OnnxBoundedTest, BranchesGiveOtherShapes) {
  ASSERT_OK_AND_ASSIGN(
      const Graph graph,
      Import("node { name: 'the node' op_type: 'If' input: 'positive' output: 'y' "
             "attribute { name: 'then_branch' type: GRAPH g { node { op_type: 'Neg' input: 'x' "
             "output: 'a' } output { name: 'a' } } } "
             "attribute { name: 'else_branch' type: GRAPH g { node { op_type: 'ReduceSum' "
             "input: 'x' output: 'b' } output { name: 'b' } } } } "
             "node { op_type: 'Cast' input: 'm' output: 'positive' attribute { name: 'to' "
             "type: INT i: 9 } } "
             "node { op_type: 'ReduceMax' input: 'x' output: 'm' "
             "attribute { name: 'keepdims' type: INT i: 0 } } "));
  ASSERT_OK_AND_ASSIGN(auto got, InterpretGraph(graph, {kThree, kTable}));
  EXPECT_THAT(got[0].floats, ElementsAre(0, -2, 0, -2, 0, -2));
  ASSERT_OK_AND_ASSIGN(got, InterpretGraph(graph, {Floats({6}, {-1, -2, 0, -4, -5, 0}), kTable}));
  EXPECT_THAT(got[0].shape, ElementsAre(1));
  EXPECT_THAT(got[0].floats, ElementsAre(-12));
}

TEST(OnnxBoundedTest, WhatWouldMixIsRefusedWithNodeAndDimension) {
  const auto refusal = [](const std::string& nodes) {
    return std::string(Import(nodes).status().message());
  };
  EXPECT_THAT(refusal(Rows(Node("CumProd", "'rows', 'zero'"))),
              AllOf(HasSubstr("node 'the node' (CumProd)"), HasSubstr("takes no input")));
  EXPECT_THAT(refusal(Rows(Node("Add", "'rows', 'table'"))),
              AllOf(HasSubstr("node 'the node' (Add)"), HasSubstr("dimension 0")));
  EXPECT_THAT(refusal(Rows(absl::StrCat(Node("Reshape", "'rows', 'to'"), OnnxInts("to", {3, 4})))),
              AllOf(HasSubstr("node 'the node' (Reshape)"), HasSubstr("only a run knows")));
  EXPECT_THAT(
      refusal(Rows(absl::StrCat(Node("Slice", "'rows', 's', 'e', 'zero', 'step'"),
                                OnnxInts("s", {-1}), OnnxInts("e", {-9}), OnnxInts("step", {-1})))),
      AllOf(HasSubstr("node 'the node' (Slice)"), HasSubstr("dimension 0")));
  // Side by side their extents would have to be equal.
  EXPECT_THAT(refusal(Rows(Node("Concat", "'rows', 'table'", IntAttribute("axis", 1)))),
              AllOf(HasSubstr("node 'the node' (Concat)"), HasSubstr("dimension 0")));
}

}  // namespace
}  // namespace burnish
