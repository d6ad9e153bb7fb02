// Memory that catches kernels which read or write outside of their buffers: it ends at a page
// without access, and what lies before it is checked afterwards.
#ifndef COMPILER_RUNTIME_GUARDED_BUFFER_H_
#define COMPILER_RUNTIME_GUARDED_BUFFER_H_

#include <cstdint>
#include <span>
#include <utility>

#include "compiler/runtime/runtime_status.h"

namespace burnish {

struct GuardedBufferOptions {
  uint64_t size_bytes = 0;
  // Of the base, a power of two up to 4096. The buffer ends at the guard page exactly if this
  // divides its size; else fewer than alignment_bytes lie between, and CanariesIntact checks them.
  uint32_t alignment_bytes = 64;
  // Not negative: the memory is this file's (memfd), from byte `shared_offset_bytes` (a multiple of
  // 4096) on, so that another process can look at it. The file must be large enough:
  // GuardedBuffer::FileBytes.
  int shared_descriptor = -1;
  uint64_t shared_offset_bytes = 0;
};

class GuardedBuffer {
 public:
  // The bytes are 0xff at first: NaN in each floating-point type, so that an output that was not
  // written shows.
  static RuntimeOr<GuardedBuffer> Allocate(const GuardedBufferOptions& options);

  // What a buffer takes of a shared file, a multiple of 4096, and where in it the buffer begins.
  static uint64_t FileBytes(uint64_t size_bytes);
  static uint64_t BaseInFile(uint64_t size_bytes, uint32_t alignment_bytes);

  GuardedBuffer(GuardedBuffer&& other) noexcept
      : mapping_(std::exchange(other.mapping_, {})),
        accessible_(std::exchange(other.accessible_, {})),
        bytes_(std::exchange(other.bytes_, {})) {}
  GuardedBuffer& operator=(GuardedBuffer&& other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(accessible_, other.accessible_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~GuardedBuffer();

  std::span<uint8_t> bytes() const { return bytes_; }
  void FillWithNan();
  // False when something wrote to the bytes between the guard pages that are not the buffer's.
  bool CanariesIntact() const;

 private:
  GuardedBuffer(std::span<uint8_t> mapping, std::span<uint8_t> accessible, std::span<uint8_t> bytes)
      : mapping_(mapping), accessible_(accessible), bytes_(bytes) {}

  std::span<uint8_t> mapping_;     // Pages of the buffer between pages without access.
  std::span<uint8_t> accessible_;  // The pages of the buffer.
  std::span<uint8_t> bytes_;
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_GUARDED_BUFFER_H_
