#include "tuner/cost_model/features.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/check.h"
#include "base/golden.h"
#include "compiler/ir/lower.h"
#include "compiler/schedule/test_programs.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_text.h"
#include "compiler/target/device_model.h"
#include "compiler/target/target.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::FloatNear;

constexpr char kConv1x1[] =
    "fuse@1 (Y.n,Y.y,Y.x)->m\n"
    "split@1 m->(p,m1) parts=2\n"
    "split@1 m1->(mt,mi) max=6\n"
    "split@1 o->(op,oi) size=16\n"
    "reorder@1 (p,op,mt,c,mi,oi)\n"
    "stage@1 Y->acc inside=mt scope=register\n"
    "parallel@1 p\n"
    "unroll@1 mi\n"
    "vectorize@1 oi lanes=8\n";

const std::string kPacked = std::string(kConv1x1) +
                            "relayout@1 W->Wp dims=(op,c,oi)\n"
                            "precompute@1 Wp\n"
                            "prefetch@1 Wp next=op at=Y.c to=L2\n";

DeviceModel Device() {
  const auto target = ParseTarget("cpu:arch=znver3");  // AVX2: 8 lanes, 16 registers.
  CHECK(target.ok());
  return DeviceModelOf(*target);
}

std::vector<float> FeaturesOf(const Program& program, const std::string& trace_text,
                              int threads = 2) {
  const auto trace = ParseTrace(trace_text);
  CHECK(trace.ok());
  const auto scheduled = ApplyTrace(*trace, program);
  CHECK(scheduled.ok()) << scheduled.status().message();
  const auto lowered = Lower(*scheduled);
  CHECK(lowered.ok()) << lowered.status().message();
  return ExtractFeatures(*lowered, Device(), threads);
}

// 1x1, 6 x 8 pixels, 32 to 32 channels: no ragged tile anywhere.
Program Even() { return ConvProgram({1, 6, 8, 32, 32, 1, 1, 0}); }

float Store(const std::vector<float>& row, StoreFeature feature) {
  return row[kStoreFeatureBegin + feature];
}

float Buffer(const std::vector<float>& row, int slot, BufferFeature feature) {
  return row[kBufferFeatureBegin + slot * kBufferFeatureCount + feature];
}

::testing::Matcher<float> Log2Of(double n) {
  return FloatNear(static_cast<float>(std::log2(1 + n)), 1e-4F);
}

TEST(FeaturesTest, CountsAreThoseOfOneWorkersShare) {
  const std::vector<float> row = FeaturesOf(Even(), kConv1x1);
  const double elements = 6 * 8 * 32, products = elements * 32;
  EXPECT_THAT(Store(row, kStoreFused), Log2Of(products / 2));
  EXPECT_EQ(Store(row, kStoreMultiply), 0);
  EXPECT_EQ(Store(row, kStoreAdd), 0);
  // A multiply-add is two operations; bias and ReLU are one each a pixel and channel.
  EXPECT_THAT(row[kOperations], FloatNear(std::log2(products / 2 * 2), 0.1F));
  // 4 tiles of 6 pixels, 2 panels of channels, 32 steps.
  EXPECT_THAT(Store(row, kStoreOuterProduct), Log2Of(4 * 2 * 32));
  EXPECT_THAT(Store(row, kStoreInnermostTrips), Log2Of(32));
  EXPECT_THAT(Store(row, kStoreVectorExtent), Log2Of(16));
  EXPECT_THAT(Store(row, kStoreUnrolled), Log2Of(6));
  EXPECT_THAT(Store(row, kStoreElements), Log2Of(products / 2));
}

TEST(FeaturesTest, RegisterWindowIsCountedInVectors) {
  const std::vector<float> row = FeaturesOf(Even(), kConv1x1);
  EXPECT_EQ(Store(row, kStoreWindow), 6 * 16 / 8);
  EXPECT_EQ(row[kWindowMax], 12);
  EXPECT_EQ(row[kSpilledMax], 0);
  EXPECT_EQ(Store(row, kStoreRegisterShare), 14.0F / 16);
  EXPECT_EQ(Store(row, kStorePortFill), 12.0F / Device().core.accumulators_min());
  // A step of the tile: 12 multiply-adds; 2 vectors of weights, 6 values of pixels.
  EXPECT_THAT(Store(FeaturesOf(Even(), kPacked), kStoreLoadsPerOp), FloatNear(8 / 12.0F, 1e-5F));
}

TEST(FeaturesTest, LanesWithoutAnElementAreWaste) {
  EXPECT_EQ(FeaturesOf(Even(), kConv1x1)[kTailWaste], 0);
  // 12 channels: a vector of 8 and one of 4 that takes as long.
  const std::vector<float> row = FeaturesOf(ConvProgram({1, 6, 8, 32, 12, 1, 1, 0}), kConv1x1);
  EXPECT_THAT(Store(row, kStoreTailWaste), FloatNear(0.25F, 1e-5F));
}

