#include "base/small_float.h"

#include <bit>
#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace burnish {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// All numbers of a type without sign, by the definition of IEEE 754: fraction and exponent.
double NumberOf(uint16_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = bits >> fraction_bits, fraction = bits & ((1 << fraction_bits) - 1);
  const double one = exponent == 0 ? 0 : 1;
  return std::ldexp(one + std::ldexp(fraction, -fraction_bits),
                    (exponent == 0 ? 1 : exponent) - bias);
}

template <typename Small>
class SmallFloatTest : public testing::Test {
 protected:
  static constexpr int kExponentBits = std::is_same_v<Small, Float16> ? 5 : 8;
  static constexpr uint16_t kInfinityBits = ((1 << kExponentBits) - 1) << (15 - kExponentBits);
};
using Types = testing::Types<Float16, Bfloat16>;
TYPED_TEST_SUITE(SmallFloatTest, Types);

TYPED_TEST(SmallFloatTest, HoldsEachOfItsNumbers) {
  for (uint16_t bits = 0; bits < this->kInfinityBits; ++bits) {
    TypeParam number;
    number.bits = bits;
    ASSERT_EQ(static_cast<double>(float{number}), NumberOf(bits, this->kExponentBits)) << bits;
    ASSERT_EQ(TypeParam(float{number}).bits, bits);
    ASSERT_EQ(TypeParam(-float{number}).bits, bits | 0x8000);
  }
}

TYPED_TEST(SmallFloatTest, RoundsToNearestAndTiesToEven) {
  for (uint16_t bits = 0; bits + 1 < this->kInfinityBits; ++bits) {
    const double low = NumberOf(bits, this->kExponentBits);
    const double high = NumberOf(bits + 1, this->kExponentBits);
    const auto middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(TypeParam(middle).bits, bits % 2 == 0 ? bits : bits + 1) << middle;
    ASSERT_EQ(TypeParam(std::nextafter(middle, 0.0F)).bits, bits) << middle;
    ASSERT_EQ(TypeParam(std::nextafter(middle, kInfinity)).bits, bits + 1) << middle;
  }
}

TYPED_TEST(SmallFloatTest, KeepsWhatIsNoNumber) {
  EXPECT_EQ(float{TypeParam(kInfinity)}, kInfinity);
  EXPECT_EQ(float{TypeParam(-kInfinity)}, -kInfinity);
  EXPECT_EQ(float{TypeParam(std::numeric_limits<float>::max())}, kInfinity);
  // One with its fraction in the lowest bits only, which are cut off.
  EXPECT_TRUE(std::isnan(float{TypeParam(std::bit_cast<float>(0x7f800001u))}));
  EXPECT_TRUE(std::isnan(float{TypeParam(std::nanf(""))}));
}

TEST(SmallFloatLimitsTest, AreThoseOfTheTypes) {
  EXPECT_EQ(float{Float16(65519.996F)}, 65504.0F);
  EXPECT_EQ(float{Float16(65520.0F)}, kInfinity);
  EXPECT_EQ(float{Float16(0x1p-25F)}, 0);  // A tie with 2^-24: to the even one, 0.
  EXPECT_EQ(float{Float16(0x1.8p-25F)}, 0x1p-24F);
  EXPECT_EQ(Float16(-0.0F).bits, 0x8000);
}

}  // namespace
}  // namespace burnish
