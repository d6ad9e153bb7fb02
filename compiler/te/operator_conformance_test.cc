// Every operator against ONNX Runtime's results (testdata/make_golden.py), as defined and in
// canonical form.
#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/status_matchers.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/verifier.h"
#include "compiler/te/builder.h"
#include "compiler/te/operator.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace burnish {
namespace {

using Json = nlohmann::json;

double FloatOf(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  return value == "inf" ? INFINITY : -INFINITY;
}

TensorValue TensorOf(const Json& json) {
  TensorValue value;
  CHECK(ParseDType(json[0].get<std::string>(), &value.dtype));
  value.shape = json[1].get<std::vector<int64_t>>();
  for (const Json& element : json[2]) {
    if (IsFloat(value.dtype)) {
      value.floats.push_back(FloatOf(element));
    } else {
      value.integers.push_back(element.get<int64_t>());
    }
  }
  return value;
}

Attributes AttributesOf(const Json& json) {
  Attributes attributes;
  for (const auto& [name, value] : json.items()) {
    if (value.is_string()) {
      attributes.Set(name, value.get<std::string>());
    } else if (value.is_number_integer()) {
      attributes.Set(name, value.get<int64_t>());
    } else if (value.is_number()) {
      attributes.Set(name, value.get<double>());
    } else if (!value.empty() && value[0].is_number_float()) {
      attributes.Set(name, value.get<std::vector<double>>());
    } else {
      attributes.Set(name, value.get<std::vector<int64_t>>());
    }
  }
  return attributes;
}

struct Case {
  std::string name;
  const OperatorDef* op;
  Attributes attributes;
  std::vector<TensorValue> inputs;
  std::vector<TensorValue> outputs;
};

std::vector<Case> ReadCases() {
  std::ifstream file("compiler/te/testdata/operators.jsonl");
  CHECK(file.good());
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(line);
    Case c{.name = json["name"], .op = FindOperator(json["op"].get<std::string>())};
    CHECK(c.op != nullptr) << json["op"].get<std::string>();
    c.attributes = AttributesOf(json["attrs"]);
    for (const Json& tensor : json["inputs"]) c.inputs.push_back(TensorOf(tensor));
    for (const Json& tensor : json["outputs"]) c.outputs.push_back(TensorOf(tensor));
    cases.push_back(std::move(c));
  }
  return cases;
}

Program Define(const Case& c) {
  TeBuilder te(c.name);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    inputs.push_back(te.Parameter("X" + std::to_string(i), {c.inputs[i].dtype, c.inputs[i].shape},
                                  BufferRole::kInput));
  }
  int k = 0;
  for (const Tensor& t : c.op->define(te, c.attributes, inputs)) {
    te.Output("Z" + std::to_string(k++), t);
  }
  return te.Build();
}

// ONNX Runtime computes in f32, the interpreter in double: the bound is that of f32 sums of a few
// hundred terms and of its approximations of exp, tanh, erf ..
void ExpectNear(const TensorValue& got, const TensorValue& want) {
  ASSERT_EQ(got.dtype, want.dtype);
  ASSERT_EQ(got.shape, want.shape);
  EXPECT_EQ(got.integers, want.integers);
  ASSERT_EQ(got.floats.size(), want.floats.size());
  for (size_t i = 0; i < got.floats.size(); ++i) {
    const double g = got.floats[i];
    const double w = want.floats[i];
    if (std::isnan(w)) {
      EXPECT_TRUE(std::isnan(g)) << "element " << i << ": got " << g << ", want nan";
    } else if (std::isinf(w)) {
      // An overflow of f32 is none in double.
      EXPECT_TRUE(g == w || (std::abs(g) > 3.4e38 && (g > 0) == (w > 0)))
          << "element " << i << ": got " << g << ", want " << w;
    } else {
      EXPECT_NEAR(g, w, 2e-6 + 2e-5 * std::abs(w)) << "element " << i;
    }
  }
}

TEST(OperatorConformanceTest, DefinitionsComputeWhatOnnxRuntimeComputes) {
  for (const Case& c : ReadCases()) {
    SCOPED_TRACE(c.name);
    std::vector<TensorType> types;
    for (const TensorValue& input : c.inputs) types.push_back({input.dtype, input.shape});
    ASSERT_OK_AND_ASSIGN(const auto inferred, c.op->infer(c.attributes, types));
    ASSERT_EQ(inferred.size(), c.outputs.size());
    for (size_t i = 0; i < inferred.size(); ++i) {
      EXPECT_EQ(inferred[i].dtype, c.outputs[i].dtype);
      EXPECT_EQ(inferred[i].shape, c.outputs[i].shape);
    }
    const Program program = Define(c);
    for (const Program& form : {program, Canonicalize(program)}) {
      EXPECT_THAT(Verify(form), IsOk());
      ASSERT_OK_AND_ASSIGN(const auto got, Interpret(form, c.inputs));
      ASSERT_EQ(got.size(), c.outputs.size());
      for (size_t i = 0; i < got.size(); ++i) ExpectNear(got[i], c.outputs[i]);
    }
  }
}

TEST(OperatorConformanceTest, EveryOperatorHasACase) {
  std::set<std::string> covered;
  for (const Case& c : ReadCases()) covered.insert(c.op->name);
  for (const OperatorDef* op : AllOperators()) {
    EXPECT_TRUE(covered.count(op->name)) << op->name;
  }
  EXPECT_EQ(covered.size(), AllOperators().size());
}

}  // namespace
}  // namespace burnish
