// Memory for weights and activations: zeroed, aligned to 2 MiB where it is that large, and backed
// by huge pages where the system gives them (fewer TLB misses: up to 1 % of a whole network).
#ifndef COMPILER_RUNTIME_HUGE_PAGE_ARENA_H_
#define COMPILER_RUNTIME_HUGE_PAGE_ARENA_H_

#include <cstdint>
#include <span>
#include <utility>

#include "compiler/runtime/runtime_status.h"

namespace burnish {

class HugePageArena {
 public:
  HugePageArena() = default;  // Empty.
  // Aligned to 4 KiB at least. Pages are taken when first touched. kResourceExhausted when there is
  // no address space. 0 bytes give an empty arena.
  static RuntimeOr<HugePageArena> Allocate(uint64_t size_bytes);

  HugePageArena(HugePageArena&& other) noexcept
      : mapping_(std::exchange(other.mapping_, {})), bytes_(std::exchange(other.bytes_, {})) {}
  HugePageArena& operator=(HugePageArena&& other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~HugePageArena();

  std::span<uint8_t> bytes() const { return bytes_; }

 private:
  HugePageArena(std::span<uint8_t> mapping, std::span<uint8_t> bytes)
      : mapping_(mapping), bytes_(bytes) {}

  std::span<uint8_t> mapping_;  // What munmap gets.
  std::span<uint8_t> bytes_;    // The aligned part of it.
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_HUGE_PAGE_ARENA_H_
