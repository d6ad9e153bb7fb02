// Every operator against ONNX Runtime's results (testdata/make_golden.py), as defined and in
// canonical form.
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/verifier.h"
#include "compiler/te/builder.h"
#include "compiler/te/operator.h"
#include "compiler/te/operator_cases.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

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
  for (const OperatorCase& c : ReadOperatorCases()) {
    SCOPED_TRACE(c.name);
    ASSERT_OK_AND_ASSIGN(const auto inferred, c.op->infer(c.attributes, TypesOf(c.inputs)));
    ASSERT_EQ(inferred.size(), c.outputs.size());
    for (size_t i = 0; i < inferred.size(); ++i) {
      EXPECT_EQ(inferred[i].dtype, c.outputs[i].dtype);
      EXPECT_EQ(inferred[i].shape, c.outputs[i].shape);
    }
    // No definition: compiler/graph/host_operators_test.cc runs it.
    if (c.op->fusion == FusionKind::kHost) continue;
    const Program program = DefineOperator(*c.op, c.attributes, TypesOf(c.inputs));
    for (const Program& form : {program, Canonicalize(program)}) {
      EXPECT_THAT(Verify(form), IsOk());
      ASSERT_OK_AND_ASSIGN(const auto got, Interpret(form, c.inputs));
      ASSERT_EQ(got.size(), c.outputs.size());
      for (size_t i = 0; i < got.size(); ++i) ExpectNear(got[i], c.outputs[i]);
    }
  }
}

// Storage types are how tensors lie in memory: an operator computes of them what it computes of the
// same numbers in f32, and rounds its results once.
TEST(OperatorConformanceTest, StorageTypesRoundResultsOnce) {
  int narrow_results = 0;
  std::set<std::string> refused;
  for (const DType narrow : {DType::kBf16, DType::kF16}) {
    for (const OperatorCase& c : ReadOperatorCases()) {
      if (c.op->fusion == FusionKind::kHost) continue;
      SCOPED_TRACE(c.name + " in " + std::string(DTypeName(narrow)));
      std::vector<TensorValue> wide_inputs = c.inputs, inputs = c.inputs;
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].dtype != DType::kF32) continue;
        inputs[i].dtype = narrow;
        for (double& value : wide_inputs[i].floats) value = RoundToStorage(narrow, value);
      }
      const auto inferred = c.op->infer(c.attributes, TypesOf(inputs));
      if (!inferred.ok()) {
        refused.insert(c.op->name());
        continue;
      }
      const std::vector<TensorType>& types = *inferred;
      const Program wide = DefineOperator(*c.op, c.attributes, TypesOf(wide_inputs));
      ASSERT_OK_AND_ASSIGN(const auto want, Interpret(wide, wide_inputs));
      const Program program = DefineOperator(*c.op, c.attributes, TypesOf(inputs));
      for (const Program& form : {program, Canonicalize(program)}) {
        EXPECT_THAT(Verify(form), IsOk());
        ASSERT_OK_AND_ASSIGN(const auto got, Interpret(form, inputs));
        ASSERT_EQ(got.size(), want.size());
        for (size_t i = 0; i < got.size(); ++i) {
          ASSERT_EQ(got[i].dtype, types[i].dtype);
          EXPECT_EQ(got[i].integers, want[i].integers);
          narrow_results += IsStorageFloat(types[i].dtype);
          for (size_t k = 0; k < want[i].floats.size(); ++k) {
            const double w = RoundToStorage(types[i].dtype, want[i].floats[k]);
            if (std::isnan(w) && std::isnan(got[i].floats[k])) continue;
            ASSERT_EQ(got[i].floats[k], w) << "element " << k;
          }
        }
      }
    }
  }
  EXPECT_GT(narrow_results, 100);
  // Scales of quantization are f32, and nothing else is.
  EXPECT_THAT(refused,
              testing::IsSubsetOf({"quantize", "dequantize", "requantize", "matmul_blocks"}));
}

TEST(OperatorConformanceTest, EveryOperatorHasACase) {
  std::set<std::string> covered;
  for (const OperatorCase& c : ReadOperatorCases()) covered.insert(c.op->name());
  for (const OperatorDef* op : AllOperators()) {
    EXPECT_TRUE(covered.count(op->name())) << op->name();
  }
  EXPECT_EQ(covered.size(), AllOperators().size());
}

}  // namespace
}  // namespace burnish
