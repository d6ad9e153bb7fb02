#include "compiler/graph/size_term.h"

#include <limits>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

const SizeTerm kB = SizeTerm::OfExtent(3), kS = SizeTerm::OfExtent(7);
SizeTerm N(int64_t number) { return SizeTerm(number); }

TEST(SizeTermTest, EqualSizesAreEqualHoweverTheyAreComputed) {
  EXPECT_EQ(*kB.Times(kS), *kS.Times(kB));
  EXPECT_EQ(*kB.Plus(kS)->Minus(kB), kS);
  EXPECT_EQ(*kS.Minus(kS), N(0));
  EXPECT_EQ(*kB.Plus(kS)->Times(N(2)), *kB.Times(N(2))->Plus(*kS.Times(N(2))));
  EXPECT_FALSE(kB == kS);
  EXPECT_TRUE(N(0).IsNumber());
  EXPECT_FALSE(kB.Plus(N(1))->IsNumber());
  EXPECT_EQ(kB.Plus(N(5))->number(), 5);
}

TEST(SizeTermTest, QuotientsAreExactOrNone) {
  const SizeTerm product = *kB.Times(kS)->Times(N(12));
  EXPECT_EQ(product.DividedBy(N(4)), kB.Times(kS)->Times(N(3)));
  EXPECT_EQ(product.DividedBy(kS), kB.Times(N(12)));
  EXPECT_EQ(product.DividedBy(*kB.Times(N(6))), kS.Times(N(2)));
  EXPECT_EQ(product.DividedBy(N(5)), std::nullopt);
  EXPECT_EQ(kS.Plus(N(1))->DividedBy(N(2)), std::nullopt);
  EXPECT_EQ(kS.DividedBy(kB), std::nullopt);
  EXPECT_EQ(kS.DividedBy(*kS.Times(kS)), std::nullopt);
  EXPECT_EQ(kS.DividedBy(N(0)), std::nullopt);
  EXPECT_EQ(N(0).DividedBy(N(0)), std::nullopt);
  EXPECT_EQ(kS.Plus(kB)->DividedBy(*kS.Plus(kB)), N(1));
  EXPECT_EQ(kS.Plus(kB)->Times(N(12))->DividedBy(*kS.Plus(kB)), N(12));
  EXPECT_EQ(kS.Plus(kB)->Times(N(12))->DividedBy(*kS.Plus(N(1))), std::nullopt);
  EXPECT_EQ(N(std::numeric_limits<int64_t>::min()).DividedBy(N(-1)), std::nullopt);
}

TEST(SizeTermTest, WhatIsBeyondShapesIsNotKnown) {
  EXPECT_EQ(kS.Times(N(int64_t{1} << 62))->Times(N(4)), std::nullopt);
  SizeTerm power = N(1);
  for (int i = 0; i < 4; ++i) power = *power.Times(kS);
  EXPECT_EQ(power.Times(kS), std::nullopt);
  SizeTerm sum;
  for (ValueId e = 0; e < 256; ++e) sum = *sum.Plus(SizeTerm::OfExtent(e));
  EXPECT_EQ(sum.Plus(SizeTerm::OfExtent(256)), std::nullopt);
}

TEST(SizeTermTest, Ranges) {
  const std::map<ValueId, SizeRange> ranges = {{3, {1, 8}}, {7, {0, 512}}};
  const SizeRange product = *RangeOf(*kB.Times(kS), ranges);
  EXPECT_EQ(product.least, 0);
  EXPECT_EQ(product.greatest, 4096);
  const SizeRange difference = *RangeOf(*kB.Minus(kS), ranges);
  EXPECT_EQ(difference.least, 1 - 512);
  EXPECT_EQ(difference.greatest, 8);
  EXPECT_EQ(RangeOfDifference(kB, kS, ranges)->least, difference.least);
  EXPECT_EQ(RangeOfDifference(kB, kS, ranges)->greatest, difference.greatest);
  EXPECT_FALSE(RangeOf(SizeTerm::OfExtent(9), ranges).has_value());
  EXPECT_FALSE(RangeOfDifference(kB, SizeTerm::OfExtent(9), ranges).has_value());
}

