// Memory for the tensors of one call, as kernels may work on it.
#ifndef COMPILER_RUNTIME_ALIGNED_BYTES_H_
#define COMPILER_RUNTIME_ALIGNED_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace burnish {

using ByteViews = std::vector<std::span<const uint8_t>>;

// Bytes of no value: what is written whole next need not be zeros before, which costs as much. As
// of containers std::bad_alloc says that there are none.
class AlignedBytes {
 public:
  // What pack functions ask of their buffers at most (CheckRefit).
  static constexpr size_t kAlignment = 64;

  explicit AlignedBytes(size_t size_bytes)
      : bytes_(static_cast<uint8_t*>(::operator new(size_bytes, std::align_val_t(kAlignment)))),
        size_(size_bytes) {}

  uint8_t* data() const { return bytes_.get(); }
  size_t size() const { return size_; }
  uint8_t* begin() const { return data(); }
  uint8_t* end() const { return data() + size_; }

  static bool IsAligned(const void* address) {
    return reinterpret_cast<uintptr_t>(address) % kAlignment == 0;
  }

 private:
  struct Delete {
    void operator()(uint8_t* bytes) const {
      ::operator delete(bytes, std::align_val_t(kAlignment));
    }
  };
  std::unique_ptr<uint8_t, Delete> bytes_;
  size_t size_;
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_ALIGNED_BYTES_H_
