// Memory of arrays that are gone, for the arrays of the next call.
#ifndef PYTHON_RUNTIME_KEPT_BLOCKS_H_
#define PYTHON_RUNTIME_KEPT_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <map>

namespace burnish {

// malloc gives large blocks back to the system when they are freed, and each new one is cleared
// page by page: the keys and values that a decoder returns took a quarter of its time so. Blocks
// are kept as long as they and the arrays that live take no more together than arrays have taken at
// one time.
//
// Not for threads: the interpreter's lock guards it.
class KeptBlocks {
 public:
  struct Block {
    void* memory = nullptr;  // Of malloc; null: there is none.
    size_t size_bytes = 0;   // As it is given back.
  };

  KeptBlocks() = default;
  KeptBlocks(const KeptBlocks&) = delete;
  KeptBlocks& operator=(const KeptBlocks&) = delete;
  ~KeptBlocks();

  // At least so large.
  Block Take(size_t size_bytes);
  void GiveBack(Block block);

  size_t kept_bytes() const { return kept_bytes_; }

 private:
  std::multimap<size_t, void*> kept_;  // By size.
  size_t kept_bytes_ = 0, live_bytes_ = 0, live_bytes_max_ = 0;
};

}  // namespace burnish

#endif  // PYTHON_RUNTIME_KEPT_BLOCKS_H_
