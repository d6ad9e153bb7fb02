// The floats that cold constants are read from: a file in memory that a worker fills once, and that
// each candidate's process maps.
#ifndef WORKER_RUNNER_COLD_ARENA_H_
#define WORKER_RUNNER_COLD_ARENA_H_

#include <cstdint>
#include <span>
#include <utility>

#include "compiler/runtime/runtime_status.h"

namespace burnish {

class ColdArena {
 public:
  // The first `size_bytes` of the file, read only, at a multiple of 2 MiB, so that huge pages of
  // the file are mapped as such. Nothing is read. 0 bytes give an empty arena.
  static RuntimeOr<ColdArena> Map(int descriptor, int64_t size_bytes);

  // Asks for huge pages under a file that is written, where the kernel can (Linux 6.1): to map 64
  // MiB of small pages takes each candidate's process 16 ms of a CPU, and a session has its weights
  // in huge pages, too. Without them all works as well, only slower.
  static void UseHugePages(int descriptor, int64_t size_bytes);

  ColdArena(ColdArena&& other) noexcept
      : mapping_(std::exchange(other.mapping_, {})), bytes_(std::exchange(other.bytes_, {})) {}
  ~ColdArena();

  std::span<uint8_t> bytes() const { return bytes_; }

 private:
  ColdArena() = default;

  std::span<uint8_t> mapping_;  // What munmap gets.
  std::span<uint8_t> bytes_;
};

}  // namespace burnish

#endif  // WORKER_RUNNER_COLD_ARENA_H_
