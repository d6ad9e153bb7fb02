#include "compiler/frontend/onnx_import.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <regex>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "compiler/frontend/model_file.h"
#include "compiler/frontend/onnx_export.h"
#include "compiler/frontend/onnx_testing.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using absl::StatusCode;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pointwise;

// Operators of the graph in order.
std::string Ops(const Graph& graph) {
  std::string ops;
  for (const GraphNode& node : graph.nodes)
    absl::StrAppend(&ops, ops.empty() ? "" : " ", OpName(node.op));
  return ops;
}

// A model of one node over x f32 `shape`, output y.
std::string OneNode(absl::string_view node, const std::vector<int64_t>& shape, int opset,
                    absl::string_view initializers = "") {
  return OnnxModel(absl::StrCat(OnnxTensorInfo("input", "x", shape), initializers, "node { ", node,
                                " output: 'y' } ", OnnxTensorInfo("output", "y", {})),
                   opset);
}

TEST(OnnxImportTest, ASmallModelWithComputedShapes) {
  ASSERT_OK_AND_ASSIGN(const Graph graph, ImportOnnx(SmallOnnxModel()));
  EXPECT_EQ(Ops(graph), "conv batch_norm relu reduce_mean reshape softmax");
  EXPECT_THAT(graph.nodes[0].attributes.Ints("pads", {}), ElementsAre(1, 1, 1, 1));
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "y");
  EXPECT_THAT(graph.value(graph.outputs[0]).type.shape, ElementsAre(1, 3));
}

// y = x reshaped by the input `shape` of the given type.
std::string ReshapeByInput(absl::string_view shape_type) {
  return OnnxModel(absl::StrCat(
      OnnxTensorInfo("input", "x", {2, 3}), "input { name: 'shape' type { tensor_type { ",
      shape_type, " } } } node { op_type: 'Reshape' input: ['x', 'shape'] output: 'y' } ",
      OnnxTensorInfo("output", "y", {})));
}

TEST(OnnxImportTest, ValuesFixInputs) {
  const std::string open = "elem_type: 7 shape { dim { dim_param: 'n' } }";
  for (const std::string& type : {open, std::string("elem_type: 7 shape { dim { dim_value: 2 } }"),
                                  std::string("elem_type: 7")}) {
    ASSERT_OK_AND_ASSIGN(const Graph graph,
                         ImportOnnx(ReshapeByInput(type), {.input_values = {{"shape", "3,-1"}}}));
    EXPECT_EQ(graph.inputs.size(), 1u) << type;
    EXPECT_THAT(graph.value(graph.outputs[0]).type.shape, ElementsAre(3, 2)) << type;
  }
  // An empty list makes a scalar of one element.
  const std::string one = OnnxModel(
      absl::StrCat(OnnxTensorInfo("input", "x", {1}), "input { name: 'shape' type { tensor_type { ",
                   open, " } } } node { op_type: 'Reshape' input: ['x', 'shape'] output: 'y' } ",
                   OnnxTensorInfo("output", "y", {})));
  ASSERT_OK_AND_ASSIGN(const Graph scalar, ImportOnnx(one, {.input_values = {{"shape", ""}}}));
  EXPECT_THAT(scalar.value(scalar.outputs[0]).type.shape, ElementsAre());
}

TEST(OnnxImportTest, ValuesThatDoNotFit) {
  struct Misfit {
    const char* type;
    std::string name, text;
    const char* says;
  };
  std::string many = "1";
  for (size_t i = 0; i < kInputValuesMax; ++i) many += ",1";
  const Misfit cases[] = {
      {"elem_type: 7 shape { dim { dim_value: 3 } }", "shape", "3,2", "2 numbers; the model has"},
      {"elem_type: 7 shape { }", "shape", "3,2", "the shape of a scalar"},
      {"elem_type: 7 shape { dim { } dim { } }", "shape", "3,2", "2 numbers; the model has"},
      {"elem_type: 7 shape { dim { } }", "shape", "3,2.5", "want numbers of type i64"},
      {"elem_type: 6 shape { dim { } }", "shape", "3,5000000000", "does not fit into i32"},
      {"elem_type: 7 shape { dim { } }", "shape", "3,,2", "want numbers of type i64"},
      {"elem_type: 7 shape { dim { } }", "shape", many, "at most 1024 numbers"},
      {"elem_type: 7 shape { dim { } }", "size", "3", "its inputs are: x, shape"},
  };
  for (const Misfit& c : cases) {
    const absl::Status status =
        ImportOnnx(ReshapeByInput(c.type), {.input_values = {{c.name, c.text}}}).status();
    EXPECT_EQ(status.code(), StatusCode::kOutOfRange) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.says));
  }
}

