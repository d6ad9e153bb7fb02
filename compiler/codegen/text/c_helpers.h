// What emitted C is made of beside loops: text, in the order in which C wants it.
#ifndef COMPILER_CODEGEN_TEXT_C_HELPERS_H_
#define COMPILER_CODEGEN_TEXT_C_HELPERS_H_

namespace burnish {

// Types, as C and CUDA have them; the head of their dialects.
inline constexpr char kCTypes[] = R"(typedef float f32;
typedef double f64;
typedef unsigned short bf16, f16;
typedef long long i64;
typedef int i32;
typedef short i16;
typedef signed char i8;
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8, b8;
)";

// The dialect: what a language calls types (here kCTypes), qualifiers and what its hardware
// computes. The text behind it is of these names alone, so that another dialect is another text. A
// bf16 and an f16 are their bits, a b8 is 0 or 1.
inline constexpr char kCDialect[] = R"(#define FUNCTION static inline
#define CONSTANT static const
#define INF __builtin_inf()
#define NAN __builtin_nan("")
#define abs_f32 __builtin_fabsf
#define abs_f64 __builtin_fabs
#define copysign_f64 __builtin_copysign
#define sqrt_f32 __builtin_sqrtf
#define sqrt_f64 __builtin_sqrt
)";

// How a kernel of the C dialect is called: kernel_abi.h.
inline constexpr char kCContext[] = R"(typedef struct {
  u32 abi_version, buffer_count;
  void* const* buffers;
  u8* scratch; u64 scratch_bytes_per_worker;
  u8* shared_scratch;
  void (*barrier)(void*); void* barrier_arg;
} KernelContext;
)";

// Pieces, of which a text has those that it mentions. Each begins with FUNCTION or typedef, behind
// @signed, @unsigned, @integers (of which b8 is one) or @floats: one for each type $T of the kind.
// $U: the unsigned type that $T is computed in. $L, $G: its least and greatest number. $P: $G + 1.
// Polynomials (poly_..) and two_over_pi come from math_coefficients.h. Functions are of f64: what
// they give is rounded once more for f32. Ways and errors are those of llvm/double_math.cc.
inline constexpr char kCHelpers[] =
    R"(
