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

TEST(OperatorConformanceTest, EveryOperatorHasACase) {
  std::set<std::string> covered;
  for (const OperatorCase& c : ReadOperatorCases()) covered.insert(c.op->name);
  for (const OperatorDef* op : AllOperators()) {
    EXPECT_TRUE(covered.count(op->name)) << op->name;
  }
  EXPECT_EQ(covered.size(), AllOperators().size());
}

}  // namespace
}  // namespace burnish