TEST(OnnxImportTest, NodesInAnyOrder) {
  const std::string model =
      OnnxModel(absl::StrCat(OnnxTensorInfo("input", "x", {2}), OnnxFloats("w", {2}, {1, 2}),
                             "node { op_type: 'Relu' input: 's' output: 'y' } "
                             "node { op_type: 'Add' input: ['x', 'w'] output: 's' } ",
                             OnnxTensorInfo("output", "y", {2})));
  ASSERT_OK_AND_ASSIGN(const Graph graph, ImportOnnx(model));
  EXPECT_EQ(graph.inputs.size(), 1u);
  EXPECT_EQ(Ops(graph), "add relu");
}

// x + w in the shape k, w and k being initializers and inputs.
std::string WithDefaults(int64_t elements) {
  return OnnxModel(absl::StrCat(
      OnnxTensorInfo("input", "x", {elements}), OnnxTensorInfo("input", "w", {elements}),
      "input { name: 'k' type { tensor_type { elem_type: 7 shape { dim { dim_value: 1 } } } } } ",
      OnnxFloats("w", {elements}, std::vector<float>(elements, 0.5F)), OnnxInts("k", {elements}),
      "node { op_type: 'Add' input: ['x', 'w'] output: 's' } "
      "node { op_type: 'Reshape' input: ['s', 'k'] output: 'y' } ",
      OnnxTensorInfo("output", "y", {elements})));
}

std::vector<std::string> NamesOfInputs(const Graph& graph) {
  std::vector<std::string> names;
  for (const ValueId input : graph.inputs) names.push_back(graph.value(input).name);
  return names;
}

TEST(OnnxImportTest, AnInitializerThatIsAnInputIsItsDefault) {
  ASSERT_OK_AND_ASSIGN(const Graph graph, ImportOnnx(WithDefaults(3)));
  // A shape has to be known.
  EXPECT_THAT(NamesOfInputs(graph), ElementsAre("x", "w"));
  ASSERT_EQ(graph.input_defaults.size(), 1u);
  EXPECT_EQ(graph.input_defaults[0].input, 1);
  EXPECT_THAT(ToDoubles({DType::kF32, {3}}, *graph.input_defaults[0].data),
              ElementsAre(0.5, 0.5, 0.5));
  ASSERT_OK_AND_ASSIGN(const Graph fixed,
                       ImportOnnx(WithDefaults(3), {.input_values = {{"w", "1,2,3"}}}));
  EXPECT_THAT(NamesOfInputs(fixed), ElementsAre("x"));
  ASSERT_OK_AND_ASSIGN(const std::string written, ExportOnnx(graph));
  ASSERT_OK_AND_ASSIGN(const Graph again, ImportOnnx(written));
  EXPECT_THAT(NamesOfInputs(again), ElementsAre("x", "w"));
}

TEST(OnnxImportTest, WeightsAreNoDefaults) {
  constexpr int64_t kMany = 1 << 16;
  ASSERT_OK_AND_ASSIGN(const Graph graph, ImportOnnx(WithDefaults(kMany)));
  EXPECT_THAT(NamesOfInputs(graph), ElementsAre("x"));
  ASSERT_OK_AND_ASSIGN(const Graph named,
                       ImportOnnx(WithDefaults(kMany), {.input_shapes = {{"w", {kMany}}}}));
  EXPECT_THAT(NamesOfInputs(named), ElementsAre("x", "w"));
  EXPECT_EQ(named.input_defaults.size(), 1u);
}

struct StoredData {
  const char* tensor;
  std::vector<double> want;
};

TEST(OnnxImportTest, EveryWayToStoreData) {
  const StoredData cases[] = {
      {"data_type: 1 float_data: [1.5, -2]", {1.5, -2}},
      {"data_type: 11 double_data: [1.5, -2]", {1.5, -2}},
      {"data_type: 7 int64_data: [5, -6]", {5, -6}},
      {"data_type: 6 int32_data: [5, -6]", {5, -6}},
      {"data_type: 3 int32_data: [5, -6]", {5, -6}},
      {"data_type: 2 int32_data: [5, 250]", {5, 250}},
      {"data_type: 9 int32_data: [0, 1]", {0, 1}},
      // Floats of 16 bits: as their bits.
      {"data_type: 10 int32_data: [0x3e00, 0xc000]", {1.5, -2}},
      {"data_type: 16 int32_data: [0x3fc0, 0xc000]", {1.5, -2}},
      {"data_type: 16 raw_data: '\\300\\077\\000\\300'", {1.5, -2}},
      {"data_type: 9 raw_data: '\\000\\007'", {0, 1}},
      {"data_type: 6 raw_data: '\\001\\000\\000\\000\\377\\377\\377\\377'", {1, -1}},
  };
  for (const StoredData& c : cases) {
    SCOPED_TRACE(c.tensor);
    const std::string model =
        OnnxModel(absl::StrCat("initializer { name: 'c' dims: 2 ", c.tensor, " } ",
                               "node { op_type: 'Identity' input: 'c' output: 'y' } ",
                               OnnxTensorInfo("output", "y", {2})));
    ASSERT_OK_AND_ASSIGN(const Graph graph, ImportOnnx(model));
    const GraphValue& constant = graph.value(graph.nodes[0].inputs[0]);
    EXPECT_THAT(ToDoubles(constant.type, *constant.data), Pointwise(DoubleEq(), c.want));
  }
}

