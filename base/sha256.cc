#include "base/sha256.h"

#include <algorithm>
#include <bit>

namespace burnish {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes (§4.2.2).
constexpr std::array<uint32_t, 64> kRound = {
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

}  // namespace

void Sha256::Compress(const uint8_t* block) {
  std::array<uint32_t, 64> w;
  for (int t = 0; t < 16; ++t) w[t] = LoadBigEndian(block + 4 * t);
  for (int t = 16; t < 64; ++t) {
    const uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
    const uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
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
  for (int i = 0; i < 8; ++i) state_[i] += sum[i];
}

void Sha256::Update(const void* data, size_t size_bytes) {
  const uint8_t* in = static_cast<const uint8_t*>(data);
  const size_t filled = size_bytes_ % 64;
  size_bytes_ += size_bytes;
  if (filled != 0) {
    const size_t taken = std::min(size_bytes, 64 - filled);
    std::copy_n(in, taken, block_.begin() + filled);
    if (filled + taken < 64) return;
    Compress(block_.data());
    in += taken;
    size_bytes -= taken;
  }
  for (; size_bytes >= 64; in += 64, size_bytes -= 64) Compress(in);
  std::copy_n(in, size_bytes, block_.begin());
}

Sha256Digest Sha256::Digest() const {
  // Padding: one 1 bit, zeros up to 56 bytes modulo 64, the length in bits as 64 bits (§5.1.1).
  Sha256 last = *this;
  std::array<uint8_t, 72> padding = {0x80};
  const size_t zeros_end = 1 + (55 - size_bytes_ % 64 + 64) % 64;
  for (int i = 0; i < 8; ++i) {
    padding[zeros_end + i] = static_cast<uint8_t>(size_bytes_ * 8 >> (56 - 8 * i));
  }
  last.Update(padding.data(), zeros_end + 8);
  Sha256Digest digest;
  for (int i = 0; i < 32; ++i) {
    digest[i] = static_cast<uint8_t>(last.state_[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

Sha256Digest Sha256Of(const void* data, size_t size_bytes) {
  Sha256 hash;
  hash.Update(data, size_bytes);
  return hash.Digest();
}

std::string HexOf(const Sha256Digest& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * digest.size());
  for (const uint8_t byte : digest) {
    hex.push_back(kDigits[byte >> 4]);
    hex.push_back(kDigits[byte & 15]);
  }
  return hex;
}

std::string Sha256Hex(std::string_view bytes) {
  return HexOf(Sha256Of(bytes.data(), bytes.size()));
}

}  // namespace burnish
