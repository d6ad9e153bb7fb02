#include "worker/calibrate/memory_loops.h"

#include <set>
#include <vector>

#include "base/cpu_info.h"
#include "compiler/runtime/guarded_buffer.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

GuardedBuffer Buffer(uint64_t size_bytes) {
  auto buffer = GuardedBuffer::Allocate({.size_bytes = size_bytes, .alignment_bytes = 64});
  EXPECT_TRUE(buffer.ok());
  return *std::move(buffer);
}

const void* NextOf(const void* at) { return *static_cast<void* const*>(at); }

// A page without access follows the buffer: a read beyond it would end the test.
TEST(MemoryLoopsTest, ReadsNothingBeyondTheBytes) {
  const CpuInfo cpu = HostCpuInfo();
  std::vector<int> widths = {16};
  if (cpu.Has("avx")) widths.push_back(32);
  if (cpu.Has("avx512f")) widths.push_back(64);
  for (const int64_t granules : {1, 3, 64}) {
    const GuardedBuffer buffer = Buffer(granules * kReadGranuleBytes);
    for (const int width : widths) {
      ReadAll(buffer.bytes(), width, 1);
      ReadAll(buffer.bytes(), width, 3);
    }
  }
}

TEST(MemoryLoopsTest, LinksGoOnceAroundAllPlaces) {
  for (const int64_t stride : {kLineBytes, 4 * kLineBytes}) {
    const GuardedBuffer buffer = Buffer(1000 * stride);
    LinkLines(buffer.bytes(), stride, /*seed=*/1);
    std::set<const void*> seen;
    const void* at = buffer.bytes().data();
    for (int i = 0; i < 1000; ++i) {
      EXPECT_TRUE(seen.insert(at).second) << "step " << i;
      EXPECT_EQ((static_cast<const uint8_t*>(at) - buffer.bytes().data()) % stride, 0);
      at = NextOf(at);
    }
    EXPECT_EQ(at, buffer.bytes().data());
  }
}

TEST(MemoryLoopsTest, FollowingGoesAsFarAsItSays) {
  const GuardedBuffer buffer = Buffer(100 * kLineBytes);
  LinkLines(buffer.bytes(), kLineBytes, /*seed=*/2);
  const void* const start = buffer.bytes().data();
  EXPECT_EQ(FollowLinks(start, 0), start);
  EXPECT_EQ(FollowLinks(start, 2), NextOf(NextOf(start)));
  EXPECT_EQ(FollowLinks(start, 100), start);
}

TEST(MemoryLoopsTest, OnePlaceLinksToItself) {
  const GuardedBuffer buffer = Buffer(kLineBytes);
  LinkLines(buffer.bytes(), kLineBytes, /*seed=*/3);
  EXPECT_EQ(FollowLinks(buffer.bytes().data(), 5), buffer.bytes().data());
}

TEST(MemoryLoopsTest, NeighboursInMemoryAreNotNeighboursInTheChain) {
  const GuardedBuffer buffer = Buffer(1000 * kLineBytes);
  LinkLines(buffer.bytes(), kLineBytes, /*seed=*/4);
  int neighbours = 0;
  for (int64_t i = 0; i + 1 < 1000; ++i) {
    const uint8_t* const at = buffer.bytes().data() + i * kLineBytes;
    neighbours += NextOf(at) == at + kLineBytes;
  }
  EXPECT_LT(neighbours, 10);  // One in a thousand is to be expected.
}

}  // namespace
}  // namespace burnish