TEST(OnnxImportTest, ComplexNumbersAreRefusedByName) {
  const std::string model = OnnxModel(
      "initializer { name: 'w' dims: 1 data_type: 14 float_data: [0, 0] } "
      "node { op_type: 'Relu' input: 'w' output: 'y' } output { name: 'y' }");
  EXPECT_THAT(ImportOnnx(model), StatusIs(StatusCode::kUnimplemented,
                                          AllOf(HasSubstr("'w'"), HasSubstr("COMPLEX64"))));
}

TEST(OnnxImportTest, DataOfTheWrongSizeIsRefused) {
  const std::string model = OnnxModel(
      "initializer { name: 'w' dims: 3 data_type: 1 float_data: [1, 2] } "
      "node { op_type: 'Relu' input: 'w' output: 'y' } output { name: 'y' }");
  EXPECT_THAT(ImportOnnx(model),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("got 8 bytes of data, want 12")));
}

TEST(OnnxImportTest, ASymbolicDimensionNamesInputAndFlag) {
  const std::string model = OneNode("op_type: 'Relu' input: 'x'", {-1, 3}, 17);
  EXPECT_THAT(ImportOnnx(model),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("input 'x'"), HasSubstr("--shape x=1x3"))));
  ASSERT_OK_AND_ASSIGN(const Graph graph, ImportOnnx(model, {.input_shapes = {{"x", {4, 3}}}}));
  EXPECT_THAT(graph.value(graph.outputs[0]).type.shape, ElementsAre(4, 3));
  EXPECT_THAT(ImportOnnx(model, {.input_shapes = {{"x", {4, 5}}}}),
              StatusIs(StatusCode::kOutOfRange,
                       HasSubstr("the model has Nx3, --shape gives 4x5: dimension 1 is fixed")));
  EXPECT_THAT(ImportOnnx(model, {.input_shapes = {{"x", {4}}}}),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("--shape gives 4: 1 dimensions")));
  EXPECT_THAT(ImportOnnx(model, {.input_shapes = {{"x", {4, 3}}, {"z", {1}}}}),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("its inputs are: x")));
}

TEST(OnnxImportTest, MissingOperatorsAreAllNamedAndTheMessageIsShort) {
  // 40 kinds, the first of them three times.
  std::string nodes = "node { op_type: 'Foo0' name: 'f' input: 'x' output: 'y' } ";
  for (int i = 1; i < 42; ++i) {
    absl::StrAppend(&nodes, "node { op_type: 'Foo", std::max(0, i - 2), "' name: '",
                    std::string(1000, 'n'), "' input: 'x' output: 'y", i, "' } ");
  }
  const absl::Status status =
      ImportOnnx(OnnxModel(absl::StrCat(OnnxTensorInfo("input", "x", {1}), nodes,
                                        OnnxTensorInfo("output", "y", {}))))
          .status();
  EXPECT_THAT(status,
              StatusIs(StatusCode::kUnimplemented,
                       AllOf(HasSubstr("operators not supported: Foo0 (3 nodes, first 'f'), "
                                       "Foo1 ("),
                             HasSubstr(", and 34 more"))));
  EXPECT_LT(status.message().size(), 800);
  const std::string all(*status.GetPayload(kMissingOperatorsUrl));
  EXPECT_THAT(all, ::testing::StartsWith("3 Foo0\n1 Foo1\n"));
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 40);
}

TEST(OnnxImportTest, TheDocumentationListsWhatIsSupported) {
  std::ifstream file("docs/operators.md");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  ASSERT_FALSE(text.empty());
  std::set<std::string> written;
  const std::regex name("`((?:[a-z]+\\.)*[A-Z]\\w*)`");
  for (std::sregex_iterator it(text.begin(), text.end(), name), end; it != end; ++it) {
    written.insert((*it)[1]);
  }
  const std::vector<std::string> known = SupportedOnnxOperators();
  EXPECT_EQ(written, std::set<std::string>(known.begin(), known.end()));
  // Refused ones are named without marks, each with its reason.
  for (const auto& [name, reason] : RefusedOnnxOperators()) {
    EXPECT_THAT(text, AllOf(HasSubstr(name), HasSubstr(reason)));
    EXPECT_EQ(written.count(name), 0u);
  }
}

