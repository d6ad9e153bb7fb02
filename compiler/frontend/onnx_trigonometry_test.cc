// Functions that are composed of others, against the C library's in double.
#include <cmath>
#include <limits>
#include <string>
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

struct Function {
  const char* name;
  double (*want)(double);
  double low, high;  // Its domain; what lies outside is NaN in both.
};

std::string Model(const Function& function, int64_t count) {
  return OnnxModel(absl::StrCat(
      "input { name: 'x' type { tensor_type { elem_type: 11 shape { dim { dim_value: ", count,
      " } } } } } node { op_type: '", function.name, "' input: 'x' output: 'y' } ",
      OnnxTensorInfo("output", "y", {})));
}

std::vector<double> Arguments(const Function& function) {
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> x = {0, std::numeric_limits<double>::quiet_NaN()};
  for (const double magnitude :
       {1e-12,  1e-6, 1e-3, 0.1,  0.3, 0.5,  0.659, 0.661, 0.9, 0.999, 1.0,
        1.0001, 1.5,  2.41, 2.42, 5.0, 40.0, 600.0, 1e7,   2e9, 1e100, infinity}) {
    for (const double sign : {1.0, -1.0}) x.push_back(sign * magnitude);
  }
  std::vector<double> kept;
  for (const double value : x) {
    if (std::isnan(value) || (value >= function.low && value <= function.high)) {
      kept.push_back(value);
    }
  }
  return kept;
}

TEST(OnnxTrigonometryTest, EveryFunctionToTheLastDigits) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Function functions[] = {
      {"Tan", std::tan, -1e7, 1e7},
      {"Asin", std::asin, -1, 1},
      {"Acos", std::acos, -1, 1},
      {"Atan", std::atan, -infinity, infinity},
      {"Sinh", std::sinh, -infinity, infinity},
      {"Cosh", std::cosh, -infinity, infinity},
      {"Asinh", std::asinh, -infinity, infinity},
      {"Acosh", std::acosh, -infinity, infinity},
      {"Atanh", std::atanh, -1, 1},
  };
  for (const Function& function : functions) {
    const std::vector<double> x = Arguments(function);
    const auto count = static_cast<int64_t>(x.size());
    ASSERT_OK_AND_ASSIGN(const Graph graph, ImportOnnx(Model(function, count)));
    TensorValue input;
    input.dtype = DType::kF64;
    input.shape = {count};
    input.floats = x;
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got, InterpretGraph(graph, {input}));
    for (int64_t i = 0; i < count; ++i) {
      const double want = function.want(x[i]), y = got[0].floats[i];
      const std::string what = absl::StrCat(function.name, "(", x[i], ")");
      if (std::isnan(want) || std::isinf(want)) {
        EXPECT_EQ(absl::StrCat(y), absl::StrCat(want)) << what;
      } else {
        EXPECT_NEAR(y, want, 2e-14 * std::abs(want)) << what;
      }
    }
  }
}

TEST(OnnxTrigonometryTest, IntegersAreRefused) {
  const std::string model = OnnxModel(absl::StrCat(
      "input { name: 'x' type { tensor_type { elem_type: 7 shape { dim { dim_value: 2 } } } } } "
      "node { op_type: 'Atan' input: 'x' output: 'y' } ",
      OnnxTensorInfo("output", "y", {})));
  EXPECT_THAT(ImportOnnx(model).status().message(), ::testing::HasSubstr("(Atan): wants floating"));
}

}  // namespace
}  // namespace burnish
