#include "compiler/graph/size_quotients.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "gtest/gtest.h"

namespace burnish {
namespace {

const SizeTerm kB = SizeTerm::OfExtent(0), kN = SizeTerm::OfExtent(1);

SizeQuotients Quotients() {
  return SizeQuotients({{0, {.least = 1, .greatest = 3}}, {1, {.least = 4, .greatest = 60}}}, 2);
}

int64_t ValueOf(const SizeTerm& term, const std::map<ValueId, int64_t>& values) {
  int64_t sum = 0;
  for (const auto& [extents, factor] : term.products()) {
    int64_t product = factor;
    for (const ValueId extent : extents) product *= values.at(extent);
    sum += product;
  }
  return sum;
}

SizeTerm Sum(const SizeTerm& a, int64_t number) { return *a.Plus(SizeTerm(number)); }
SizeTerm Product(const SizeTerm& a, int64_t number) { return *a.Times(SizeTerm(number)); }

// Of a stride of 5 and one of 2 behind it, in every run: the quotient in whole numbers, and what is
// said of sizes alone.
TEST(SizeQuotientsTest, QuotientsAreAtMostWhatIsSaidOfTheSizes) {
  SizeQuotients quotients = Quotients();
  const auto frames = quotients.Of(Sum(kN, 7), 5);
  ASSERT_TRUE(frames.has_value());
  const auto halves = quotients.Of(Sum(*frames, 1), 2);
  ASSERT_TRUE(halves.has_value());
  const auto rows = halves->Times(kB);
  const auto left = Product(*halves, 3).Minus(*frames);  // 3 * halves - frames
  for (int64_t b = 1; b <= 3; ++b) {
    for (int64_t n = 4; n <= 60; ++n) {
      const int64_t frame_count = (n + 7) / 5, half_count = (frame_count + 1) / 2;
      const auto expect = [&](const SizeTerm& term, int64_t want, double slack) {
        const auto bound = quotients.AtLeast(term);
        ASSERT_TRUE(bound.has_value());
        const double got = static_cast<double>(ValueOf(bound->dividend, {{0, b}, {1, n}})) /
                           static_cast<double>(bound->divisor);
        EXPECT_GE(got, static_cast<double>(want)) << b << " " << n;
        EXPECT_LT(got, static_cast<double>(want) + slack) << b << " " << n;
      };
      expect(*frames, frame_count, 1);
      expect(*halves, half_count, 1.5);
      expect(*rows, b * half_count, 1.5 * static_cast<double>(b));
      expect(*left, 3 * half_count - frame_count, 3 * 1.5 + 1);
    }
  }
}

TEST(SizeQuotientsTest, EqualQuotientsAreOneTerm) {
  SizeQuotients quotients = Quotients();
  const auto one = quotients.Of(Sum(kN, 7), 5);
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(quotients.Of(Sum(kN, 7), 5), one);
  EXPECT_EQ(quotients.Of(Sum(kN, 17), 5), one->Plus(SizeTerm(2)));
  EXPECT_EQ(quotients.Of(Sum(kN, -3), 5), one->Minus(SizeTerm(2)));
  EXPECT_EQ(quotients.Of(*Product(kB, 10).Plus(Sum(kN, 7)), 5), one->Plus(Product(kB, 2)));
  EXPECT_NE(quotients.Of(Sum(kN, 6), 5), one);
  // (2 * frames + 1) / 2
  EXPECT_EQ(quotients.Of(Sum(Product(*one, 2), 1), 2), one);
  EXPECT_EQ(quotients.Of(SizeTerm(-7), 5), SizeTerm(-2));
}

TEST(SizeQuotientsTest, WhatHasNoBoundHasNoTerm) {
  SizeQuotients quotients = Quotients();
  EXPECT_FALSE(quotients.Of(kN, 0).has_value());
  EXPECT_FALSE(quotients.Of(kN, -2).has_value());
  EXPECT_FALSE(quotients.Of(SizeTerm::OfExtent(77), 2).has_value());
  EXPECT_FALSE(quotients.Of(*SizeTerm(3).Minus(kN), 2).has_value()) << "may be negative";
  const auto half = quotients.Of(kN, 2);
  const auto less = SizeTerm(100).Minus(*half->Times(*half));
  EXPECT_FALSE(quotients.AtLeast(*less).has_value()) << "a product that is taken away";
}

}  // namespace
}  // namespace burnish
