#include "worker/calibrate/memory_loops.h"

#include <numeric>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/rng.h"

namespace burnish {
namespace {

// Two lines of each of four streams. `%0`: how far in a stream, `%1` to `%4`: their ends, so that
// the counter runs up to zero.
#define BURNISH_READ_LOOP(LOADS)                                    \
  asm volatile("1:\n" LOADS "add $128, %0\njnz 1b\n"                \
               : "+r"(at)                                           \
               : "r"(end[0]), "r"(end[1]), "r"(end[2]), "r"(end[3]) \
               : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "cc", "memory")

#define BURNISH_LOAD(OP, REG, OFFSET)                                                       \
  OP " " OFFSET "(%1,%0), %%" REG "0\n" OP " " OFFSET "(%2,%0), %%" REG "1\n" OP " " OFFSET \
     "(%3,%0), %%" REG "2\n" OP " " OFFSET "(%4,%0), %%" REG "3\n"
#define BURNISH_LOADS_16              \
  BURNISH_LOAD("movaps", "xmm", "0")  \
  BURNISH_LOAD("movaps", "xmm", "16") \
  BURNISH_LOAD("movaps", "xmm", "32") \
  BURNISH_LOAD("movaps", "xmm", "48") \
  BURNISH_LOAD("movaps", "xmm", "64") \
  BURNISH_LOAD("movaps", "xmm", "80") \
  BURNISH_LOAD("movaps", "xmm", "96") BURNISH_LOAD("movaps", "xmm", "112")
#define BURNISH_LOADS_32               \
  BURNISH_LOAD("vmovaps", "ymm", "0")  \
  BURNISH_LOAD("vmovaps", "ymm", "32") \
  BURNISH_LOAD("vmovaps", "ymm", "64") BURNISH_LOAD("vmovaps", "ymm", "96")
#define BURNISH_LOADS_64 BURNISH_LOAD("vmovaps", "zmm", "0") BURNISH_LOAD("vmovaps", "zmm", "64")

}  // namespace

void ReadAll(std::span<const uint8_t> bytes, int vector_bytes, int64_t repeats) {
  const int64_t size = static_cast<int64_t>(bytes.size());
  CHECK(size > 0 && size % kReadGranuleBytes == 0);
  const int64_t stream_bytes = size / kReadStreams;
  const uint8_t* end[kReadStreams];
  for (int64_t i = 0; i < kReadStreams; ++i) end[i] = bytes.data() + (i + 1) * stream_bytes;
  for (int64_t repeat = 0; repeat < repeats; ++repeat) {
    int64_t at = -stream_bytes;
    if (vector_bytes == 64) {
      BURNISH_READ_LOOP(BURNISH_LOADS_64);
    } else if (vector_bytes == 32) {
      BURNISH_READ_LOOP(BURNISH_LOADS_32);
    } else {
      BURNISH_READ_LOOP(BURNISH_LOADS_16);
    }
  }
  if (vector_bytes > 16) asm volatile("vzeroupper" ::: "memory");
}

void LinkLines(std::span<uint8_t> bytes, int64_t stride_bytes, uint64_t seed) {
  const size_t count = bytes.size() / stride_bytes;
  CHECK(count > 0);
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  Rng rng(RngStream{.seed = seed, .purpose = "links"});
  for (size_t i = count - 1; i > 0; --i) std::swap(order[i], order[rng.Below(i + 1)]);
  for (size_t i = 0; i < count; ++i) {
    uint8_t* const from = bytes.data() + order[i] * stride_bytes;
    *reinterpret_cast<void**>(from) = bytes.data() + order[(i + 1) % count] * stride_bytes;
  }
}

const void* FollowLinks(const void* start, int64_t steps) {
  for (int64_t i = 0; i < steps; ++i) {
    asm volatile("mov (%0), %0" : "+r"(start)::"memory");
  }
  return start;
}

}  // namespace burnish
