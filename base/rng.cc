#include "base/rng.h"

#include <bit>
#include <cmath>
#include <cstddef>

#include "base/check.h"
#include "base/sha256.h"

namespace burnish {
namespace {

void AddNumber(Sha256& hash, uint64_t value) {
  std::array<uint8_t, 8> bytes;
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<uint8_t>(value >> (8 * i));
  hash.Update(bytes.data(), bytes.size());
}

// With its length in front: "ab","c" and "a","bc" are different streams.
void AddText(Sha256& hash, const std::string& text) {
  AddNumber(hash, text.size());
  hash.Update(text.data(), text.size());
}

// Natural logarithm of a normal x > 0 by IEEE operations only, within 2e-15 of the true value
// relative to max(1, |log x|). libm's log may differ in the last bit between versions.
double Log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // [0.5, 1)
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  // log m = 2 atanh(t), |t| <= 0.1716: the series is exact to a double after t^21.
  const double t = (m - 1) / (m + 1);
  const double t2 = t * t;
  double sum = 0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * t2 + 1.0 / k;
  return 2 * t * sum + exponent * 0.69314718055994531;
}

}  // namespace

uint64_t SplitMix64(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

Rng::Rng(uint64_t seed) {
  for (uint64_t& word : state_) word = SplitMix64(seed);
}

Rng::Rng(const RngStream& stream) {
  Sha256 hash;
  AddNumber(hash, stream.seed);
  AddText(hash, stream.purpose);
  AddText(hash, stream.task);
  AddNumber(hash, static_cast<uint64_t>(stream.round));
  AddNumber(hash, static_cast<uint64_t>(stream.index));
  const Sha256Digest digest = hash.Digest();
  for (size_t i = 0; i < 4; ++i) {
    state_[i] = 0;
    for (size_t byte = 0; byte < 8; ++byte) {
      state_[i] |= uint64_t{digest[8 * i + byte]} << (8 * byte);
    }
  }
}

uint64_t Rng::Next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

// Lemire, "Fast random integer generation in an interval", 2019: the high half of a 128-bit
// product; the few low halves that would make some values likelier are drawn again.
uint64_t Rng::Below(uint64_t bound) {
  CHECK_GE(bound, 1u);
  unsigned __int128 product = static_cast<unsigned __int128>(Next()) * bound;
  if (static_cast<uint64_t>(product) < bound) {
    const uint64_t threshold = -bound % bound;  // 2^64 mod bound
    while (static_cast<uint64_t>(product) < threshold) {
      product = static_cast<unsigned __int128>(Next()) * bound;
    }
  }
  return static_cast<uint64_t>(product >> 64);
}

int64_t Rng::Between(int64_t low, int64_t high) {
  CHECK_LE(low, high);
  const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const uint64_t offset = span == UINT64_MAX ? Next() : Below(span + 1);
  return static_cast<int64_t>(static_cast<uint64_t>(low) + offset);
}

double Rng::Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

// Marsaglia and Bray's polar method. The second value of a pair is dropped, so that the state is
// the four words alone and a draw depends on nothing else.
double Rng::Normal() {
  for (;;) {
    const double u = 2 * Uniform() - 1;
    const double v = 2 * Uniform() - 1;
    const double r2 = u * u + v * v;
    if (r2 > 0 && r2 < 1) return u * std::sqrt(-2 * Log(r2) / r2);
  }
}

}  // namespace burnish