// Uses of supported operators that are refused: each has words of a row. A test that goes because
// the use is supported now takes the row with it.
TEST(OnnxImportTest, TheDocumentationListsUsesThatAreRefused) {
  std::ifstream file("docs/operators.md");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const struct {
    const char* node;  // Reads x, f32[1,1,4,4], v, i64[4], and constants.
    const char* says;
    const char* row;
    int opset = 20;
  } cases[] = {
      {"op_type: 'Tile' input: ['x', 'v']", "repeats (input 1) must be known", "repeats of Tile"},
      {"op_type: 'Pad' input: ['x', 'p']", "pads (input 1) must be known", "pads and axes of Pad"},
      {"op_type: 'ReduceSum' input: ['x', 'v']", "axes (input 1) must be known",
       "axes of reductions"},
      {"op_type: 'CumSum' input: ['x', 'one']", "axis (input 1) must be known", "axis of CumSum"},
      {"op_type: 'Slice' input: ['x', 'one', 'one']", "(input 1) must be known",
       "starts, axes and steps of Slice"},
      {"op_type: 'Split' input: ['x', 'v'] output: ['y1', 'z']", "split (input 1) must be known",
       "sizes of Split"},
      {"op_type: 'Resize' input: ['x', '', '', 'v']", "sizes (input 3) must be known",
       "Resize whose sizes or scales a run computes"},
      {"op_type: 'BatchNormalization' input: ['x', 'w', 'w', 'w', 'w'] output: ['y1', 'z']",
       "only output Y", "BatchNormalization before opset 14 with outputs beside Y", 13},
      {"op_type: 'BitCast' input: 'x' attribute { name: 'to' type: INT i: 6 }",
       "the bits of a floating-point number", "bits of a float as an integer", 26},
      {"op_type: 'BitCast' input: 'bytes' attribute { name: 'to' type: INT i: 9 }",
       "bytes as bools", "bytes as bools", 26},
      {"op_type: 'RNN' input: ['s', 's', 's'] "
       "attribute { name: 'activations' type: STRINGS strings: 'Sine' }",
       "activation 'Sine'", "activations of recurrences that ONNX does not name"},
      {"op_type: 'AffineGrid' input: ['t', 'size'] "
       "attribute { name: 'align_corners' type: INT i: 1 }",
       "align_corners with an extent of 1", "AffineGrid with align_corners and an extent of 1"},
      {"op_type: 'NonZero' input: 'scalar'", "of a scalar", "of a scalar that a run computes"},
      {"op_type: 'GridSample' input: ['bytes4', 'g']", "integers between pixels",
       "linear and cubic GridSample"},
      {"op_type: 'FusedMatMul' domain: 'com.microsoft' input: ['x', 'x'] "
       "attribute { name: 'transBatchA' type: INT i: 1 }",
       "transBatchA", "FusedMatMul with transBatchA"},
      {"op_type: 'MultiHeadAttention' domain: 'com.microsoft' input: 'x' "
       "attribute { name: 'num_heads' type: INT i: 1 }",
       "packed keys", "MultiHeadAttention with packed queries or keys"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.node);
    const bool two = absl::StrContains(c.node, "'z'");
    const absl::Status status =
        ImportOnnx(
            OnnxModel(
                absl::StrCat(
                    OnnxTensorInfo("input", "x", {1, 1, 4, 4}),
                    OnnxTensorInfo("input", "v", {4}, 7), OnnxTensorInfo("input", "p", {8}, 7),
                    OnnxTensorInfo("input", "one", {1}, 7),
                    OnnxTensorInfo("input", "bytes", {2}, 2),
                    OnnxTensorInfo("input", "bytes4", {1, 1, 2, 2}, 2),
                    OnnxTensorInfo("input", "g", {1, 2, 2, 2}),
                    OnnxTensorInfo("input", "scalar", {}), OnnxTensorInfo("input", "s", {1, 1, 1}),
                    OnnxTensorInfo("input", "t", {1, 2, 3}), OnnxFloats("w", {1}, {1}),
                    OnnxInts("size", {1, 1, 1, 3}), "node { ", c.node, two ? "" : " output: 'y'",
                    " } ", two ? "node { op_type: 'Shape' input: 'z' output: 'y' } " : "",
                    OnnxTensorInfo("output", "y", {})),
                c.opset))
            .status();
    EXPECT_THAT(status.message(), HasSubstr(c.says));
    EXPECT_THAT(text, HasSubstr(c.row));
  }
}

TEST(OnnxImportTest, ARefusalSaysWhyWhereThatIsKnown) {
  EXPECT_THAT(ImportOnnx(OneNode("op_type: 'RandomNormalLike' name: 'r' input: 'x'", {1}, 17)),
              StatusIs(StatusCode::kUnimplemented,
                       HasSubstr("not supported: RandomNormalLike ('r'); RandomNormalLike draws "
                                 "random numbers; make them outside")));
}

TEST(OnnxImportTest, UnknownOperatorsAreNamedWithTheirDomain) {
  EXPECT_THAT(ImportOnnx(OneNode(
                  "op_type: 'FusedConv' domain: 'com.microsoft' name: 'f' input: 'x'", {1}, 17)),
              StatusIs(StatusCode::kUnimplemented,
                       HasSubstr("operator not supported: com.microsoft.FusedConv ('f')")));
}