TEST(FeaturesTest, ThirdPartOfTwoWorkersLeavesOneWaiting) {
  std::string trace = kConv1x1;
  trace.replace(trace.find("parts=2"), 7, "parts=3");
  EXPECT_EQ(FeaturesOf(Even(), kConv1x1)[kImbalance], 0);
  EXPECT_THAT(FeaturesOf(Even(), trace)[kImbalance], FloatNear(0.25F, 1e-5F));
  EXPECT_EQ(FeaturesOf(Even(), kConv1x1)[kSerialShare], 0);
  EXPECT_EQ(FeaturesOf(Even(), "")[kSerialShare], 1);
}

TEST(FeaturesTest, BuffersOfTheHeaviestStoreAreWeightsAndPixels) {
  const std::vector<float> row = FeaturesOf(Even(), kConv1x1);
  // Weights of 32 x 32; each vector takes 16 rows apart: no layout was chosen.
  int cold = Buffer(row, 0, kBufferIsCold) == 1 ? 0 : 1;
  EXPECT_EQ(Buffer(row, cold, kBufferIsCold), 1);
  EXPECT_EQ(Buffer(row, cold, kBufferLanes), 2);
  EXPECT_THAT(Buffer(row, cold, kBufferUnique), Log2Of(32 * 32 * 4));
  EXPECT_THAT(Buffer(row, cold, kBufferL3In), Log2Of(32 * 32 * 4));
  // They are used again by the next tile of pixels.
  EXPECT_THAT(Buffer(row, cold, kBufferReuseCount), Log2Of(4));
  EXPECT_EQ(Buffer(row, cold, kBufferReuseLevel), 1);
  const int pixels = 1 - cold;
  EXPECT_EQ(Buffer(row, pixels, kBufferIsCold), 0);
  EXPECT_EQ(Buffer(row, pixels, kBufferLanes), 0);
  EXPECT_THAT(Buffer(row, pixels, kBufferReuseCount), Log2Of(2));  // The next panel of channels.
  EXPECT_EQ(Buffer(row, pixels, kBufferIsStored), 0);
  // The window itself is in registers: there is no third buffer.
  for (int feature = 0; feature < kBufferFeatureCount; ++feature) {
    EXPECT_TRUE(std::isnan(Buffer(row, 2, static_cast<BufferFeature>(feature))));
  }
}

TEST(FeaturesTest, PackedWeightsAreReadInOrder) {
  const std::vector<float> row = FeaturesOf(Even(), kPacked);
  const int cold = Buffer(row, 0, kBufferIsCold) == 1 ? 0 : 1;
  EXPECT_EQ(Buffer(row, cold, kBufferLanes), 1);
  EXPECT_THAT(Buffer(row, cold, kBufferStride), Log2Of(4));
  EXPECT_EQ(Buffer(row, cold, kBufferIsPrefetched), 1);
  EXPECT_THAT(row[kPackedBytes], Log2Of(32 * 32 * 4));
  EXPECT_GT(row[kPrefetches], 0);
  EXPECT_LT(row[kExposedCycles], FeaturesOf(Even(), kConv1x1)[kExposedCycles]);
}

TEST(FeaturesTest, EverythingButAbsentBuffersIsFinite) {
  for (const Program& program : {Even(), ConvProgram({1, 7, 5, 3, 19, 3, 2, 1, true}),
                                 DenseProgram(1, 45, 101), WinogradProgram({1, 9, 7, 5, 19})}) {
    const std::vector<float> row = FeaturesOf(program, "");
    ASSERT_EQ(row.size(), static_cast<size_t>(kFeatureCount));
    for (int i = 0; i < kFeatureCount; ++i) {
      const bool may_lack = i >= kBufferFeatureBegin && i < kRestFeatureBegin;
      EXPECT_TRUE(std::isfinite(row[i]) || (may_lack && std::isnan(row[i]))) << i;
    }
  }
}

// A difference means that stored rows no longer mean the same: raise kFeatureVersion.
TEST(FeaturesTest, RowOfAKnownProgramStaysAsItIs) {
  std::string text = absl::StrFormat("version %d\n", kFeatureVersion);
  for (float value : FeaturesOf(ConvProgram({1, 13, 11, 19, 45, 1, 1, 0, true}), kConv1x1)) {
    absl::StrAppendFormat(&text, "%.4f\n", value);
  }
  EXPECT_TRUE(MatchesGolden("tuner/cost_model/testdata/features.txt", text));
}

}  // namespace
}  // namespace burnish
