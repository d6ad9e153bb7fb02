// Floating-point numbers of 16 bits, as storage: converted to float and back, never computed with.
//
// Bfloat16: the upper half of a float (8 bits of exponent, 7 of fraction). Float16: IEEE 754
// binary16 (5 and 10). Conversions from float round to nearest, ties to even, and keep NaN;
// conversions to float are exact. The compiler's own types (`_Float16`, `__bf16`) are not used:
// GCC 12 has no `__bf16`, and both call conversions of libgcc that not every libgcc has.
#ifndef BASE_SMALL_FLOAT_H_
#define BASE_SMALL_FLOAT_H_

#include <bit>
#include <cstdint>

namespace burnish {

struct Bfloat16 {
  uint16_t bits = 0;

  constexpr Bfloat16() = default;
  constexpr explicit Bfloat16(float value) {
    const auto x = std::bit_cast<uint32_t>(value);
    const bool is_nan = (x & 0x7fffffff) > 0x7f800000;
    // A NaN whose fraction lies in the lower half would become an infinity: its quiet bit is set.
    bits = is_nan ? static_cast<uint16_t>(x >> 16 | 0x40)
                  : static_cast<uint16_t>((x + 0x7fff + (x >> 16 & 1)) >> 16);
  }
  constexpr operator float() const {  // NOLINT: a float is what it is.
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

struct Float16 {
  uint16_t bits = 0;

  constexpr Float16() = default;
  constexpr explicit Float16(float value) {
    const auto x = std::bit_cast<uint32_t>(value);
    const uint32_t sign = x >> 16 & 0x8000, magnitude = x & 0x7fffffff;
    bits = static_cast<uint16_t>(sign | MagnitudeOf(magnitude));
  }
  constexpr operator float() const {  // NOLINT: as above.
    const uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31;
    const uint32_t fraction = bits & 0x3ff;
    if (exponent == 0) {  // Subnormal: a multiple of 2^-24.
      const float value = static_cast<float>(fraction) * 0x1p-24f;
      return sign != 0 ? -value : value;
    }
    // 112 = 127 - 15, the difference of the biases; infinities and NaN have all bits set in both.
    const uint32_t wide = exponent == 31 ? 255 : exponent + 112;
    return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
  }

 private:
  // `m` without its `dropped` lowest bits, rounded to nearest, ties to even.
  static constexpr uint32_t Rounded(uint32_t m, uint32_t dropped) {
    const uint32_t kept = m >> dropped, rest = m & ((1u << dropped) - 1);
    const uint32_t half = 1u << (dropped - 1);
    return kept + (rest > half || (rest == half && (kept & 1) != 0));
  }
  // Of the bits of a float without its sign.
  static constexpr uint32_t MagnitudeOf(uint32_t x) {
    if (x > 0x7f800000) return 0x7e00 | (x >> 13 & 0x3ff);  // NaN, made quiet.
    // From 65520 on: half way from the greatest number, 65504, to 2^16, and the tie goes up.
    if (x >= 0x477ff000) return 0x7c00;
    if (x >= 0x38800000) return Rounded(x - (112u << 23), 13);  // From 2^-14 on: normal.
    // A multiple of 2^-24: fraction x 2^(exponent - 150) is fraction / 2^(126 - exponent) of them.
    const uint32_t exponent = x >> 23;
    if (exponent < 101) return 0;  // Below 2^-26: less than half of the least.
    return Rounded((x & 0x7fffff) | 0x800000, 126 - exponent);
  }
};

static_assert(sizeof(Bfloat16) == 2 && sizeof(Float16) == 2, "what lies in memory");

}  // namespace burnish

#endif  // BASE_SMALL_FLOAT_H_
