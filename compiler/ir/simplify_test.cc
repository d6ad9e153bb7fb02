#include "compiler/ir/simplify.h"

#include <map>
#include <optional>

#include "base/rng.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

VarRanges Upto(std::vector<int64_t> extents) {
  return [extents](VarId var) -> std::optional<Range> { return Range{0, extents[var] - 1}; };
}

TEST(SimplifyTest, DivisionOfAPanelIndexIsThePanel) {
  const Expr a = VarRef(0), b = VarRef(1);
  const VarRanges ranges = Upto({10, 16});
  EXPECT_TRUE(StructurallyEqual(Simplify(FloorDiv(a * 16 + b, 16), ranges), a));
  EXPECT_TRUE(StructurallyEqual(Simplify(Mod(a * 16 + b, 16), ranges), b));
}

TEST(SimplifyTest, FusedPixelsOfADenseImageAreOneLinearIndex) {
  const Expr m = VarRef(0);
  const Expr n = FloorDiv(m, 56 * 56), y = Mod(FloorDiv(m, 56), 56), x = Mod(m, 56);
  const Expr address = n * (56 * 56 * 64) + y * (56 * 64) + x * 64;
  EXPECT_TRUE(StructurallyEqual(Simplify(address, Upto({2 * 56 * 56})), m * 64));
}

TEST(SimplifyTest, AStepIsTheSameEverywhereOrNone) {
  const Expr a = VarRef(0), b = VarRef(1);
  const LinearForm form = ToLinear(a * 24 - b + FloorDiv(b, 3), Upto({10, 16, 4}));
  EXPECT_EQ(form.StepOf(0), 24);
  EXPECT_EQ(form.StepOf(1), std::nullopt);
  EXPECT_EQ(form.StepOf(2), 0);
  // Tiles of eight are resolved: quotient and rest of one dividend meet.
  EXPECT_EQ(ToLinear(FloorDiv(b, 8) * 8 + Mod(b, 8), Upto({10, 16})).StepOf(1), 1);
}

TEST(SimplifyTest, ComparisonsAreDecidedByRanges) {
  const VarRanges ranges = Upto({7});
  EXPECT_TRUE(IsInt(Simplify(Lt(VarRef(0), Int(7)), ranges), 1));
  EXPECT_TRUE(IsInt(Simplify(Lt(VarRef(0), Int(0)), ranges), 0));
  EXPECT_EQ(Simplify(Lt(VarRef(0), Int(6)), ranges)->kind, ExprKind::kLt);
}

TEST(SimplifyTest, ANarrowCastWrapsItsRange) {
  const VarRanges ranges = Upto({400});
  const auto range = RangeOf(Cast(DType::kU8, VarRef(0)), ranges);
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->max, 255);
  // 300 is 44 there, so this is not always so.
  const Expr test = Lt(Int(299), Cast(DType::kI64, Cast(DType::kU8, VarRef(0) + 300)));
  EXPECT_TRUE(IsInt(Simplify(test, ranges), 0));
  EXPECT_EQ(RangeOf(Cast(DType::kU16, VarRef(0)), ranges)->max, 399);
}

// A random integer expression over three variables.
Expr RandomExpr(Rng& rng, int depth) {
  if (depth == 0 || rng.Below(6) == 0) {
    return rng.Below(3) == 0 ? Int(static_cast<int64_t>(rng.Below(9)) - 4)
                             : VarRef(static_cast<VarId>(rng.Below(3)));
  }
  const Expr a = RandomExpr(rng, depth - 1), b = RandomExpr(rng, depth - 1);
  const int64_t c = 1 + static_cast<int64_t>(rng.Below(8));
  switch (rng.Below(9)) {
    case 0:
      return a + b;
    case 1:
      return a - b;
    case 2:
      return a * c;
    case 3:
      return FloorDiv(a, c);
    case 4:
      return Mod(a, c);
    case 5:
      return Min(a, b);
    case 6:
      return Max(a, b);
    case 7:
      return Select(Lt(a, b), b, a);
    default:
      return FloorDiv(a, c) * c + Mod(a, c);
  }
}

TEST(SimplifyTest, KeepsTheValueAndTheRangeHolds) {
  const std::vector<int64_t> extents = {5, 4, 3};
  for (int round = 0; round < 3000; ++round) {
    Rng rng(RngStream{.seed = 7, .purpose = "simplify", .index = round});
    const Expr e = RandomExpr(rng, 4);
    const Expr simplified = Simplify(e, Upto(extents));
    const std::optional<Range> range = RangeOf(e, Upto(extents));
    ASSERT_TRUE(range.has_value());
    EnumerateBox(extents, 100, [&](const std::vector<int64_t>& point) {
      const auto value = [&](VarId v) { return point[v]; };
      const int64_t want = EvalInt(e, value);
      ASSERT_EQ(EvalInt(simplified, value), want) << "round " << round;
      ASSERT_GE(want, range->min);
      ASSERT_LE(want, range->max);
    });
  }
}

