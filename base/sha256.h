// SHA-256 (FIPS 180-4), written out here so that the runtime, which links only libc and libstdc++,
// can check bundles. Free of Abseil. Not constant-time: it names content, it keeps no secret.
#ifndef BASE_SHA256_H_
#define BASE_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace burnish {

using Sha256Digest = std::array<uint8_t, 32>;

// Takes the bytes in any number of pieces. Copy it to continue one prefix in two ways.
class Sha256 {
 public:
  void Update(const void* data, size_t size_bytes);
  // The digest of all bytes so far. May be called more than once, and Update after it.
  Sha256Digest Digest() const;

 private:
  // Takes whole blocks into two states at once.
  friend std::pair<Sha256Digest, Sha256Digest> Sha256OfTwo(const uint8_t* first,
                                                           const uint8_t* second,
                                                           size_t size_bytes);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> block_;  // The first `size_bytes_ % 64` bytes are filled.
  uint64_t size_bytes_ = 0;
};

Sha256Digest Sha256Of(const void* data, size_t size_bytes);

// 64 lower-case hexadecimal digits.
std::string HexOf(const Sha256Digest& digest);

std::string Sha256Hex(std::string_view bytes);

// For std::string, absl::string_view, absl::Span and vectors of single bytes.
template <typename Bytes>
  requires requires(const Bytes& bytes) { bytes.data() + bytes.size(); } &&
           (sizeof(*std::declval<const Bytes&>().data()) == 1)
std::string Sha256Hex(const Bytes& bytes) {
  return HexOf(Sha256Of(bytes.data(), bytes.size()));
}

}  // namespace burnish

#endif  // BASE_SHA256_H_