FUNCTION void fail(i32* error, i32 code) { if (*error == 0) *error = code; }
FUNCTION i64 bounds_check(i64 index, i64 extent, i32* error) {
  if (index < -extent || index >= extent) fail(error, 1);
  return index < -extent || index >= extent ? 0 : index < 0 ? index + extent : index;
}
@integers FUNCTION $T min_$T($T a, $T b) { return a < b ? a : b; }
@integers FUNCTION $T max_$T($T a, $T b) { return a > b ? a : b; }
@signed FUNCTION $T abs_$T($T x) { return x < 0 ? ($T)(0 - ($U)x) : x; }
@unsigned FUNCTION $T abs_$T($T x) { return x; }
@integers FUNCTION $T sign_$T($T x) { return (x > 0) - (x < 0); }
@signed FUNCTION $T div_$T($T a, $T b, i32* error) {
  if (b == 0) fail(error, 2);
  return b == 0 ? a : b == -1 ? ($T)(0 - ($U)a) : ($T)(a / b);
}
@signed FUNCTION $T mod_$T($T a, $T b, i32* error) {
  const $T rest = ($T)(($U)a - ($U)div_$T(a, b, error) * ($U)b);
  return rest != 0 && (rest < 0) != (b < 0) ? ($T)(rest + b) : rest;
}
@signed FUNCTION $T floordiv_$T($T a, $T b, i32* error) {
  const $T quotient = div_$T(a, b, error), rest = ($T)(($U)a - ($U)quotient * ($U)b);
  return rest != 0 && (rest < 0) != (b < 0) ? ($T)(quotient - 1) : quotient;
}
FUNCTION u64 nonzero(u64 x, i32* error) { if (x == 0) fail(error, 2); return x == 0 ? 1 : x; }
@unsigned FUNCTION $T div_$T($T a, $T b, i32* error) { return ($T)(a / nonzero(b, error)); }
@unsigned FUNCTION $T mod_$T($T a, $T b, i32* error) { return ($T)(a % nonzero(b, error)); }
@unsigned FUNCTION $T floordiv_$T($T a, $T b, i32* error) { return div_$T(a, b, error); }
FUNCTION u64 whole_power(u64 base, u64 exponent) {
  u64 result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base) result *= exponent & 1 ? base : 1;
  return result;
}
@signed FUNCTION $T pow_$T($T a, $T b) {
  if (b >= 0) return ($T)whole_power((u64)a, (u64)b);
  return a == 1 ? 1 : a != -1 ? 0 : b % 2 == 0 ? 1 : -1;
}
@unsigned FUNCTION $T pow_$T($T a, $T b) { return ($T)whole_power(a, b); }
@integers FUNCTION $T cast_$T(f64 x) {
  return x != x ? 0 : x < (f64)$L ? $L : x >= $P ? $G : ($T)x;
}
@floats FUNCTION $T min_$T($T a, $T b) { return a != a || a < b ? a : b; }
@floats FUNCTION $T max_$T($T a, $T b) { return a != a || a > b ? a : b; }
@floats FUNCTION b8 is_nan_$T($T x) { return x != x; }
@floats FUNCTION $T sign_$T($T x) { return x > 0 ? ($T)1 : x < 0 ? ($T)-1 : x; }
typedef union { f32 number; u32 bits; } Both32;
FUNCTION u32 bits_f32(f32 x) { Both32 both; both.number = x; return both.bits; }
FUNCTION f32 number_f32(u32 x) { Both32 both; both.bits = x; return both.number; }
typedef union { f64 number; i64 bits; } Both64;
FUNCTION i64 bits_f64(f64 x) { Both64 both; both.number = x; return both.bits; }
FUNCTION f64 number_f64(i64 x) { Both64 both; both.bits = x; return both.number; }
FUNCTION f32 widen_bf16(bf16 x) { return number_f32((u32)x << 16); }
FUNCTION bf16 narrow_bf16(f32 x) {
  const u32 bits = bits_f32(x);
  return x != x ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
FUNCTION f32 widen_f16(f16 x) {
  const u32 size = x & 0x7fff, sign = (u32)(x & 0x8000) << 16;
  if (size < 0x400) return number_f32(bits_f32((f32)size * 0x1p-24f) | sign);
  return number_f32(((size << 13) + (size < 0x7c00 ? 112u << 23 : 224u << 23)) | sign);
}
FUNCTION f16 narrow_f16(f32 x) {
  const u32 bits = bits_f32(x), size = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;
  if (x != x) return sign | 0x7e00 | (bits >> 13 & 0x3ff);
  if (size >= 0x477ff000) return sign | 0x7c00;
  if (size < 0x38800000) return sign | (bits_f32(number_f32(size) + 0.5f) - bits_f32(0.5f));
  const u32 rebiased = size - (112u << 23);
  return sign | (rebiased + 0xfff + (rebiased >> 13 & 1)) >> 13;
}
FUNCTION f64 round_f64(f64 x) {
  const f64 size = abs_f64(x);
  return size < 0x1p52 ? copysign_f64(size + 0x1p52 - 0x1p52, x) : x;
}
FUNCTION f64 floor_f64(f64 x) {
  const f64 near = round_f64(x);
  return copysign_f64(near > x ? near - 1 : near, x);
}
FUNCTION f64 ceil_f64(f64 x) { return -floor_f64(-x); }
FUNCTION f64 fmod_f64(f64 x, f64 y) {
  const f64 divisor = abs_f64(y);
  f64 rest = abs_f64(x);
  if (!(rest < INF && divisor > 0)) return NAN;
  while (rest >= divisor) {
    const i64 exponents = (i64)0x7ff << 52, bits = bits_f64(divisor);
    const f64 step = number_f64(bits + (bits_f64(rest) & exponents) - (bits & exponents));
    rest -= step > rest ? step * 0.5 : step;
  }
  return copysign_f64(rest, x);
}
typedef struct { f64 high, low; } Pair;
FUNCTION Pair pair(f64 high, f64 low) { const Pair both = {high, low}; return both; }
FUNCTION Pair sum_of(f64 a, f64 b) {
  const f64 sum = a + b, of_b = sum - a;
  return pair(sum, (a - (sum - of_b)) + (b - of_b));
}
FUNCTION Pair ordered_sum(f64 a, f64 b) { return pair(a + b, b - (a + b - a)); }
FUNCTION f64 upper(f64 a) { return a * (0x1p27 + 1) - (a * (0x1p27 + 1) - a); }
FUNCTION Pair product_of(f64 a, f64 b) {
  const f64 x = upper(a), y = upper(b), u = a - x, v = b - y;
  return pair(a * b, x * y - a * b + x * v + u * y + u * v);
}
FUNCTION Pair pair_product(Pair a, Pair b) {
  const Pair product = product_of(a.high, b.high);
  return pair(product.high, product.low + (a.high * b.low + a.low * b.high));
}
FUNCTION f64 power_of_two(i64 n) { return number_f64((i64)((u64)(n + 1023) << 52)); }
FUNCTION i32 near_integer(f64 x) { return (i32)(bits_f64(x + 0x1.8p52) - bits_f64(0x1.8p52)); }
FUNCTION f64 exp_of(Pair x) {
  const f64 limited = x.high > 760 ? 760 : x.high < -760 ? -760 : x.high;
  const i32 n = near_integer(limited * 1.4426950408889634);
  Pair r = sum_of(limited - n * 0x1.62e42feep-1, n * -0x1.a39ef35793c76p-33);
  r = sum_of(r.high, r.low + (limited == x.high ? x.low : 0));
  const Pair sum = ordered_sum(1, r.high);
  const f64 square = r.high * r.high * poly_exp(r.high);
  const f64 power = sum.high + (sum.low + (square + (r.low * r.high + r.low)));
  return power * power_of_two(n >> 1) * power_of_two(n - (n >> 1));
}
FUNCTION f64 exp_f64(f64 x) { return x != x ? x : exp_of(pair(x, 0)); }
FUNCTION Pair log_of(f64 x) {
  const i64 bits = bits_f64(x), n = (bits - 0x3fe6a09e667f3bcd) >> 52;
  const f64 f = number_f64((i64)((u64)bits - ((u64)n << 52))) - 1;
  const Pair divisor = ordered_sum(2, f);
  const f64 ratio = f / divisor.high;
  const Pair back = product_of(ratio, divisor.high);
  const Pair s = pair(ratio, (f - back.high - (back.low + ratio * divisor.low)) / divisor.high);
  const Pair z = pair_product(s, s);
  const f64 tail = z.high * poly_atanh(z.high) + (z.low * 0.4 + 0x1.5555555555555p-55);
  const Pair series = pair_product(z, ordered_sum(0x1.5555555555555p-1, tail));
  const Pair factor = ordered_sum(2, series.high);
  const Pair log = pair_product(s, pair(factor.high, factor.low + series.low));
  const Pair sum = ordered_sum((f64)n * 0x1.62e42feep-1, log.high);
  return ordered_sum(sum.high, sum.low + ((f64)n * 0x1.a39ef35793c76p-33 + log.low));
}
FUNCTION f64 log_f64(f64 x) {
  return !(x > 0) ? x == 0 ? -INF : NAN : x < INF ? log_of(x).high : x;
}
FUNCTION f64 tanh_f64(f64 x) {
  const f64 twice = 2 * abs_f64(x), a = twice > 40 ? 40 : twice;
  const i32 n = near_integer(a * 1.4426950408889634);
  const f64 r = a - n * 0x1.62e42feep-1 - n * 0x1.a39ef35793c76p-33, scale = power_of_two(n);
  const f64 less_one = (r * r * poly_exp(r) + r) * scale + (scale - 1);
  return x != x ? x : copysign_f64(less_one / (less_one + 2), x);
}
FUNCTION f64 erfc_of(f64 x) {
  const f64 a = x > 28 ? 28 : x;
  const Pair square = product_of(a, a), divisor = sum_of(2 * a, 1);
  const f64 power = exp_of(pair(-square.high, -square.low)), inverse = 1 / divisor.high;
  const f64 numerator = poly_erfcx((a - 4) / (a + 4)), quotient = numerator * inverse;
  const Pair back = product_of(quotient, divisor.high);
  const f64 rest = numerator - back.high - (back.low + quotient * divisor.low);
  return power * quotient + power * (rest * inverse);
}
FUNCTION f64 erf_f64(f64 x) {
  const f64 a = abs_f64(x);
  if (a >= 1) return copysign_f64(1 - erfc_of(a), x);
  if (a < 0x1p-500) return x * 1.1283791670955126;
  return x * poly_erf(x * x) + x;
}
typedef struct { Pair r; i32 n; } Angle;
FUNCTION Angle reduce_angle(f64 x) {
  Angle angle;
  const f64 n = angle.n = near_integer(x * 0.63661977236758138);
  const Pair second = sum_of(x - n * 0x1.921fb544p+0, n * -0x1.0b4611a6p-34);
  const Pair third = sum_of(second.high, n * -0x1.3198a2ep-69);
  angle.r = ordered_sum(third.high, second.low + third.low + n * -0x1.b839a252049c1p-104);
  return angle;
}
FUNCTION u64 high_product(u64 a, u64 b) {
  const u64 mask = 0xffffffff, al = a & mask, ah = a >> 32, bl = b & mask, bh = b >> 32;
  const u64 middle = ah * bl + (al * bl >> 32), other = al * bh + (middle & mask);
  return ah * bh + (middle >> 32) + (other >> 32);
}
FUNCTION Angle reduce_large_angle(f64 x) {
  const i64 bits = bits_f64(x), first = (bits >> 52 & 0x7ff) - 1075 + 62;
  const u64 m = (u64)(bits & (((i64)1 << 52) - 1)) | (u64)1 << 52, shift = first & 63;
  u64 words[3], carry = 0;
  for (i32 i = 2; i >= 0; --i) {
    const u64 here = two_over_pi[(first >> 6) + i], next = two_over_pi[(first >> 6) + i + 1];
    const u64 part = shift == 0 ? here : here << shift | next >> (64 - shift);
    words[i] = m * part + carry;
    carry = high_product(m, part) + (words[i] < carry);
  }
  const u64 low = 0xffffffff, n = (words[0] + ((u64)1 << 61)) >> 62;
  words[0] -= n << 62;
  const Pair a = sum_of((f64)((i64)words[0] >> 32) * 0x1p-30, (f64)(words[0] & low) * 0x1p-62);
  const Pair b = sum_of(a.high, (f64)(words[1] >> 32) * 0x1p-94);
  const Pair c = sum_of(b.high, (f64)(words[1] & low) * 0x1p-126);
  const f64 rest = a.low + b.low + c.low + (f64)(words[2] >> 32) * 0x1p-158;
  const Pair half_pi = pair(0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54);
  const Pair r = pair_product(ordered_sum(c.high, rest), half_pi);
  Angle angle;
  angle.r = bits < 0 ? ordered_sum(-r.high, -r.low) : ordered_sum(r.high, r.low);
  angle.n = bits < 0 ? -(i32)n : (i32)n;
  return angle;
}
FUNCTION f64 sine(f64 x, i32 quarters) {
  const f64 a = abs_f64(x);
  if (!(a < INF)) return NAN;
  const Angle angle = a < 0x1p20 ? reduce_angle(x) : reduce_large_angle(x);
  const Pair r = angle.r;
  const f64 z = r.high * r.high, cube = z * r.high, halved = z * 0.5;
  const f64 about = 1 - halved, correction = 0.5 * r.low - cube * poly_sin(z);
  const f64 tail = z * (z * poly_cos(z)) - r.high * r.low;
  const i32 n = angle.n + quarters;
  const f64 value = n & 1 ? about + (1 - about - halved + tail)
                          : r.high - (z * correction - r.low - cube * -0.16666666666666666);
  return n & 2 ? -value : value;
}
FUNCTION f64 sin_f64(f64 x) { return x == 0 ? x : sine(x, 0); }
FUNCTION f64 cos_f64(f64 x) { return sine(x, 1); }
FUNCTION f64 pow_f64(f64 x, f64 y) {
  const f64 a = abs_f64(x);
  if (y == 0 || x == 1 || (a == 1 && abs_f64(y) == INF)) return 1;
  if (x != x || y != y) return NAN;
  const i32 is_integer = floor_f64(y) == y, is_odd = is_integer && floor_f64(y * 0.5) != y * 0.5;
  if (x < 0 && a < INF && !is_integer) return NAN;
  f64 result = !(y < 0) != (a == INF) ? 0 : INF;
  if (a > 0 && a < INF) {
    const Pair log = log_of(a);
    const f64 exponent = y > 0x1p66 ? 0x1p66 : y < -0x1p66 ? -0x1p66 : y;
    const Pair product = product_of(exponent, log.high);
    result = exp_of(pair(product.high, product.low + exponent * log.low));
  }
  return is_odd ? copysign_f64(result, x) : result;
}
)";

}  // namespace burnish

#endif  // COMPILER_CODEGEN_TEXT_C_HELPERS_H_
