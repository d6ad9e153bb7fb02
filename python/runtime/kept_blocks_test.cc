#include "python/runtime/kept_blocks.h"

#include <cstring>
#include <vector>

#include "gtest/gtest.h"

namespace burnish {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// A block of `size_bytes`, written whole.
KeptBlocks::Block Taken(KeptBlocks& blocks, size_t size_bytes) {
  const KeptBlocks::Block block = blocks.Take(size_bytes);
  EXPECT_NE(block.memory, nullptr);
  EXPECT_GE(block.size_bytes, size_bytes);
  std::memset(block.memory, 1, size_bytes);
  return block;
}

TEST(KeptBlocksTest, TheNextOfAboutItsSizeHasItAgain) {
  KeptBlocks blocks;
  const KeptBlocks::Block first = Taken(blocks, 5 * kMiB);
  blocks.GiveBack(first);
  EXPECT_EQ(blocks.kept_bytes(), first.size_bytes);
  // A little longer, as the keys of a decoder's next word.
  const KeptBlocks::Block next = Taken(blocks, first.size_bytes - 100);
  EXPECT_EQ(next.memory, first.memory);
  EXPECT_EQ(blocks.kept_bytes(), 0u);
  const KeptBlocks::Block other = Taken(blocks, 5 * kMiB);
  EXPECT_NE(other.memory, next.memory);
  blocks.GiveBack(next);
  blocks.GiveBack(other);
}

TEST(KeptBlocksTest, NoMoreIsHeldThanArraysTookAtOneTime) {
  KeptBlocks blocks;
  std::vector<KeptBlocks::Block> live;
  for (int i = 0; i < 4; ++i) live.push_back(Taken(blocks, kMiB));
  const size_t most = 4 * live[0].size_bytes;
  for (const KeptBlocks::Block& each : live) blocks.GiveBack(each);
  EXPECT_EQ(blocks.kept_bytes(), most);
  // Longer ones each time: what is too short for them goes.
  for (size_t size_bytes = kMiB; size_bytes < 4 * kMiB; size_bytes += kMiB / 4) {
    const KeptBlocks::Block block = Taken(blocks, size_bytes);
    blocks.GiveBack(block);
    EXPECT_LE(blocks.kept_bytes(), most);
  }
}

TEST(KeptBlocksTest, SmallOnesAreMallocs) {
  KeptBlocks blocks;
  const KeptBlocks::Block block = Taken(blocks, 1000);
  EXPECT_EQ(block.size_bytes, 1000u);
  blocks.GiveBack(block);
  EXPECT_EQ(blocks.kept_bytes(), 0u);
}

}  // namespace
}  // namespace burnish
