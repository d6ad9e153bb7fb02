#include "base/sha256_blocks.h"

#include <algorithm>
#include <array>
#include <bit>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace burnish {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes (§4.2.2).
alignas(16) constexpr std::array<uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t LoadBigEndian(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

void OneBlock(uint32_t* hash, const uint8_t* block) {
  std::array<uint32_t, 64> w;
  for (int t = 0; t < 16; ++t) w[t] = LoadBigEndian(block + 4 * t);
  for (int t = 16; t < 64; ++t) {
    const uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
    const uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  std::array<uint32_t, 8> start;
  std::copy_n(hash, 8, start.begin());
  auto [a, b, c, d, e, f, g, h] = start;
  for (int t = 0; t < 64; ++t) {
    const uint32_t big_s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t t1 = h + big_s1 + ((e & f) ^ (~e & g)) + kRound[t] + w[t];
    const uint32_t big_s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t t2 = big_s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<uint32_t, 8> sum = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i) hash[i] += sum[i];
}

#if defined(__x86_64__)

// Intel, "Intel SHA Extensions", 2013. The instructions want the eight words in two registers, A B
// E F and C D G H from the highest lane down; below, a name lists the lanes from the lowest up.
// Each step of a stream waits for the one before it; two streams fill each other's gaps.
template <int kStreams>
__attribute__((target("sha,sse4.1"))) void BlocksBySha(uint32_t* const* hashes,
                                                       const uint8_t* const* blocks, size_t count) {
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  __m128i feba[kStreams], hgdc[kStreams];
  for (int s = 0; s < kStreams; ++s) {
    const auto* const words = reinterpret_cast<const __m128i*>(hashes[s]);
    const __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128(words), 0xb1);
    const __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128(words + 1), 0x1b);
    feba[s] = _mm_alignr_epi8(badc, hgfe, 8);
    hgdc[s] = _mm_blend_epi16(hgfe, badc, 0xf0);
  }
  for (size_t block = 0; block < count; ++block) {
    __m128i feba_before[kStreams], hgdc_before[kStreams];
    __m128i w[kStreams][4];  // The last 16 words of the message schedule.
#pragma clang loop unroll(full)
    for (int s = 0; s < kStreams; ++s) {
      feba_before[s] = feba[s];
      hgdc_before[s] = hgdc[s];
#pragma clang loop unroll(full)
      for (int i = 0; i < 4; ++i) {
        const auto* at = reinterpret_cast<const __m128i*>(blocks[s] + 64 * block + 16 * i);
        w[s][i] = _mm_shuffle_epi8(_mm_loadu_si128(at), big_endian);
      }
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < 16; ++i) {
      const auto* at = reinterpret_cast<const __m128i*>(kRound.data() + 4 * i);
      const __m128i constants = _mm_load_si128(at);
#pragma clang loop unroll(full)
      for (int s = 0; s < kStreams; ++s) {
        __m128i& oldest = w[s][i % 4];
        const __m128i newest = w[s][(i + 3) % 4];
        const __m128i sum = _mm_add_epi32(oldest, constants);
        hgdc[s] = _mm_sha256rnds2_epu32(hgdc[s], feba[s], sum);
        feba[s] = _mm_sha256rnds2_epu32(feba[s], hgdc[s], _mm_shuffle_epi32(sum, 0x0e));
        const __m128i seven_back = _mm_alignr_epi8(newest, w[s][(i + 2) % 4], 4);
        oldest = _mm_add_epi32(_mm_sha256msg1_epu32(oldest, w[s][(i + 1) % 4]), seven_back);
        oldest = _mm_sha256msg2_epu32(oldest, newest);
      }
    }
#pragma clang loop unroll(full)
    for (int s = 0; s < kStreams; ++s) {
      feba[s] = _mm_add_epi32(feba[s], feba_before[s]);
      hgdc[s] = _mm_add_epi32(hgdc[s], hgdc_before[s]);
    }
  }
  for (int s = 0; s < kStreams; ++s) {
    auto* const words = reinterpret_cast<__m128i*>(hashes[s]);
    const __m128i abef = _mm_shuffle_epi32(feba[s], 0x1b);
    const __m128i ghcd = _mm_shuffle_epi32(hgdc[s], 0xb1);
    _mm_storeu_si128(words, _mm_blend_epi16(abef, ghcd, 0xf0));
    _mm_storeu_si128(words + 1, _mm_alignr_epi8(ghcd, abef, 8));
  }
}

void OneStreamBySha(uint32_t* hash, const uint8_t* blocks, size_t count) {
  BlocksBySha<1>(&hash, &blocks, count);
}

bool HasSha() {
  unsigned eax, ebx, ecx, edx;
  const bool has_sse41 = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & 1u << 19) != 0;
  return has_sse41 && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx & 1u << 29) != 0;
}

#endif

}  // namespace

void Sha256BlocksPortable(uint32_t* hash, const uint8_t* blocks, size_t count) {
  for (; count > 0; --count, blocks += 64) OneBlock(hash, blocks);
}

Sha256Blocks Sha256BlocksAccelerated() {
#if defined(__x86_64__)
  static const bool has_sha = HasSha();
  if (has_sha) return &OneStreamBySha;
#endif
  return nullptr;
}

std::pair<Sha256Digest, Sha256Digest> Sha256OfTwo(const uint8_t* first, const uint8_t* second,
                                                  size_t size_bytes) {
#if defined(__x86_64__)
  if (Sha256BlocksAccelerated() != nullptr) {
    Sha256 hashes[2];
    uint32_t* const states[2] = {hashes[0].state_.data(), hashes[1].state_.data()};
    const uint8_t* const bytes[2] = {first, second};
    const size_t whole = size_bytes / 64;
    BlocksBySha<2>(states, bytes, whole);
    for (int s = 0; s < 2; ++s) {
      hashes[s].size_bytes_ = 64 * whole;
      hashes[s].Update(bytes[s] + 64 * whole, size_bytes % 64);
    }
    return {hashes[0].Digest(), hashes[1].Digest()};
  }
#endif
  return {Sha256Of(first, size_bytes), Sha256Of(second, size_bytes)};
}

}  // namespace burnish