TEST(OnnxImportTest, OldAndFutureOpsetsAreRefused) {
  for (int opset : {6, kNewestOnnxOpset + 1}) {
    EXPECT_THAT(ImportOnnx(OneNode("op_type: 'Relu' input: 'x'", {1}, opset)),
                StatusIs(StatusCode::kUnimplemented, HasSubstr("want 7 to")));
  }
}

TEST(OnnxImportTest, LegacyAttributesMeanWhatTheyMeant) {
  const struct {
    const char* node;
    int opset;
    const char* want;
  } cases[] = {
      {"op_type: 'Clip' input: 'x' attribute { name: 'min' type: FLOAT f: -1 }", 7, "clip"},
      {"op_type: 'Pad' input: 'x' attribute { name: 'pads' type: INTS ints: [0,1,0,0] }", 7, "pad"},
      {"op_type: 'Slice' input: 'x' attribute { name: 'starts' type: INTS ints: 1 } "
       "attribute { name: 'ends' type: INTS ints: 100 }",
       7, "slice"},
      {"op_type: 'Unsqueeze' input: 'x' attribute { name: 'axes' type: INTS ints: 0 }", 7,
       "reshape"},
      {"op_type: 'Dropout' input: 'x' attribute { name: 'ratio' type: FLOAT f: 0.5 }", 7,
       "identity"},
      {"op_type: 'ReduceSum' input: 'x' attribute { name: 'axes' type: INTS ints: -1 }", 7,
       "reduce_sum"},
      {"op_type: 'Softmax' input: 'x' attribute { name: 'axis' type: INT i: 0 }", 12,
       "reshape softmax reshape"},
      {"op_type: 'Softmax' input: 'x' attribute { name: 'axis' type: INT i: 0 }", 13, "softmax"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.node);
    ASSERT_OK_AND_ASSIGN(const Graph graph, ImportOnnx(OneNode(c.node, {2, 3}, c.opset)));
    EXPECT_EQ(Ops(graph), c.want);
  }
}

TEST(OnnxImportTest, TrainingThatDrawsNumbersIsRefused) {
  const auto model = [](float ratio) {
    return OneNode("op_type: 'Dropout' input: ['x', 'ratio', 'train']", {2, 3}, 15,
                   OnnxFloats("ratio", {1}, {ratio}) +
                       "initializer { name: 'train' data_type: 9 int32_data: 1 } ");
  };
  EXPECT_THAT(ImportOnnx(model(0.5f)),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("training_mode is on")));
  EXPECT_TRUE(ImportOnnx(model(0)).ok());
}

TEST(OnnxImportTest, OperatorsMadeOfOthers) {
  const double inf = std::numeric_limits<double>::infinity();
  const struct {
    const char* node;
    int type;  // Of x, in ONNX's numbers.
    std::vector<double> x;
    std::vector<double> want;
  } cases[] = {
      {"op_type: 'IsInf' input: 'x'", 1, {1, inf, -inf, NAN}, {0, 1, 1, 0}},
      {"op_type: 'IsInf' input: 'x' attribute { name: 'detect_negative' type: INT i: 0 }",
       1,
       {1, inf, -inf, NAN},
       {0, 1, 0, 0}},
      {"op_type: 'IsInf' input: 'x' attribute { name: 'detect_positive' type: INT i: 0 }",
       1,
       {1, inf, -inf, NAN},
       {0, 0, 1, 0}},
      {"op_type: 'IsInf' input: 'x' attribute { name: 'detect_negative' type: INT i: 0 } "
       "attribute { name: 'detect_positive' type: INT i: 0 }",
       1,
       {1, inf, -inf, NAN},
       {0, 0, 0, 0}},
      {"op_type: 'Shrink' input: 'x' attribute { name: 'lambd' type: FLOAT f: 1.5 } "
       "attribute { name: 'bias' type: FLOAT f: 0.5 }",
       1,
       {-2, -1.5, 1.5, 2},
       {-1.5, 0, 0, 1.5}},
      {"op_type: 'Pow' input: ['x', 'h']", 7, {4, 9, 16, 25}, {2, 3, 4, 5}},
      {"op_type: 'Pad' input: ['x', 'pads', 'v']", 1, {1, 2, 3, 4}, {7, 1, 2, 3, 4, 7, 7}},
      {"op_type: 'Pad' input: ['x', 'cut', 'v']", 1, {1, 2, 3, 4}, {2, 3, 4, 7}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.node);
    // The padding value is an input of the model.
    const std::string model = OnnxModel(
        absl::StrCat(OnnxTensorInfo("input", "x", {4}, c.type), OnnxTensorInfo("input", "v", {}),
                     OnnxFloats("h", {}, {0.5}), OnnxInts("pads", {1, 2}), OnnxInts("cut", {-1, 1}),
                     "node { ", c.node, " output: 'y' } ", OnnxTensorInfo("output", "y", {})),
        20);
    ASSERT_OK_AND_ASSIGN(const Graph graph, ImportOnnx(model));
    const DType dtype = graph.value(graph.inputs[0]).type.dtype;
    TensorValue x = ToTensorValue({dtype, {4}}, *FromDoubles(dtype, c.x));
    const TensorValue v = ToTensorValue({DType::kF32, {}}, *FromDoubles(DType::kF32, {7}));
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got, InterpretGraph(graph, {x, v}));
    const TensorType type = graph.value(graph.outputs[0]).type;
    EXPECT_THAT(ToDoubles(type, *FromTensorValue(got[0])), Pointwise(DoubleEq(), c.want));
  }
}

