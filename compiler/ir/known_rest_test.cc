#include "compiler/ir/known_rest.h"

#include <limits>
#include <optional>

#include "compiler/ir/expr.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr BufferId kUnknown = 0, kZero = 1, kLeast = 2, kFalse = 3;

Expr Of(BufferId buffer) {
  return Load(buffer, buffer == kFalse ? DType::kBool : DType::kF32, {Int(7)});
}

std::optional<double> Known(const Expr& e) {
  return KnownValue(e, [](const ExprNode& load) -> std::optional<double> {
    if (load.id == kZero || load.id == kFalse) return 0;
    if (load.id == kLeast) return -kInfinity;
    return std::nullopt;
  });
}

TEST(KnownRestTest, AMaskChoosesItsOtherSide) {
  EXPECT_EQ(Known(Select(Of(kFalse), Of(kUnknown), Of(kLeast))), -kInfinity);
  EXPECT_EQ(Known(Select(Unary(ExprKind::kNot, Of(kFalse)), Of(kZero), Of(kUnknown))), 0);
  EXPECT_EQ(Known(Select(Binary(ExprKind::kAnd, Load(kUnknown, DType::kBool, {}), Of(kFalse)),
                         Of(kUnknown), Float(3))),
            3);
  const Expr unknown = Load(kUnknown, DType::kBool, {});
  EXPECT_EQ(Known(Select(unknown, Of(kZero), Float(0))), 0);
  EXPECT_EQ(Known(Select(unknown, Of(kZero), Of(kLeast))), std::nullopt);
  EXPECT_EQ(Known(Select(unknown, Of(kUnknown), Of(kZero))), std::nullopt);
}

TEST(KnownRestTest, OneOperandMaySayItAll) {
  EXPECT_EQ(Known(Of(kZero) * Of(kUnknown)), 0);
  EXPECT_EQ(Known(Binary(ExprKind::kDiv, Of(kZero), Of(kUnknown))), 0);
  EXPECT_EQ(Known(Binary(ExprKind::kDiv, Of(kUnknown), Of(kZero))), std::nullopt);
  EXPECT_EQ(Known(Unary(ExprKind::kExp, Binary(ExprKind::kSub, Of(kLeast), Of(kUnknown)))), 0);
  EXPECT_EQ(Known(Binary(ExprKind::kSub, Of(kUnknown), Of(kLeast))), kInfinity);
  EXPECT_EQ(Known(Of(kUnknown) + Of(kLeast)), -kInfinity);
  EXPECT_EQ(Known(Of(kUnknown) + Of(kZero)), std::nullopt);
  EXPECT_EQ(Known(Binary(ExprKind::kMax, Of(kZero), Float(-1))), 0);
  EXPECT_EQ(Known(Cast(DType::kBf16, Of(kZero))), 0);
  EXPECT_EQ(Known(Cast(DType::kI64, Of(kZero))), std::nullopt);
}

TEST(KnownRestTest, WhatIsNeutralIsAsTheCombinerHasIt) {
  EXPECT_TRUE(IsNeutral(Combiner::kSum, 0));
  EXPECT_FALSE(IsNeutral(Combiner::kSum, 1));
  EXPECT_TRUE(IsNeutral(Combiner::kProd, 1));
  EXPECT_TRUE(IsNeutral(Combiner::kMax, -kInfinity));
  EXPECT_FALSE(IsNeutral(Combiner::kMax, 0));
  EXPECT_TRUE(IsNeutral(Combiner::kMin, kInfinity));
  EXPECT_FALSE(IsNeutral(Combiner::kAssign, 0));
}

}  // namespace
}  // namespace burnish
