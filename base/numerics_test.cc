#include "base/numerics.h"

#include <cctype>
#include <limits>
#include <set>
#include <string>

#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(NumericsTest, RowsOfTheTableAreWhole) {
  std::set<std::string> names;
  std::set<int> numbers;
  for (const Algorithm* algorithm : AllAlgorithms()) {
    EXPECT_TRUE(names.insert(algorithm->name).second) << algorithm->name;
    EXPECT_TRUE(numbers.insert(algorithm->number).second) << algorithm->name;
    EXPECT_LE(std::string(algorithm->name).size(), Numerics::kAlgorithmBytesMax);
    for (const char c : std::string(algorithm->name)) EXPECT_TRUE(std::islower(c) || c == '_');
    EXPECT_LT(algorithm->parameter_max, kAlgorithmParameterLimit);
    for (int32_t parameter = 0; parameter <= algorithm->parameter_max; ++parameter) {
      EXPECT_GT(algorithm->assumed_error(parameter), 0);
      EXPECT_GT(algorithm->difference_max(parameter), algorithm->assumed_error(parameter));
    }
    EXPECT_GE(algorithm->saving_max, 1);
    EXPECT_EQ(FindAlgorithm(algorithm->name), algorithm);
  }
  EXPECT_NE(FindAlgorithm(kUnnamedAlgorithm), nullptr);
  EXPECT_EQ(FindAlgorithm("none"), nullptr);
  EXPECT_EQ(FindAlgorithm(""), nullptr);
}

// Fingerprints and features of stored records have these numbers.
TEST(NumericsTest, KeysOfTheFirstAlgorithmAreItsParameters) {
  EXPECT_EQ(AlgorithmKey({.kind = NumericsClass::kExact}), 0);
  EXPECT_EQ(AlgorithmKey({NumericsClass::kAlgorithm, kUnnamedAlgorithm, 4}), 4);
  EXPECT_EQ(AlgorithmKey({NumericsClass::kAlgorithm, "none", 4}), 0);
}

TEST(NumericsTest, ErrorIsMeasuredElseAssumedElseUnbounded) {
  EXPECT_EQ(ErrorOf({.kind = NumericsClass::kExact, .error = 1e-3}), 0);
  EXPECT_EQ(ErrorOf({.kind = NumericsClass::kReassociated}), 0);
  EXPECT_EQ(ErrorOf({NumericsClass::kAlgorithm, kUnnamedAlgorithm, 2, 3e-7}), 3e-7);
  EXPECT_EQ(ErrorOf({NumericsClass::kAlgorithm, kUnnamedAlgorithm, 4}), 7e-6);
  EXPECT_EQ(ErrorOf({NumericsClass::kAlgorithm, "none", 4}), std::numeric_limits<double>::max());
  EXPECT_EQ(ErrorOf({.kind = NumericsClass::kLowPrecision}), std::numeric_limits<double>::max());
}

}  // namespace
}  // namespace burnish
