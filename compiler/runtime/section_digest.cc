#include "compiler/runtime/section_digest.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/sha256_blocks.h"
#include "base/usable_cpus.h"

namespace burnish {
namespace {

constexpr uint64_t kThreadCountMax = 16;  // Memory is the limit before that.

// Calls work(chunk) for each even chunk below `chunk_count`, on several threads where it pays.
template <typename Work>
void ForEachPair(uint64_t chunk_count, const Work& work) {
  std::atomic<uint64_t> next = 0;
  const auto take_pairs = [&] {
    // Two at a time: SHA-256 is one chain of dependent rounds, and two independent chains fill the
    // unit (Sha256OfTwo).
    for (uint64_t chunk = next.fetch_add(2); chunk < chunk_count; chunk = next.fetch_add(2)) {
      work(chunk);
    }
  };
  std::vector<std::jthread> helpers;
  const uint64_t pair_count = (chunk_count + 1) / 2;
  if (pair_count > 1) {
    const uint64_t thread_count =
        std::min({static_cast<uint64_t>(UsableCpuCount()), pair_count, kThreadCountMax});
    try {
      while (helpers.size() + 1 < thread_count) helpers.emplace_back(take_pairs);
    } catch (const std::system_error&) {
      // No more threads to be had: those that there are do it.
    }
  }
  take_pairs();
}

Sha256Digest Combine(const std::vector<Sha256Digest>& digests) {
  // A hash over hashes of chunks: the chunks' may be taken in any order and on any number of
  // threads.
  return Sha256Of(digests.data(), digests.size() * sizeof(Sha256Digest));
}

uint64_t ChunkCount(uint64_t size_bytes) {
  return (size_bytes + kSectionChunkBytes - 1) / kSectionChunkBytes;
}

// `count` chunks from number `chunk` on, or as many as there are.
template <typename Byte>
std::span<Byte> Chunks(std::span<Byte> bytes, uint64_t chunk, uint64_t count) {
  const uint64_t begin = chunk * kSectionChunkBytes;
  return bytes.subspan(begin, std::min(count * kSectionChunkBytes, bytes.size() - begin));
}

// Of chunk number `chunk` and the next one, where there is one.
void DigestPair(std::span<const uint8_t> bytes, uint64_t chunk,
                std::vector<Sha256Digest>& digests) {
  const std::span<const uint8_t> pair = Chunks(bytes, chunk, 2);
  if (pair.size() == 2 * kSectionChunkBytes) {
    std::tie(digests[chunk], digests[chunk + 1]) =
        Sha256OfTwo(pair.data(), pair.data() + kSectionChunkBytes, kSectionChunkBytes);
    return;
  }
  for (uint64_t i = chunk; i < std::min<uint64_t>(chunk + 2, digests.size()); ++i) {
    const std::span<const uint8_t> one = Chunks(bytes, i, 1);
    digests[i] = Sha256Of(one.data(), one.size());
  }
}

}  // namespace

Sha256Digest SectionDigest(std::span<const uint8_t> bytes) {
  std::vector<Sha256Digest> digests(ChunkCount(bytes.size()));
  ForEachPair(digests.size(), [&](uint64_t chunk) { DigestPair(bytes, chunk, digests); });
  return Combine(digests);
}

RuntimeOr<Sha256Digest> ReadSection(const ByteSource& source, uint64_t offset,
                                    std::span<uint8_t> destination, bool wants_digest) {
  std::vector<Sha256Digest> digests(ChunkCount(destination.size()));
  std::mutex mutex;  // Guards `failure`.
  RuntimeStatus failure;
  ForEachPair(digests.size(), [&](uint64_t chunk) {
    RuntimeStatus status =
        source.Read(offset + chunk * kSectionChunkBytes, Chunks(destination, chunk, 2));
    if (status.ok()) {
      // At once, while it is in the cache.
      if (wants_digest) DigestPair(destination, chunk, digests);
      return;
    }
    const std::lock_guard<std::mutex> lock(mutex);
    failure = std::move(status);
  });
  RUNTIME_RETURN_IF_ERROR(failure);
  return Combine(digests);
}

}  // namespace burnish
