// For tests of the generator's rules: a task in, a sketch that they derive for it as text out.
#ifndef TUNER_SKETCH_GENERATOR_GENERATOR_TEST_UTIL_H_
#define TUNER_SKETCH_GENERATOR_GENERATOR_TEST_UTIL_H_

#include <string>

#include "absl/strings/string_view.h"
#include "compiler/ir/program.h"
#include "tuner/sketch/rules/rule_test_util.h"

namespace burnish {

// The text (sketch_text.h) of the derived sketch of this name, which computes the definition at its
// first points; where there is none of that name, the names of those that there are.
std::string DerivedText(const Program& program, absl::string_view target, absl::string_view name);

}  // namespace burnish

#endif  // TUNER_SKETCH_GENERATOR_GENERATOR_TEST_UTIL_H_