// As exporters write the masks of shifted windows: zeros that constants are scattered into.
TEST(OnnxImportTest, CallsOfTheRuntimeOverConstantsFold) {
  ASSERT_OK_AND_ASSIGN(
      const Graph graph,
      ImportOnnx(OnnxModel(absl::StrCat(
          OnnxTensorInfo("input", "x", {3}), OnnxFloats("zeros", {3}, {0, 0, 0}),
          "initializer { name: 'at' dims: [2, 1] data_type: 7 int64_data: [2, 0] } ",
          OnnxFloats("updates", {2}, {5, 7}), OnnxInts("k", {2}),
          "node { op_type: 'ScatterND' input: ['zeros', 'at', 'updates'] output: 's' } "
          "node { op_type: 'TopK' input: ['s', 'k'] output: ['best', 'places'] } "
          "node { op_type: 'Add' input: ['x', 's'] output: 'y' } ",
          OnnxTensorInfo("output", "y", {3}), OnnxTensorInfo("output", "places", {2}, 7)))));
  EXPECT_THAT(Ops(graph), Not(AnyOf(HasSubstr("scatter"), HasSubstr("top"))));
  ASSERT_OK_AND_ASSIGN(
      const auto got,
      InterpretGraph(graph, {{.dtype = DType::kF32, .shape = {3}, .floats = {1, 1, 1}}}));
  EXPECT_THAT(got[0].floats, ElementsAre(8, 1, 6));
  EXPECT_THAT(got[1].integers, ElementsAre(0, 2));
  // What is out of bounds is an error when it runs, and none before.
  EXPECT_THAT(ImportOnnx(OnnxModel(absl::StrCat(
                  OnnxTensorInfo("input", "x", {3}), OnnxFloats("zeros", {3}, {0, 0, 0}),
                  "initializer { name: 'at' dims: [1, 1] data_type: 7 int64_data: 9 } ",
                  OnnxFloats("updates", {1}, {5}),
                  "node { op_type: 'ScatterND' input: ['zeros', 'at', 'updates'] output: 's' } "
                  "node { op_type: 'Add' input: ['x', 's'] output: 'y' } ",
                  OnnxTensorInfo("output", "y", {3})))),
              IsOk());
}

TEST(OnnxImportTest, AKnownConditionChoosesTheBranch) {
  const std::string model = OnnxModel(absl::StrCat(
      OnnxTensorInfo("input", "x", {2}), "initializer { name: 'c' data_type: 9 int32_data: 0 } ",
      R"(node { op_type: 'If' input: 'c' output: 'y'
           attribute { name: 'then_branch' type: GRAPH g {
             node { op_type: 'Nonsense' input: 'x' output: 't' } output { name: 't' } } }
           attribute { name: 'else_branch' type: GRAPH g {
             node { op_type: 'Neg' input: 'x' output: 'e' } output { name: 'e' } } } } )",
      OnnxTensorInfo("output", "y", {2})));
  ASSERT_OK_AND_ASSIGN(const Graph graph, ImportOnnx(model));
  EXPECT_EQ(Ops(graph), "neg");
}

TEST(OnnxImportTest, BrokenGraphsAreRefusedByName) {
  const struct {
    const char* nodes;
    const char* want;
  } cases[] = {
      {"node { op_type: 'Add' input: ['x', 'b'] output: 'y' name: 'n' } "
       "node { op_type: 'Relu' input: 'y' output: 'b' }",
       "cycle"},
      {"node { op_type: 'Add' input: ['x', 'nowhere'] output: 'y' name: 'n' }",
       "node 'n' (Add): reads 'nowhere', which nothing writes"},
      {"node { op_type: 'Relu' input: 'x' output: 'y' } "
       "node { op_type: 'Neg' input: 'x' output: 'y' }",
       "written by another node"},
      {"node { op_type: 'Constant' output: 'x' attribute { name: 'value_int' type: INT i: 1 } } "
       "node { op_type: 'Neg' input: 'x' output: 'y' }",
       "two values are named 'x'"},
      {"node { op_type: 'Relu' input: 'x' output: 'z' }", "'y': nothing writes it"},
      {"node { op_type: 'Relu' output: 'y' name: 'n' }", "node 'n' (Relu): input 0 is missing"},
      {"node { op_type: 'Elu' input: 'x' output: 'y' "
       "attribute { name: 'alpha' type: INT i: 1 } }",
       "attribute alpha is no float"},
  };
  for (const auto& c : cases) {
    const std::string model = OnnxModel(absl::StrCat(OnnxTensorInfo("input", "x", {2}), c.nodes,
                                                     OnnxTensorInfo("output", "y", {2})));
    EXPECT_THAT(ImportOnnx(model), StatusIs(StatusCode::kInvalidArgument, HasSubstr(c.want)));
  }
}

