#include "compiler/ir/count_points.h"

#include <vector>

#include "base/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::Optional;

const std::vector<Range> kBox = {{0, 4}, {3, 9}, {-2, 1}, {7, 7}};

std::optional<Range> RangeOfVar(VarId var) { return kBox[static_cast<size_t>(var)]; }

Expr RandomTerm(Rng& rng) {
  const Expr a = VarRef(static_cast<VarId>(rng.Below(4)));
  const Expr b = VarRef(static_cast<VarId>(rng.Below(4)));
  switch (rng.Below(4)) {
    case 0:
      return FloorDiv(a * 4 + b, 3);
    case 1:
      return Mod(a * 2 + b, 5);
    case 2:
      return a * -3;
    default:
      return a;
  }
}

Expr RandomComparison(Rng& rng, const Expr& sum) {
  const Expr bound = Int(static_cast<int64_t>(rng.Below(30)) - 5);
  switch (rng.Below(6)) {
    case 0:
      return Le(bound, sum);
    case 1:
      return Le(sum, bound);
    case 2:
      return Lt(bound, sum);
    case 3:
      return Eq(sum, bound);
    case 4:
      return Unary(ExprKind::kNot, Eq(sum, bound));
    default:
      return Lt(sum, bound);
  }
}

// By all points, each with the condition's own value.
double Want(const Expr& condition) {
  double held = 0, all = 0;
  std::vector<int64_t> extents;
  for (const Range& range : kBox) extents.push_back(range.max - range.min + 1);
  EnumerateBox(extents, 1000, [&](const std::vector<int64_t>& point) {
    const auto value = [&](VarId var) {
      return kBox[static_cast<size_t>(var)].min + point[static_cast<size_t>(var)];
    };
    held += EvalInt(condition, value) != 0 ? 1 : 0;
    ++all;
  });
  return held / all;
}

TEST(CountPointsTest, IsTheShareOfAllPoints) {
  for (int round = 0; round < 2000; ++round) {
    Rng rng(RngStream{.seed = 3, .purpose = "count points", .index = round});
    Expr sum = RandomTerm(rng);
    while (rng.Below(3) != 0) sum = sum + RandomTerm(rng);
    Expr condition = RandomComparison(rng, sum);
    // Of the same sum, as guards have it, or of another.
    if (rng.Below(2) == 0) {
      condition = And(condition, RandomComparison(rng, rng.Below(4) == 0 ? RandomTerm(rng) : sum));
    }
    EXPECT_THAT(ShareOfPoints(condition, RangeOfVar, 1000),
                Optional(::testing::DoubleNear(Want(condition), 1e-12)))
        << "round " << round;
  }
}

TEST(CountPointsTest, FailsInAShareWhereCountingSaysSo) {
  int fail = 0;
  for (int round = 0; round < 2000; ++round) {
    Rng rng(RngStream{.seed = 5, .purpose = "count points", .index = round});
    Expr condition = RandomComparison(rng, RandomTerm(rng));
    while (rng.Below(3) != 0) {
      const Expr other = RandomComparison(rng, RandomTerm(rng) + RandomTerm(rng));
      condition =
          rng.Below(2) == 0 ? And(condition, other) : Binary(ExprKind::kOr, condition, other);
    }
    const double failed = 1 - Want(condition);
    for (const double share : {0.04, 0.5, failed}) {
      EXPECT_EQ(FailsInShare(condition, RangeOfVar, 1000, share),
                1 - *ShareOfPoints(condition, RangeOfVar, 1000) >= share)
          << "round " << round << " " << share;
    }
    fail += failed >= 0.04;
  }
  EXPECT_GT(fail, 100);
  EXPECT_LT(fail, 1900);
  // Of too many points nothing is known.
  EXPECT_FALSE(FailsInShare(Lt(VarRef(0) + VarRef(1), Int(0)), RangeOfVar, 34, 0.5));
}

TEST(CountPointsTest, IsNothingForMorePointsThanTheLimit) {
  const Expr condition = Le(VarRef(0) + VarRef(1), Int(6));
  EXPECT_TRUE(ShareOfPoints(condition, RangeOfVar, 35).has_value());
  EXPECT_FALSE(ShareOfPoints(condition, RangeOfVar, 34).has_value());
}

// Rows of a picture that a tap of a dilated kernel meets, by flat pixels: 36 of 40, and columns.
TEST(CountPointsTest, ASampleIsNearTheShareOfAll) {
  const auto range = [](VarId var) { return std::optional(Range{0, var == 0 ? 1599 : 2}); };
  const Expr tap = VarRef(1) * 4;
  for (const Expr& place : {FloorDiv(VarRef(0), 40), Mod(VarRef(0), 40)}) {
    const Expr met = And(Le(Int(4), tap + place), Le(tap + place, Int(43)));
    const std::optional<double> all = ShareOfPoints(met, range, 4800);
    EXPECT_THAT(all, Optional(::testing::DoubleNear((36 + 40 + 36) / 120.0, 1e-9)));
    EXPECT_NEAR(ShareOfSample(met, range, 512), *all, 0.02);
  }
  EXPECT_EQ(ShareOfSample(Le(Int(0), VarRef(0)), range, 512), 1);
}

// A table of the sums would have a million entries for four points.
TEST(CountPointsTest, ValuesFarApartAreCountedOneByOne) {
  const Expr condition = Le(VarRef(2) * 1'000'000, Int(-1));
  EXPECT_THAT(ShareOfPoints(condition, RangeOfVar, 1000), Optional(0.5));
}

TEST(CountPointsTest, SumsThatWrapAreCountedAsTheyAreComputed) {
  const int64_t huge = int64_t{1} << 62;
  for (const Expr& condition :
       {Le(VarRef(1) * huge, Int(5)), Le(VarRef(0) * huge + VarRef(1) * huge, VarRef(2) * 7)}) {
    EXPECT_THAT(ShareOfPoints(condition, RangeOfVar, 1000), Optional(Want(condition)));
  }
}

}  // namespace
}  // namespace burnish
