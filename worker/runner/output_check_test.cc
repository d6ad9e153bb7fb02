#include "worker/runner/output_check.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename T>
CheckResult Compare(ElementType type, const std::vector<T>& got, const std::vector<T>& want,
                    double bound = 1e-4) {
  const auto bytes = [](const std::vector<T>& values) {
    return std::span<const uint8_t>(reinterpret_cast<const uint8_t*>(values.data()),
                                    values.size() * sizeof(T));
  };
  return CompareAll(type, bytes(got), bytes(want), bound);
}

CheckResult CompareFloats(const std::vector<float>& got, const std::vector<float>& want) {
  return Compare(ElementType::kF32, got, want);
}

TEST(OutputCheckTest, ErrorIsRelativeToTheLargestWantedValue) {
  // 0.005 off where the largest is 100: 5e-5.
  const CheckResult near = CompareFloats({100, 0.005f}, {100, 0});
  EXPECT_EQ(near.what_is_wrong, "");
  EXPECT_NEAR(near.error, 5e-5, 1e-9);
  EXPECT_THAT(CompareFloats({100, 0.02f}, {100, 0}).what_is_wrong,
              HasSubstr("element 1: got 0.0199999996, want 0"));
}

TEST(OutputCheckTest, ZerosMustBeZero) {
  EXPECT_EQ(CompareFloats({0, -0.0f}, {0, 0}).what_is_wrong, "");
  EXPECT_NE(CompareFloats({0, 1e-30f}, {0, 0}).what_is_wrong, "");
}

TEST(OutputCheckTest, NanAndInfinityAgreeWithThemselvesOnly) {
  EXPECT_EQ(CompareFloats({kNan, kInfinity, 1}, {-kNan, kInfinity, 1}).what_is_wrong, "");
  EXPECT_NE(CompareFloats({kNan, 1}, {2, 1}).what_is_wrong, "");
  EXPECT_NE(CompareFloats({2, 1}, {kNan, 1}).what_is_wrong, "");
  EXPECT_NE(CompareFloats({kInfinity}, {-kInfinity}).what_is_wrong, "");
  EXPECT_NE(CompareFloats({3e38f}, {kInfinity}).what_is_wrong, "");
}

// One last place is what rounding to 16 bits may differ by; two are an error of the kernel.
TEST(OutputCheckTest, SmallFloatsMayBeALastPlaceApart) {
  const auto wrong = [](ElementType type, uint16_t got, uint16_t want) {
    return !Compare<uint16_t>(type, {got}, {want}).what_is_wrong.empty();
  };
  for (const auto& [type, one] : {std::pair(ElementType::kBf16, uint16_t{0x3f80}),
                                  std::pair(ElementType::kF16, uint16_t{0x3c00})}) {
    EXPECT_FALSE(wrong(type, one, one));
    EXPECT_FALSE(wrong(type, one + 1, one));
    EXPECT_TRUE(wrong(type, one + 2, one));
    EXPECT_TRUE(wrong(type, one | 0x8000, one));
  }
  EXPECT_FALSE(wrong(ElementType::kF16, 1, 2));  // Subnormal: steps of 2^-24.
  EXPECT_TRUE(wrong(ElementType::kF16, 1, 3));
}

TEST(OutputCheckTest, IntegersAreExact) {
  EXPECT_EQ(Compare<int32_t>(ElementType::kI32, {1, -2}, {1, -2}).what_is_wrong, "");
  EXPECT_EQ(Compare<int8_t>(ElementType::kI8, {1, -2}, {1, -3}).what_is_wrong,
            "element 1: got -2, want -3");
  EXPECT_EQ(Compare<uint8_t>(ElementType::kBool, {1, 0}, {0, 0}).what_is_wrong,
            "element 0: got 1, want 0");
}

TEST(OutputCheckTest, OutputsOfAnotherSizeAreWrong) {
  EXPECT_EQ(CompareFloats({1}, {1, 2}).what_is_wrong, "got 4 bytes, want 8");
}

TEST(OutputCheckTest, SamplesBeyondFloatAreInfinite) {
  const std::vector<float> got = {kInfinity, -kInfinity, 1};
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(got.data()), 12);
  std::vector<Sample> samples = {{.offset = 0, .want = {.f = 1e39}},
                                 {.offset = 1, .want = {.f = -1e39}},
                                 {.offset = 2, .want = {.f = 1.00001}}};
  const CheckResult result = CompareSamples(ElementType::kF32, bytes, samples, 1e-4);
  EXPECT_EQ(result.what_is_wrong, "");
  EXPECT_NEAR(result.error, 1e-5, 1e-8);
  samples[2].want.f = 1.01;
  EXPECT_THAT(CompareSamples(ElementType::kF32, bytes, samples, 1e-4).what_is_wrong,
              HasSubstr("element 2"));
}

TEST(OutputCheckTest, SmallTensorsAreSampledWholeAndLargeOnesAtTheCorners) {
  EXPECT_THAT(SampleOffsets({2, 2}, 10, 1, 0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(SampleOffsets({}, 10, 1, 0), ElementsAre(0));
  EXPECT_THAT(SampleOffsets({0, 5}, 10, 1, 0), ElementsAre());
  const std::vector<int64_t> offsets = SampleOffsets({3, 100, 100}, 50, 1, 0);
  EXPECT_THAT(offsets, IsSupersetOf({0, 99, 9900, 9999, 20000, 20099, 29900, 29999}));
  EXPECT_GT(offsets.size(), 50u);
  EXPECT_TRUE(std::is_sorted(offsets.begin(), offsets.end()));
  EXPECT_NE(offsets, SampleOffsets({3, 100, 100}, 50, 2, 0));
  EXPECT_NE(offsets, SampleOffsets({3, 100, 100}, 50, 1, 1));
}

}  // namespace
}  // namespace burnish