TEST(OnnxImportTest, ABatchOfABillionIsRefusedBeforeMemoryIsTaken) {
  const std::string bomb =
      OnnxModel(absl::StrCat(OnnxInts("shape", {1 << 20, 1 << 15}),
                             "node { op_type: 'ConstantOfShape' input: 'shape' output: 'y' } ",
                             OnnxTensorInfo("output", "y", {})));
  EXPECT_THAT(ImportOnnx(bomb), StatusIs(StatusCode::kResourceExhausted, HasSubstr("has over")));
  const std::string overflow =
      OnnxModel(absl::StrCat(OnnxInts("shape", {int64_t{1} << 62, int64_t{1} << 62, 4}),
                             "node { op_type: 'ConstantOfShape' input: 'shape' output: 'y' } ",
                             OnnxTensorInfo("output", "y", {})));
  EXPECT_THAT(ImportOnnx(overflow), StatusIs(StatusCode::kResourceExhausted));
}

TEST(OnnxImportTest, TooManyNodesAndTooDeepGraphsAreRefused) {
  std::string nodes;
  for (int i = 0; i < 20; ++i) {
    absl::StrAppend(&nodes, "node { op_type: 'Relu' input: '", i == 0 ? "x" : absl::StrCat("v", i),
                    "' output: '", i == 19 ? "y" : absl::StrCat("v", i + 1), "' } ");
  }
  const std::string model = OnnxModel(
      absl::StrCat(OnnxTensorInfo("input", "x", {2}), nodes, OnnxTensorInfo("output", "y", {2})));
  EXPECT_THAT(ImportOnnx(model), IsOk());
  EXPECT_THAT(ImportOnnx(model, {.max_nodes = 19}),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("19 nodes")));
  std::string graph = "node { op_type: 'Neg' input: 'x' output: 'e' } output { name: 'e' }";
  for (int i = 0; i < 5; ++i) {
    graph = absl::StrCat("node { op_type: 'If' input: 'c' output: 'e' ",
                         "attribute { name: 'then_branch' type: GRAPH g { ", graph,
                         " } } } output { name: 'e' }");
  }
  const std::string deep =
      OnnxModel(absl::StrCat(OnnxTensorInfo("input", "x", {2}),
                             "initializer { name: 'c' data_type: 9 int32_data: 1 } ", graph));
  EXPECT_THAT(ImportOnnx(deep), IsOk());
  EXPECT_THAT(ImportOnnx(deep, {.max_depth = 3}),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("nested")));
}

class ExternalDataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(::testing::TempDir(), "/external_data_test_", getpid());
    outside_ = folder_ + "_outside";
    mkdir(folder_.c_str(), 0755);
    mkdir((folder_ + "/sub").c_str(), 0755);
    Write(folder_ + "/w.bin", std::string("....") + std::string("\0\0\x80\x3f\0\0\0\x40", 8));
    Write(folder_ + "/sub/w.bin", std::string("\0\0\x80\x3f\0\0\0\x40", 8));
    Write(outside_, std::string(64, 'x'));
    unlink((folder_ + "/link").c_str());
    ASSERT_EQ(symlink(outside_.c_str(), (folder_ + "/link").c_str()), 0);
    unlink((folder_ + "/up").c_str());
    ASSERT_EQ(symlink("..", (folder_ + "/up").c_str()), 0);
  }
  static void Write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  absl::StatusOr<Graph> Import(const std::string& location, int offset = 0) {
    const std::string model = OnnxModel(
        absl::StrCat(OnnxTensorInfo("input", "x", {2}),
                     "initializer { name: 'w' dims: 2 data_type: 1 data_location: EXTERNAL ",
                     "external_data { key: 'location' value: '", location, "' } ",
                     "external_data { key: 'offset' value: '", offset, "' } } ",
                     "node { op_type: 'Add' input: ['x', 'w'] output: 'y' } ",
                     OnnxTensorInfo("output", "y", {2})));
    Write(folder_ + "/model.onnx", model);
    return ImportModelFile(folder_ + "/model.onnx");
  }
  std::string folder_, outside_;
};

TEST_F(ExternalDataTest, FilesInTheModelsFolderAreRead) {
  for (const auto& [location, offset] : {std::pair("w.bin", 4), std::pair("sub/w.bin", 0)}) {
    ASSERT_OK_AND_ASSIGN(const Graph graph, Import(location, offset));
    const GraphValue& w = graph.value(graph.nodes[0].inputs[1]);
    EXPECT_THAT(CopyAs<float>(*w.data), ElementsAre(1, 2));
  }
}

