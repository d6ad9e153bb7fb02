#include "python/runtime/kept_blocks.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace burnish {
namespace {

// Below glibc's first limit for blocks that it maps each by itself (M_MMAP_THRESHOLD, 128 KiB) it
// keeps them as well.
constexpr size_t kSmall = size_t{128} << 10;
// A program that once had large arrays need not hold on to all of them.
constexpr size_t kKeptBytesMax = size_t{256} << 20;

// Eight sizes for each doubling, so that the next call's keys, a word longer, fit; at most an
// eighth is not used.
size_t Rounded(size_t size_bytes) {
  if (size_bytes < kSmall) return size_bytes;
  const size_t step = std::bit_floor(size_bytes) / 8;
  return (size_bytes + step - 1) / step * step;
}

}  // namespace

KeptBlocks::~KeptBlocks() {
  for (const auto& [size_bytes, memory] : kept_) std::free(memory);
}

KeptBlocks::Block KeptBlocks::Take(size_t size_bytes) {
  // What has no larger size is what malloc refuses.
  Block block{.size_bytes = std::max(size_bytes, Rounded(size_bytes))};
  if (const auto found = kept_.find(block.size_bytes); found != kept_.end()) {
    block.memory = found->second;
    kept_.erase(found);
    kept_bytes_ -= block.size_bytes;
  } else {
    block.memory = std::malloc(block.size_bytes);
    if (block.memory == nullptr) return {};
  }
  live_bytes_ += block.size_bytes;
  live_bytes_max_ = std::max(live_bytes_max_, live_bytes_);
  return block;
}

void KeptBlocks::GiveBack(Block block) {
  if (block.memory == nullptr) return;
  live_bytes_ -= block.size_bytes;
  if (block.size_bytes < kSmall) {
    std::free(block.memory);
    return;
  }
  kept_.emplace(block.size_bytes, block.memory);
  kept_bytes_ += block.size_bytes;
  const size_t most = std::min(kKeptBytesMax, live_bytes_max_ - live_bytes_);
  // Sizes that grow leave the smallest behind.
  while (kept_bytes_ > most) {
    kept_bytes_ -= kept_.begin()->first;
    std::free(kept_.begin()->second);
    kept_.erase(kept_.begin());
  }
}

}  // namespace burnish
