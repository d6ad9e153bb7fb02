// For tests of the generator's rules: a task in, a sketch that they derive for it as text out.
#ifndef TUNER_SKETCH_GENERATOR_GENERATOR_TEST_UTIL_H_
#define TUNER_SKETCH_GENERATOR_GENERATOR_TEST_UTIL_H_

#include <string>

#include "absl/strings/string_view.h"
#include "compiler/ir/program.h"
#include "tuner/sketch/rules/rule_test_util.h"

namespace burnish {

inline constexpr char kRuleTarget[] = "cpu:arch=znver3,threads=2";

// What each rule is tested at, with how many of them a vector of kRuleTarget has.
struct RuleType {
  DType dtype;
  int lanes;
};
inline constexpr RuleType kRuleTypes[] = {{DType::kF32, 8}, {DType::kF64, 4}, {DType::kI8, 32}};

// Y[64,48] = X[64,32] * W[32,48], W a constant whose elements lie along the output.
Program ProductOf(DType dtype);
// Y[2,40] = X[2,4096] * W[40,4096]': few elements, each a long sum.
Program LongProductOf(DType dtype);

// The text (sketch_text.h) of the derived sketch of this name, which computes the definition at its
// first points; where there is none of that name, the names of those that there are.
std::string DerivedText(const Program& program, absl::string_view target, absl::string_view name);

}  // namespace burnish

#endif  // TUNER_SKETCH_GENERATOR_GENERATOR_TEST_UTIL_H_
