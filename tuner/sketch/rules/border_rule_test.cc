// Padding with zeros goes into the border of the input, other padding into its reader.
#include "gtest/gtest.h"
#include "tuner/sketch/rules/rule_test_util.h"

namespace burnish {
namespace {

constexpr char kTarget[] = "cpu:arch=znver3,threads=2";

Program PaddedConvolution(DType dtype) {
  return WorkloadOf({.name = "conv",
                     .op = "conv",
                     .inputs = {{1, 5, 4, 3}, {2, 3, 3, 3}},
                     .attributes = {{"channels_last", int64_t{1}}, {"pads", Ints{1, 1, 1, 1}}},
                     .dtype = dtype});
}

TEST(BorderRuleTest, BorderOfZerosOfFloats) {
  EXPECT_EQ(TestedDrafts("border", PaddedConvolution(DType::kF32), kTarget), R"(border
  border@1 b3->b0
)");
}

Program PaddedMaximum(DType dtype) {
  return WorkloadOf({.name = "max_pool",
                     .op = "max_pool",
                     .inputs = {{1, 5, 4, 3}},
                     .attributes = {{"channels_last", int64_t{1}},
                                    {"kernel_shape", Ints{3, 3}},
                                    {"pads", Ints{1, 1, 1, 1}}},
                     .dtype = dtype});
}

TEST(BorderRuleTest, ReaderTakesOtherPaddingOfFloats) {
  EXPECT_EQ(TestedDrafts("border", PaddedMaximum(DType::kF32), kTarget), R"(inline
  inline@1 b2
)");
}

}  // namespace
}  // namespace burnish
