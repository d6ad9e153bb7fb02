#include "compiler/runtime/section_digest.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace burnish {
namespace {

// Read and hashed at once, while it is in the cache.
constexpr uint64_t kPieceBytes = uint64_t{256} << 10;
// Starting a thread takes about as long as this many chunks.
constexpr uint64_t kChunksPerThreadMin = 2;
constexpr uint64_t kThreadCountMax = 16;  // Memory is the limit before that.

uint64_t UsableCpuCount() {
  cpu_set_t usable;
  return sched_getaffinity(0, sizeof(usable), &usable) == 0 ? CPU_COUNT(&usable) : 1;
}

// Calls work(chunk) for each chunk below `chunk_count`, on several threads where it pays.
template <typename Work>
void ForEachChunk(uint64_t chunk_count, const Work& work) {
  std::atomic<uint64_t> next = 0;
  const auto take_chunks = [&] {
    for (uint64_t chunk = next++; chunk < chunk_count; chunk = next++) work(chunk);
  };
  std::vector<std::jthread> helpers;
  if (chunk_count >= 2 * kChunksPerThreadMin) {
    const uint64_t thread_count =
        std::min({UsableCpuCount(), chunk_count / kChunksPerThreadMin, kThreadCountMax});
    try {
      while (helpers.size() + 1 < thread_count) helpers.emplace_back(take_chunks);
    } catch (const std::system_error&) {
      // No more threads to be had: those that there are do it.
    }
  }
  take_chunks();
}

Sha256Digest Combine(const std::vector<Sha256Digest>& digests) {
  return Sha256Of(digests.data(), digests.size() * sizeof(Sha256Digest));
}

uint64_t ChunkCount(uint64_t size_bytes) {
  return (size_bytes + kSectionChunkBytes - 1) / kSectionChunkBytes;
}

template <typename Byte>
std::span<Byte> Chunk(std::span<Byte> bytes, uint64_t chunk) {
  const uint64_t begin = chunk * kSectionChunkBytes;
  return bytes.subspan(begin, std::min(kSectionChunkBytes, bytes.size() - begin));
}

RuntimeStatus ReadChunk(const ByteSource& source, uint64_t offset, std::span<uint8_t> chunk,
                        Sha256Digest* digest) {
  Sha256 hash;
  while (!chunk.empty()) {
    const std::span<uint8_t> piece = chunk.first(std::min<uint64_t>(kPieceBytes, chunk.size()));
    RUNTIME_RETURN_IF_ERROR(source.Read(offset, piece));
    if (digest != nullptr) hash.Update(piece.data(), piece.size());
    offset += piece.size();
    chunk = chunk.subspan(piece.size());
  }
  if (digest != nullptr) *digest = hash.Digest();
  return RuntimeStatus();
}

}  // namespace

Sha256Digest SectionDigest(std::span<const uint8_t> bytes) {
  std::vector<Sha256Digest> digests(ChunkCount(bytes.size()));
  ForEachChunk(digests.size(), [&](uint64_t i) {
    const std::span<const uint8_t> chunk = Chunk(bytes, i);
    digests[i] = Sha256Of(chunk.data(), chunk.size());
  });
  return Combine(digests);
}

RuntimeOr<Sha256Digest> ReadSection(const ByteSource& source, uint64_t offset,
                                    std::span<uint8_t> destination, bool wants_digest) {
  std::vector<Sha256Digest> digests(ChunkCount(destination.size()));
  std::mutex mutex;  // Guards `failure`.
  RuntimeStatus failure;
  ForEachChunk(digests.size(), [&](uint64_t i) {
    RuntimeStatus status = ReadChunk(source, offset + i * kSectionChunkBytes, Chunk(destination, i),
                                     wants_digest ? &digests[i] : nullptr);
    if (status.ok()) return;
    const std::lock_guard<std::mutex> lock(mutex);
    failure = std::move(status);
  });
  RUNTIME_RETURN_IF_ERROR(failure);
  return Combine(digests);
}

}  // namespace burnish
