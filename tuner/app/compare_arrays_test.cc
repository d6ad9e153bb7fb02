#include "tuner/app/compare_arrays.h"

#include <cmath>
#include <limits>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

template <typename T>
NpyArray Array(ElementType type, std::vector<int64_t> shape, const std::vector<T>& values) {
  return {.type = type,
          .shape = std::move(shape),
          .bytes =
              std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T))};
}
NpyArray Floats(std::vector<int64_t> shape, const std::vector<float>& values) {
  return Array(ElementType::kF32, std::move(shape), values);
}

TEST(CompareArraysTest, SaysHowFarAndWhere) {
  ASSERT_OK_AND_ASSIGN(const ArrayDifference difference,
                       CompareArrays(Floats({2, 3}, {1, 2, 3, 4, 5.5f, 6}),
                                     Floats({2, 3}, {1, 2.25f, 3, 4, 5, -8})));
  EXPECT_EQ(difference.absolute, 14);
  EXPECT_EQ(difference.relative, 14.0 / 8);
  EXPECT_THAT(difference.at, ::testing::ElementsAre(1, 2));
  EXPECT_EQ(difference.got, 6);
  EXPECT_EQ(difference.want, -8);
  EXPECT_FALSE(difference.Within(1));
  EXPECT_TRUE(difference.Within(1.75));
}

TEST(CompareArraysTest, NotANumberEqualsItselfAlone) {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  ASSERT_OK_AND_ASSIGN(const ArrayDifference same,
                       CompareArrays(Floats({2}, {nan, infinity}), Floats({2}, {nan, infinity})));
  EXPECT_TRUE(same.Within(0));
  for (const float other : {1.0f, infinity}) {
    ASSERT_OK_AND_ASSIGN(const ArrayDifference difference,
                         CompareArrays(Floats({2}, {1, nan}), Floats({2}, {1, other})));
    EXPECT_FALSE(difference.Within(1e9));
    EXPECT_THAT(difference.at, ::testing::ElementsAre(1));
  }
}

TEST(CompareArraysTest, IntegersAreEqualOrNot) {
  ASSERT_OK_AND_ASSIGN(const ArrayDifference difference,
                       CompareArrays(Array<int32_t>(ElementType::kI32, {2}, {1000000, 7}),
                                     Array<int32_t>(ElementType::kI32, {2}, {1000001, 7})));
  EXPECT_FALSE(difference.Within(0.1));
  EXPECT_EQ(difference.absolute, 1);
}

TEST(CompareArraysTest, EmptyScalarAndZero) {
  EXPECT_TRUE(CompareArrays(Floats({0}, {}), Floats({0}, {}))->Within(0));
  EXPECT_TRUE(CompareArrays(Floats({}, {2}), Floats({}, {2}))->Within(0));
  EXPECT_TRUE(CompareArrays(Floats({1}, {0}), Floats({1}, {-0.0f}))->Within(0));
  EXPECT_FALSE(CompareArrays(Floats({1}, {1e-30f}), Floats({1}, {0}))->Within(1));
}

TEST(CompareArraysTest, OtherShapesAndTypesAreRefused) {
  EXPECT_THAT(CompareArrays(Floats({2}, {1, 2}), Floats({1, 2}, {1, 2})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::HasSubstr("got f32[2], want f32[1,2]")));
  const NpyArray none{.type = static_cast<ElementType>(14), .shape = {1}, .bytes = "ab"};
  EXPECT_THAT(CompareArrays(none, none), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(CompareArraysTest, SmallFloatsAreComparedAsNumbers) {
  const NpyArray one{.type = ElementType::kF16, .shape = {1}, .bytes = {0, '\x3c'}};
  const NpyArray more{.type = ElementType::kF16, .shape = {1}, .bytes = {0, '\x3e'}};  // 1.5
  EXPECT_TRUE(CompareArrays(one, one)->Within(0));
  EXPECT_FALSE(CompareArrays(more, one)->exact);
  EXPECT_EQ(CompareArrays(more, one)->relative, 0.5);
  const NpyArray wide{.type = ElementType::kU16, .shape = {1}, .bytes = {'\xff', '\xff'}};
  EXPECT_EQ(CompareArrays(wide, wide)->absolute, 0);
  EXPECT_TRUE(CompareArrays(wide, wide)->exact);
}

}  // namespace
}  // namespace burnish