TEST(SimplifyTest, LinearFormsAddUp) {
  const std::vector<int64_t> extents = {5, 4, 3};
  for (int round = 0; round < 1000; ++round) {
    Rng rng(RngStream{.seed = 7, .purpose = "add linear", .index = round});
    const Expr a = RandomExpr(rng, 3), b = RandomExpr(rng, 3);
    const int64_t scale = static_cast<int64_t>(rng.Below(7)) - 3;
    LinearForm form = ToLinear(a, Upto(extents)), simplified;
    AddLinear(form, b, scale, Upto(extents));
    AddSimplified(simplified, Simplify(a, Upto(extents)), 1, Upto(extents));
    AddSimplified(simplified, Simplify(b, Upto(extents)), scale, Upto(extents));
    for (const Expr& sum : {FromLinear(form), FromLinear(simplified)}) {
      EnumerateBox(extents, 100, [&](const std::vector<int64_t>& point) {
        const auto value = [&](VarId v) { return point[v]; };
        ASSERT_EQ(EvalInt(sum, value), EvalInt(a, value) + scale * EvalInt(b, value))
            << "round " << round;
      });
    }
  }
}

// Rows of a dense image: quotient and rest meet though each comes with an index of its own.
TEST(SimplifyTest, QuotientAndRestOfTwoIndicesAreOneLinearIndex) {
  const Expr m = VarRef(0);
  const VarRanges ranges = Upto({56 * 56});
  LinearForm form;
  AddLinear(form, FloorDiv(m, 56), 56 * 64, ranges);
  AddLinear(form, Mod(m, 56), 64, ranges);
  EXPECT_TRUE(StructurallyEqual(FromLinear(form), m * 64));
  LinearForm simplified;
  AddSimplified(simplified, FloorDiv(m, 56), 56 * 64, ranges);
  AddSimplified(simplified, Mod(m, 56), 64, ranges);
  EXPECT_TRUE(StructurallyEqual(FromLinear(simplified), m * 64));
  // A row of a padded one is no multiple of a row of outputs.
  LinearForm padded;
  AddLinear(padded, FloorDiv(m, 56), 58 * 64, ranges);
  AddLinear(padded, Mod(m, 56), 64, ranges);
  EXPECT_EQ(padded.terms.size(), 2u);
}

TEST(SimplifyTest, VariableOfOneValueIsThatValue) {
  EXPECT_TRUE(IsInt(Simplify(VarRef(0), Upto({1, 4})), 0));
  const Expr v = VarRef(1);
  EXPECT_EQ(Simplify(v, Upto({1, 4})), v);
}

// Only i64 arithmetic is taken apart: -x of floats is not -1 times an index.
TEST(SimplifyTest, SelectThatIsDecidedKeepsItsFloatingPointBranch) {
  const Expr x = Load(0, DType::kF32, {VarRef(0)});
  const Expr negated = Unary(ExprKind::kNeg, x);
  const Expr e = Select(Lt(VarRef(0), Int(5)), negated, x + x);
  EXPECT_TRUE(StructurallyEqual(Simplify(e, Upto({5})), negated));
}

// Numbers of other types wrap, and their terms would be of two types.
TEST(SimplifyTest, SumOfNumbersThatAreNoIndicesIsOneTerm) {
  for (const DType type :
       {DType::kI8, DType::kU8, DType::kI16, DType::kU16, DType::kI32, DType::kU32, DType::kU64}) {
    const Expr x = Load(0, type, {VarRef(0)}), y = Load(1, type, {VarRef(0)});
    for (const ExprKind kind :
         {ExprKind::kMax, ExprKind::kMin, ExprKind::kMul, ExprKind::kFloorDiv, ExprKind::kMod}) {
      const Expr e = Binary(kind, x - y, x) - y;
      const LinearForm form = ToLinear(e, Upto({5}));
      ASSERT_EQ(form.terms.size(), 1u) << DTypeName(type);
      EXPECT_TRUE(StructurallyEqual(FromLinear(form), e)) << DTypeName(type);
    }
  }
}

TEST(EnumerateBoxTest, RefusesABoxOverTheLimit) {
  int visited = 0;
  EXPECT_FALSE(EnumerateBox({1 << 20, 1 << 20, 1 << 20}, 100, [&](const auto&) { ++visited; }));
  EXPECT_EQ(visited, 0);
}

}  // namespace
}  // namespace burnish