// A model of several shapes: the file is gone after the first, and weights are there once.
TEST_F(ExternalDataTest, AModelIsReadOnceForAllOfItsShapes) {
  const std::string path = folder_ + "/shapes.onnx";
  Write(path, OnnxModel(absl::StrCat(
                  "input { name: 'x' type { tensor_type { elem_type: 1 shape { "
                  "  dim { dim_param: 'n' } dim { dim_value: 2 } } } } } ",
                  "initializer { name: 'w' dims: 2 data_type: 1 data_location: EXTERNAL ",
                  "external_data { key: 'location' value: 'w.bin' } ",
                  "external_data { key: 'offset' value: '4' } } ",
                  "initializer { name: 'v' dims: 2 data_type: 1 "
                  "  raw_data: '\\000\\000\\200?\\000\\000\\000@' } ",
                  "initializer { name: 'b' dims: 2 data_type: 9 raw_data: '\\000\\007' } ",
                  "node { op_type: 'Add' input: ['x', 'w'] output: 'a' } ",
                  "node { op_type: 'Add' input: ['a', 'v'] output: 'c' } ",
                  "node { op_type: 'Where' input: ['b', 'c', 'w'] output: 'y' } ",
                  OnnxTensorInfo("output", "y", {}))));
  ModelReader reader(path);
  // What one import finds wrong is no harm to the next.
  EXPECT_THAT(reader.Import({}), StatusIs(StatusCode::kFailedPrecondition));
  unlink(path.c_str());
  ASSERT_OK_AND_ASSIGN(const Graph one, reader.Import({.input_shapes = {{"x", {1, 2}}}}));
  ASSERT_OK_AND_ASSIGN(const Graph three, reader.Import({.input_shapes = {{"x", {3, 2}}}}));
  EXPECT_EQ(three.value(three.outputs[0]).type.shape, (std::vector<int64_t>{3, 2}));
  const auto find = [](const Graph& graph, absl::string_view name) {
    const auto found = std::find_if(graph.values.begin(), graph.values.end(),
                                    [&](const GraphValue& value) { return value.name == name; });
    return found->data;
  };
  for (const char* name : {"w", "v"}) {
    EXPECT_THAT(CopyAs<float>(*find(one, name)), ElementsAre(1, 2)) << name;
    EXPECT_EQ(find(one, name)->bytes().data(), find(three, name)->bytes().data()) << name;
  }
  EXPECT_THAT(CopyAs<uint8_t>(*find(three, "b")), ElementsAre(0, 1));
}

TEST_F(ExternalDataTest, EverythingElseIsRefused) {
  EXPECT_THAT(Import(outside_), StatusIs(StatusCode::kInvalidArgument, HasSubstr("absolute")));
  EXPECT_THAT(Import("../external"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("'..'")));
  EXPECT_THAT(Import("sub/../w.bin"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("'..'")));
  EXPECT_THAT(Import("link"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("symbolic link")));
  EXPECT_THAT(Import("up/w.bin"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("symbolic link")));
  EXPECT_THAT(Import("sub"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("plain file")));
  EXPECT_THAT(Import("missing"), StatusIs(StatusCode::kNotFound));
  EXPECT_THAT(Import("w.bin", 8), StatusIs(StatusCode::kInvalidArgument, HasSubstr("12 bytes")));
  EXPECT_THAT(Import("w.bin", -4), StatusIs(StatusCode::kInvalidArgument));
}

// Whatever happens to a model's bytes, the importer answers: a graph or a status. Run under the
// sanitizers this is the smallest of fuzzers.
TEST(OnnxImportTest, DamagedModelsAreAnsweredNotObeyed) {
  const std::string model = SmallOnnxModel();
  const ImportOptions options = {
      .max_constant_bytes = 1 << 20, .max_folded_bytes = 1 << 20, .max_tensor_elements = 1 << 20};
  for (size_t length = 0; length < model.size(); ++length) {
    const absl::StatusOr<Graph> graph = ImportOnnx(model.substr(0, length), options);
    EXPECT_FALSE(graph.ok() && length < model.size() / 2) << length;
  }
  for (size_t at = 0; at < model.size(); ++at) {
    for (int flip : {0x01, 0x10, 0x80, 0xff}) {
      std::string damaged = model;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      const absl::StatusOr<Graph> graph = ImportOnnx(damaged, options);
      if (graph.ok()) {
        EXPECT_THAT(VerifyGraph(*graph), IsOk()) << at << " ^ " << flip;
      }
    }
  }
}

TEST(OnnxImportTest, AMissingFileIsNotFound) {
  EXPECT_THAT(ImportModelFile("/nonexistent/model.onnx"), StatusIs(StatusCode::kNotFound));
}

}  // namespace
}  // namespace burnish
