#include "base/sha256.h"

#include <algorithm>

#include "base/sha256_blocks.h"

namespace burnish {
namespace {

void TakeBlocks(std::array<uint32_t, 8>& hash, const uint8_t* blocks, size_t count) {
  const Sha256Blocks accelerated = Sha256BlocksAccelerated();
  (accelerated != nullptr ? accelerated : &Sha256BlocksPortable)(hash.data(), blocks, count);
}

}  // namespace

void Sha256::Update(const void* data, size_t size_bytes) {
  const uint8_t* in = static_cast<const uint8_t*>(data);
  const size_t filled = size_bytes_ % 64;
  size_bytes_ += size_bytes;
  if (filled != 0) {
    const size_t taken = std::min(size_bytes, 64 - filled);
    std::copy_n(in, taken, block_.begin() + filled);
    if (filled + taken < 64) return;
    TakeBlocks(state_, block_.data(), 1);
    in += taken;
    size_bytes -= taken;
  }
  TakeBlocks(state_, in, size_bytes / 64);
  std::copy_n(in + size_bytes / 64 * 64, size_bytes % 64, block_.begin());
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
