// The one source of randomness: xoshiro256** with own distributions, so that a study replays the
// same on every machine and library version. Free of Abseil.
// Source: Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021.
#ifndef BASE_RNG_H_
#define BASE_RNG_H_

#include <array>
#include <cstdint>
#include <string>

namespace burnish {

// The generator that the authors recommend for seeding. Advances `state`.
uint64_t SplitMix64(uint64_t& state);

// Names one independent stream of draws. Every field counts: two streams that differ in any of them
// have nothing in common, so adding draws to one never moves another.
struct RngStream {
  uint64_t seed = 0;         // The study's.
  std::string purpose = {};  // What the draws are for, such as "mutate" or "inputs".
  std::string task = {};     // Hash or name of the task; empty where there is none.
  int64_t round = 0;
  int64_t index = 0;  // Within the round: a candidate, an input.
};

// Not thread-safe: one stream per thread of work.
class Rng {
 public:
  explicit Rng(uint64_t seed);
  // The state is the SHA-256 of the stream's fields.
  explicit Rng(const RngStream& stream);
  // For checking against the published outputs. Not all zero.
  explicit Rng(const std::array<uint64_t, 4>& state) : state_(state) {}

  // Uniform over all 64-bit values.
  uint64_t Next();
  // Uniform over [0, bound), without modulo bias. `bound` >= 1.
  uint64_t Below(uint64_t bound);
  // Uniform over [low, high], both included. low <= high.
  int64_t Between(int64_t low, int64_t high);
  // Uniform over [0, 1), a multiple of 2^-53.
  double Uniform();
  // Mean 0, standard deviation 1. Bit-exact everywhere: no libm function but sqrt.
  double Normal();

 private:
  std::array<uint64_t, 4> state_;
};

}  // namespace burnish

#endif  // BASE_RNG_H_
