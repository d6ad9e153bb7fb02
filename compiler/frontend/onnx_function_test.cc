// Functions of a model, and graphs in attributes: what a node stands for, and what bounds that.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_matchers.h"
#include "compiler/frontend/onnx_import.h"
#include "compiler/frontend/onnx_testing.h"
#include "compiler/graph/graph_interpreter.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "third_party/onnx.pb.h"

namespace burnish {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// x f32[3] -> y, with functions of domain "own".
std::string Model(absl::string_view nodes, absl::string_view functions, int opset = 17) {
  onnx::ModelProto model;
  const std::string graph =
      absl::StrCat(OnnxTensorInfo("input", "x", {3}), nodes, OnnxTensorInfo("output", "y", {}));
  CHECK(model.ParseFromString(OnnxModel(graph, opset)));
  onnx::ModelProto more;
  CHECK(google::protobuf::TextFormat::ParseFromString(std::string(functions), &more)) << functions;
  model.MergeFrom(more);
  return model.SerializeAsString();
}

std::vector<double> RunModel(const Graph& graph, std::vector<double> x) {
  TensorValue input;
  input.dtype = DType::kF32;
  input.shape = {static_cast<int64_t>(x.size())};
  input.floats = std::move(x);
  const auto outputs = InterpretGraph(graph, {input});
  CHECK_OK(outputs.status());
  return (*outputs)[0].floats;
}

constexpr char kLeaky[] =
    "functions { name: 'Leaky' domain: 'own' input: ['a', 'shift'] output: ['b', 'c'] "
    "attribute: 'slope' opset_import { domain: '' version: 17 } "
    "node { op_type: 'LeakyRelu' input: 'a' output: 'l' "
    "       attribute { name: 'alpha' type: FLOAT ref_attr_name: 'slope' } } "
    "node { op_type: 'Add' input: ['l', 'shift'] output: 'b' } "
    "node { op_type: 'NoSuch' input: 'a' output: 'c' } } ";

TEST(OnnxFunctionTest, ACallIsTheFunctionsNodes) {
  // Names inside are the function's own; 'l' is there twice, and in the graph.
  const std::string nodes =
      "node { op_type: 'Leaky' domain: 'own' input: ['x', 'x'] output: 'l' "
      "       attribute { name: 'slope' type: FLOAT f: 0.5 } } "
      "node { op_type: 'Leaky' domain: 'own' input: ['l', 'x'] output: 'y' "
      "       attribute { name: 'slope' type: FLOAT f: 0.25 } } ";
  // The output that nobody wants has an operator that is not known: named, since it is in the
  // model.
  EXPECT_THAT(ImportOnnx(Model(nodes, kLeaky)),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("not supported: NoSuch ('c')")));
  const std::string known = absl::StrCat(kLeaky);
  const size_t unwanted = known.find("node { op_type: 'NoSuch'");
  const std::string functions = known.substr(0, unwanted) + "} ";
  ASSERT_OK_AND_ASSIGN(const Graph graph, ImportOnnx(Model(nodes, functions)));
  // l = leaky(x, 0.5) + x; y = leaky(l, 0.25) + x.
  EXPECT_THAT(RunModel(graph, {2, -4, 0}), ElementsAre(6, -5.5, 0));
}

TEST(OnnxFunctionTest, AbsentInputsAndAttributes) {
  const std::string functions =
      "functions { name: 'Bounded' domain: 'own' input: ['a', 'low', 'high'] output: 'b' "
      "node { op_type: 'Clip' input: ['a', 'low', 'high'] output: 'c' } "
      "node { op_type: 'LeakyRelu' input: 'c' output: 'b' "
      "       attribute { name: 'alpha' type: FLOAT ref_attr_name: 'slope' } } } ";
  const std::string nodes =
      OnnxFloats("top", {}, {1}) +
      "node { op_type: 'Bounded' domain: 'own' input: ['x', '', 'top'] output: 'y' } ";
  ASSERT_OK_AND_ASSIGN(const Graph graph, ImportOnnx(Model(nodes, functions)));
  EXPECT_THAT(RunModel(graph, {2, -1, 0.5}), ElementsAre(1, double{-0.01f}, 0.5));
}

TEST(OnnxFunctionTest, AFunctionHasItsOwnOperatorSet) {
  // Clip has attributes until opset 10, and inputs after it.
  const std::string functions =
      "functions { name: 'Old' domain: 'own' input: 'a' output: 'b' "
      "opset_import { domain: '' version: 9 } "
      "node { op_type: 'Clip' input: 'a' output: 'b' "
      "       attribute { name: 'max' type: FLOAT f: 1 } } } ";
  const std::string nodes =
      "node { op_type: 'Old' domain: 'own' input: 'x' output: 'o' } "
      "node { op_type: 'Clip' input: ['o', '', 'low'] output: 'y' } " +
      OnnxFloats("low", {}, {0.5});
  ASSERT_OK_AND_ASSIGN(const Graph graph, ImportOnnx(Model(nodes, functions)));
  EXPECT_THAT(RunModel(graph, {2, -1, 0.25}), ElementsAre(0.5, -1, 0.25));
}