// [B, 12, S, 64] at the bounds 8 and 512.
const AxisPart kBatch{kB, 8}, kSteps{kS, 512}, kHeads{N(12), 12}, kWidth{N(64), 64};
using To = std::vector<std::optional<SizeTerm>>;

TEST(RegroupedTest, AxesAreMergedAndCutWhereTheyWere) {
  const auto merged =
      Regrouped({{kBatch}, {kSteps}, {{N(768), 768}}}, {std::nullopt, N(768)}, false);
  ASSERT_TRUE(merged.has_value());
  EXPECT_EQ((*merged)[0], (AxisParts{kBatch, kSteps}));
  EXPECT_EQ((*merged)[1], (AxisParts{{N(768), 768}}));
  const auto product = Regrouped({{kBatch}, {kSteps}}, {*kB.Times(kS)}, false);
  EXPECT_EQ((*product)[0], (AxisParts{kBatch, kSteps}));
  const auto cut = Regrouped(*merged, {kB, kS, N(12), N(64)}, false);
  ASSERT_TRUE(cut.has_value());
  EXPECT_EQ(*cut, (std::vector<AxisParts>{{kBatch}, {kSteps}, {kHeads}, {kWidth}}));
  EXPECT_EQ(Regrouped(*merged, {kB, std::nullopt, N(12), N(64)}, false), cut);
  EXPECT_EQ(Regrouped(*merged, {N(8), N(512), N(12), N(64)}, true), cut);
}

TEST(RegroupedTest, FullAxesBehindGoWithWhatHolds) {
  const auto heads = Regrouped({{kBatch}, {kHeads}, {kSteps}}, {std::nullopt, kS}, false);
  EXPECT_EQ((*heads)[0], (AxisParts{{*kB.Times(N(12)), 96}}));
  const auto back = Regrouped(*heads, {kB, N(12), kS}, false);
  EXPECT_EQ(*back, (std::vector<AxisParts>{{kBatch}, {kHeads}, {kSteps}}));
  const auto from_end = Regrouped({{{*kS.Times(N(64)), 512 * 64}}}, {std::nullopt, N(64)}, false);
  EXPECT_EQ(*from_end, (std::vector<AxisParts>{{kSteps}, {kWidth}}));
  // A full axis before one of a run is a part of its own.
  EXPECT_EQ((*Regrouped({{kHeads}, {kSteps}}, {std::nullopt}, false))[0],
            (AxisParts{kHeads, kSteps}));
}

TEST(RegroupedTest, OnesComeAndGo) {
  const AxisPart one{N(1), 1};
  const auto got = Regrouped({{one}, {kSteps}, {}}, {kS, N(1), N(1)}, false);
  EXPECT_EQ(*got, (std::vector<AxisParts>{{kSteps}, {}, {}}));
}

TEST(RegroupedTest, WhatOnlyARunKnowsIsNotCut) {
  EXPECT_FALSE(Regrouped({{kSteps}}, {N(2), std::nullopt}, false).has_value());
  EXPECT_FALSE(Regrouped({{kSteps}}, {std::nullopt, N(2)}, false).has_value());
  EXPECT_FALSE(Regrouped({{kSteps}}, {N(512)}, false).has_value());
  EXPECT_FALSE(Regrouped({{kBatch}, {kSteps}}, {kS, kB}, false).has_value());
  EXPECT_FALSE(Regrouped({{kSteps}, {kWidth}}, {N(64), kS}, false).has_value());
  EXPECT_FALSE(Regrouped({{kSteps}, {kWidth}}, {kS}, false).has_value());
  EXPECT_FALSE(Regrouped({{kSteps}}, {kS, N(2)}, false).has_value());
}

}  // namespace
}  // namespace burnish
