// An allocator for small objects of one size that come and go by the thousand, as the nodes of
// expressions do while programs are rewritten: each thread keeps what it freed.
#ifndef COMPILER_IR_BLOCK_ALLOCATOR_H_
#define COMPILER_IR_BLOCK_ALLOCATOR_H_

#include <cstddef>
#include <new>

namespace burnish {

// Free blocks of one size, of this thread. What another thread allocated may be freed here.
template <size_t kBytes>
class BlockPool {
 public:
  static void* Take() {
    if (free_ == nullptr) return ::operator new(kBytes);
    Block* const block = free_;
    free_ = block->next;
    --count_;
    return block;
  }

  static void Give(void* memory) {
    // Destructors of static objects run after those of the thread.
    if (count_ >= kKeptMax || is_closed_) {
      ::operator delete(memory);
      return;
    }
    static thread_local const AtExit at_exit;
    (void)at_exit;
    free_ = new (memory) Block{free_};
    ++count_;
  }

 private:
  struct Block {
    Block* next;
  };
  struct AtExit {
    ~AtExit() {
      is_closed_ = true;
      while (free_ != nullptr) ::operator delete(Take());
    }
  };
  static_assert(kBytes >= sizeof(Block));
  static constexpr int kKeptMax = 16384;

  static inline thread_local Block* free_ = nullptr;
  static inline thread_local int count_ = 0;
  static inline thread_local bool is_closed_ = false;
};

// For std::allocate_shared.
template <typename T>
struct BlockAllocator {
  using value_type = T;

  BlockAllocator() = default;
  template <typename U>
  BlockAllocator(const BlockAllocator<U>&) {}  // NOLINT: allocators convert.

  T* allocate(size_t count) {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    if (count != 1) return static_cast<T*>(::operator new(count * sizeof(T)));
    return static_cast<T*>(BlockPool<sizeof(T)>::Take());
  }
  void deallocate(T* memory, size_t count) {
    if (count != 1) {
      ::operator delete(memory);
    } else {
      BlockPool<sizeof(T)>::Give(memory);
    }
  }

  bool operator==(const BlockAllocator&) const { return true; }
};

}  // namespace burnish

#endif  // COMPILER_IR_BLOCK_ALLOCATOR_H_
