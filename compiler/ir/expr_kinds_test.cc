#include "compiler/ir/expr_kinds.h"

#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

ExprKind KindAt(int i) { return static_cast<ExprKind>(i); }

TEST(ExprKindsTest, RowsSayWhatTheirKindIs) {
  std::set<std::string> names;
  for (int i = 0; i < kExprKindCount; ++i) {
    SCOPED_TRACE(i);
    const ExprKindInfo& info = InfoOf(KindAt(i));
    const ExprMeaning& meaning = info.meaning;
    EXPECT_EQ(info.kind, KindAt(i));
    for (const char* name : {info.call, info.infix}) {
      if (name != nullptr) EXPECT_TRUE(names.insert(name).second) << name;
    }
    EXPECT_EQ(info.infix != nullptr, info.infix_level > 0);
    if (IsUnary(info.kind)) EXPECT_EQ(info.operand_count, 1);
    if (IsBinary(info.kind)) EXPECT_EQ(info.operand_count, 2);
    if (info.kind == ExprKind::kCast || (!IsUnary(info.kind) && !IsBinary(info.kind))) continue;
    // What a type may be, its values have a meaning for.
    const bool floats = info.operands == OperandTypes::kFloats;
    const bool values = info.operands != OperandTypes::kBools && !floats;
    if (IsBinary(info.kind) && !floats) EXPECT_NE(meaning.int_binary, nullptr);
    if (IsUnary(info.kind) && values) EXPECT_NE(meaning.int_unary, nullptr);
    if (info.operands != OperandTypes::kBools) {
      EXPECT_TRUE(meaning.float_unary != nullptr || meaning.float_binary != nullptr ||
                  meaning.float_test != nullptr);
    }
    if (info.gives_bool) EXPECT_EQ(meaning.float_binary, nullptr);
  }
}

TEST(ExprKindsTest, DivisionRoundsTowardMinusInfinity) {
  for (int64_t a = -7; a <= 7; ++a) {
    for (int64_t b = -3; b <= 3; ++b) {
      if (b == 0) continue;
      EXPECT_EQ(FloorDivide(a, b), static_cast<int64_t>(std::floor(double(a) / double(b))));
      EXPECT_EQ(FloorDivide(a, b) * b + FloorModulo(a, b), a);
    }
  }
  EXPECT_EQ(FloorDivide(kLeast, -1), kLeast);
  EXPECT_EQ(FloorModulo(kLeast, -1), 0);
}

TEST(ExprKindsTest, IntegersWrapAndNanStays) {
  const auto of = [](ExprKind kind) { return InfoOf(kind).meaning; };
  EXPECT_EQ(of(ExprKind::kSub).int_binary(kLeast, 1), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(of(ExprKind::kNeg).int_unary(kLeast), kLeast);
  EXPECT_EQ(of(ExprKind::kPow).int_binary(-2, 3), -8);
  EXPECT_EQ(of(ExprKind::kPow).int_binary(2, -1), 0);
  EXPECT_EQ(of(ExprKind::kRound).float_unary(2.5), 2);
  EXPECT_TRUE(std::isnan(of(ExprKind::kMax).float_binary(NAN, 1)));
  EXPECT_TRUE(std::isnan(of(ExprKind::kMin).float_binary(1, NAN)));
  EXPECT_TRUE(std::isnan(of(ExprKind::kSign).float_unary(NAN)));
  EXPECT_FALSE(of(ExprKind::kLe).float_test(NAN, NAN));
  EXPECT_TRUE(of(ExprKind::kNe).float_test(NAN, NAN));
}

// Above 2^63 a u64 is a negative number of those it is computed in.
TEST(ExprKindsTest, U64HasAnOrderOfItsOwn) {
  const auto of = [](ExprKind kind, int64_t a, int64_t b) {
    return IntBinaryOf(kind, DType::kU64, a, b);
  };
  EXPECT_EQ(of(ExprKind::kDiv, -1, 2), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(of(ExprKind::kFloorDiv, -1, kLeast), 1);
  EXPECT_EQ(of(ExprKind::kMod, -1, 10), 5);  // 18446744073709551615
  EXPECT_EQ(of(ExprKind::kMin, -1, 3), 3);
  EXPECT_EQ(of(ExprKind::kMax, -1, 3), -1);
  EXPECT_EQ(of(ExprKind::kLt, 3, -1), 1);
  EXPECT_EQ(of(ExprKind::kLe, -1, 3), 0);
  EXPECT_EQ(of(ExprKind::kPow, -1, 3), -1);
  EXPECT_EQ(of(ExprKind::kPow, 1, -1), 1);
  EXPECT_EQ(of(ExprKind::kAdd, -1, 3), 2);
  EXPECT_EQ(IntUnaryOf(ExprKind::kAbs, DType::kU64, -1), -1);
  EXPECT_EQ(IntUnaryOf(ExprKind::kSign, DType::kU64, -1), 1);
  EXPECT_EQ(IntUnaryOf(ExprKind::kSign, DType::kI64, -1), -1);
}

TEST(ExprKindsTest, IntegersHaveLimitsAndWrapToTheirBits) {
  EXPECT_EQ(LimitsOf(DType::kU16).greatest, 65535);
  EXPECT_EQ(LimitsOf(DType::kI16).least, -32768);
  EXPECT_EQ(LimitsOf(DType::kU32).greatest, 4294967295);
  EXPECT_EQ(LimitsOf(DType::kI32).greatest, std::numeric_limits<int32_t>::max());
  EXPECT_EQ(LimitsOf(DType::kBool).greatest, 1);
  EXPECT_EQ(LimitsOf(DType::kI64).least, kLeast);
  EXPECT_EQ(WrapInt(DType::kU16, -1), 65535);
  EXPECT_EQ(WrapInt(DType::kI16, 40000), 40000 - 65536);
  EXPECT_EQ(WrapInt(DType::kU32, -1), 4294967295);
  EXPECT_EQ(WrapInt(DType::kI8, 200), -56);
  EXPECT_EQ(WrapInt(DType::kBool, 6), 1);
  EXPECT_EQ(WrapInt(DType::kU64, -1), -1);
}

// By which names of tasks are told from each other: see is_function.
TEST(ExprKindsTest, FunctionsAreThoseOfWorkloadTextTwo) {
  std::set<ExprKind> functions;
  for (int i = 0; i < kExprKindCount; ++i) {
    if (InfoOf(KindAt(i)).is_function) functions.insert(KindAt(i));
  }
  EXPECT_THAT(functions, ::testing::UnorderedElementsAre(
                             ExprKind::kSqrt, ExprKind::kExp, ExprKind::kLog, ExprKind::kTanh,
                             ExprKind::kErf, ExprKind::kSin, ExprKind::kCos, ExprKind::kDiv,
                             ExprKind::kFloorDiv, ExprKind::kMod, ExprKind::kPow));
}

}  // namespace
}  // namespace burnish
