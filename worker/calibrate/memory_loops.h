// Loops that do nothing but read memory: what a level of the hierarchy delivers, and how long it
// takes to answer. Free of Abseil.
#ifndef WORKER_CALIBRATE_MEMORY_LOOPS_H_
#define WORKER_CALIBRATE_MEMORY_LOOPS_H_

#include <cstdint>
#include <span>

namespace burnish {

inline constexpr int64_t kLineBytes = 64;
// A read touches so many bytes of each of its streams in turn.
inline constexpr int64_t kReadStreams = 4;
inline constexpr int64_t kReadGranuleBytes = kReadStreams * 2 * kLineBytes;

// Loads all of `bytes` `repeats` times in vectors of `vector_bytes` (16, 32 with AVX, 64 with
// AVX-512), in four streams side by side: one stream leaves hardware prefetchers idle and reads
// memory at two thirds of the rate. `bytes`: aligned to a line, its size a positive multiple of
// kReadGranuleBytes.
void ReadAll(std::span<const uint8_t> bytes, int vector_bytes, int64_t repeats);

// Makes one cycle of pointers through a word every `stride_bytes` of `bytes`, in random order, so
// that no prefetcher knows the next. `bytes`: aligned to a line, at least one stride; the stride is
// a multiple of a line. The same seed links the same way.
void LinkLines(std::span<uint8_t> bytes, int64_t stride_bytes, uint64_t seed);

// Follows `steps` pointers from `start`, each load waiting for the one before; returns where it
// got to, so that the next call can go on from there.
const void* FollowLinks(const void* start, int64_t steps);

}  // namespace burnish

#endif  // WORKER_CALIBRATE_MEMORY_LOOPS_H_
