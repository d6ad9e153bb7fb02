#include "tuner/app/workload_facts.h"

#include <string>

#include "gtest/gtest.h"

namespace burnish {
namespace {

constexpr char kConvolution[] = R"(workload/1
input b0: f32[1, 9, 9, 3]
const b1: f32[4, 3, 2, 2]
output b2: f32[1, 4, 4, 4]
block b2(i0 in 1, i1 in 4, i2 in 4, i3 in 4; i4 in 2, i5 in 2, i6 in 3) {
  step b2[0, i1, i2, i3] += b0[0, i1 * 2 + i4, i2 * 2 + i5, i6] * b1[i3, i6, i4, i5]
}
)";

constexpr char kTranspose[] = R"(workload/1
input b0: f32[1, 3, 8]
output b1: f32[1, 8, 3]
block b1(i0 in 1, i1 in 8, i2 in 3) {
  step b1[i0, i1, i2] = b0[0, i2, i1]
}
)";

TEST(WorkloadFactsTest, ConvolutionIsNamedByImageChannelsAndKernel) {
  EXPECT_EQ(WorkloadTitle("conv", kConvolution), "conv 4x4 3-4 2x2");
}

TEST(WorkloadFactsTest, ProductsOfSquaresAreNamedWithTheirInnerDimension) {
  const std::string product = R"(workload/1
input b0: f32[16, 16]
const b1: f32[16, 16]
output b2: f32[16, 16]
block b2(i0 in 16, i1 in 16; i2 in 16) {
  step b2[i0, i1] += b0[i0, i2] * b1[i2, i1]
}
)";
  EXPECT_EQ(WorkloadTitle("matmul", product), "matmul 16x16 -> 16x16");
}

TEST(WorkloadFactsTest, OthersAreNamedByTheirShapes) {
  EXPECT_EQ(WorkloadTitle("transpose", kTranspose), "transpose 3x8 -> 8x3");
}

TEST(WorkloadFactsTest, TextOfAnotherVersionSaysNothing) {
  EXPECT_EQ(WorkloadTitle("conv", "workload/99"), "conv");
  EXPECT_EQ(WorkloadFlops("workload/99"), std::nullopt);
}

TEST(WorkloadFactsTest, ConstantsAreTheWeights) {
  EXPECT_EQ(WorkloadConstantBytes(kConvolution), 4 * 4 * 3 * 2 * 2);
  EXPECT_EQ(WorkloadConstantBytes(kTranspose), 0);
  EXPECT_EQ(WorkloadConstantBytes("workload/99"), 0);
}

TEST(WorkloadFactsTest, OperationsOfAConvolution) {
  // Outputs times terms, each a multiplication and an addition.
  EXPECT_EQ(WorkloadFlops(kConvolution), 2 * (4 * 4 * 4) * (2 * 2 * 3));
}

}  // namespace
}  // namespace burnish