TEST(OnnxFunctionTest, WhatCallsItselfIsAnError) {
  const std::string functions =
      "functions { name: 'A' domain: 'own' input: 'a' output: 'b' "
      "node { op_type: 'B' domain: 'own' input: 'a' output: 'b' } } "
      "functions { name: 'B' domain: 'own' input: 'a' output: 'b' "
      "node { op_type: 'A' domain: 'own' name: 'again' input: 'a' output: 'b' } } ";
  EXPECT_THAT(
      ImportOnnx(Model("node { op_type: 'A' domain: 'own' input: 'x' output: 'y' } ", functions)),
      StatusIs(StatusCode::kResourceExhausted, HasSubstr("node 'again' (A): graphs are nested")));
}

TEST(OnnxFunctionTest, FunctionsThatGrowWithoutEndAreAnError) {
  // Each calls the next eight times: 8^14 nodes.
  std::string functions;
  for (int i = 0; i < 14; ++i) {
    absl::StrAppend(&functions, "functions { name: 'F", i, "' domain: 'own' input: 'v0' ",
                    "output: 'v8' ");
    for (int k = 0; k < 8; ++k) {
      const std::string callee =
          i == 13 ? "op_type: 'Relu'" : absl::StrCat("op_type: 'F", i + 1, "' domain: 'own'");
      absl::StrAppend(&functions, "node { ", callee, " input: 'v", k, "' output: 'v", k + 1,
                      "' } ");
    }
    functions += "} ";
  }
  EXPECT_THAT(
      ImportOnnx(Model("node { op_type: 'F0' domain: 'own' input: 'x' output: 'y' } ", functions)),
      StatusIs(StatusCode::kResourceExhausted, HasSubstr("nodes (the limit)")));
}

TEST(OnnxFunctionTest, BrokenFunctions) {
  const std::string one =
      "functions { name: 'A' domain: 'own' input: 'a' output: 'b' "
      "node { op_type: 'Relu' input: 'a' output: 'b' } } ";
  const std::string call = "node { op_type: 'A' domain: 'own' name: 'n' input: 'x' output: 'y' } ";
  EXPECT_THAT(ImportOnnx(Model(call, one + one)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("own.A is there twice")));
  EXPECT_THAT(
      ImportOnnx(Model("node { op_type: 'A' domain: 'own' input: ['x', 'x'] output: 'y' } ", one)),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("more inputs or outputs")));
  EXPECT_THAT(ImportOnnx(Model(call,
                               "functions { name: 'A' domain: 'own' input: 'a' output: 'b' "
                               "node { op_type: 'Add' input: ['a', 'x'] output: 'b' } } ")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("reads 'x', which nothing writes")));
}

TEST(OnnxFunctionTest, MissingOperatorsOfBranchesAreNamedAtOnce) {
  const auto branch = [](const std::string& name, const std::string& op) {
    return absl::StrCat("attribute { name: '", name, "' type: GRAPH g { name: '", name, "' ",
                        "node { op_type: '", op, "' input: 'x' output: 'b' } ",
                        "node { op_type: 'Also", op, "' input: 'b' output: 'r' } ",
                        "output { name: 'r' } } } ");
  };
  const std::string choice =
      "initializer { name: 'c' data_type: 9 int32_data: 1 } "
      "node { op_type: 'If' input: 'c' output: 'y' " +
      branch("then_branch", "Foo") + branch("else_branch", "Bar") + "} ";
  // Of the branch that is read, both; the other one is never read.
  EXPECT_THAT(ImportOnnx(Model(choice, "")).status().message(),
              ::testing::AllOf(HasSubstr("not supported: Foo ('b'), AlsoFoo ('r')"),
                               ::testing::Not(HasSubstr("Bar"))));
  // With one that is missing outside, all.
  const std::string outside = "node { op_type: 'Baz' input: 'x' output: 'z' } ";
  EXPECT_THAT(ImportOnnx(Model(outside + choice, "")).status().message(),
              HasSubstr("Baz ('z'), Foo ('b'), AlsoFoo ('r'), Bar ('b'), AlsoBar ('r')"));
}

// y = x reshaped by what `nodes` make of the constant list `n`.
TEST(OnnxFunctionTest, ShapeArithmeticOfIntegersFoldsWhole) {
  const char* const lists[] = {
      "node { op_type: 'Neg' input: 'n' output: 'm' } node { op_type: 'Abs' input: 'm' output: 's' "
      "}",
      "node { op_type: 'Sign' input: 'n' output: 'm' } "
      "node { op_type: 'Mul' input: ['n', 'm'] output: 's' }",
      "node { op_type: 'Pow' input: ['n', 'm'] output: 's' } ",
      "node { op_type: 'Clip' input: 'n' output: 's' } ",
      "node { op_type: 'Mod' input: ['n', 'p'] output: 's' attribute { name: 'fmod' type: INT i: 1 "
      "} }",
  };
  for (const std::string nodes : lists) {
    SCOPED_TRACE(nodes);
    const bool has_m = nodes.find("output: 'm'") != std::string::npos;
    const std::string model =
        Model(absl::StrCat(OnnxInts("n", {3, 1}), OnnxInts("p", {7, 7}),
                           has_m ? "" : OnnxInts("m", {1, 1}), nodes,
                           " node { op_type: 'Reshape' input: ['x', 's'] output: 'y' } "),
              "");
    ASSERT_OK_AND_ASSIGN(const Graph graph, ImportOnnx(model));
    EXPECT_THAT(graph.value(graph.outputs[0]).type.shape, ElementsAre(3, 1));
  }
}

}  // namespace
}  // namespace burnish
