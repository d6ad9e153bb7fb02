#include "worker/runner/cold_arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "worker/runner/machine_counters.h"

namespace burnish {
namespace {

// A file of `size_bytes` whose byte i is i modulo 251.
class ColdArenaTest : public ::testing::Test {
 protected:
  ~ColdArenaTest() override { close(file_); }

  void Fill(int64_t size_bytes) {
    std::vector<uint8_t> bytes(static_cast<size_t>(size_bytes));
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i % 251);
    ASSERT_EQ(write(file_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }

  void ExpectFilled(const ColdArena& arena, int64_t size_bytes) {
    ASSERT_EQ(static_cast<int64_t>(arena.bytes().size()), size_bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.bytes().data()) % (2 << 20), 0u);
    for (size_t i = 0; i < arena.bytes().size(); ++i) {
      ASSERT_EQ(arena.bytes()[i], i % 251) << i;
    }
  }

  const int file_ = memfd_create("arena", MFD_CLOEXEC);
};

TEST_F(ColdArenaTest, ShowsTheBeginningOfTheFile) {
  Fill(10'000'000);
  for (const int64_t size_bytes : {1, 4096, 5'000'000, 10'000'000}) {
    auto arena = ColdArena::Map(file_, size_bytes);
    ASSERT_TRUE(arena.ok()) << arena.status().message();
    ExpectFilled(*arena, size_bytes);
  }
  EXPECT_TRUE(ColdArena::Map(-1, 0)->bytes().empty());
  EXPECT_FALSE(ColdArena::Map(-1, 4096).ok());
}

TEST_F(ColdArenaTest, HugePagesHoldTheSameBytes) {
  constexpr int64_t kSize = (8 << 20) + 12345;
  Fill(kSize);
  ColdArena::UseHugePages(file_, kSize);
  ColdArena::UseHugePages(-1, kSize);  // Nothing to do.
  auto arena = ColdArena::Map(file_, kSize);
  ASSERT_TRUE(arena.ok());
  ExpectFilled(*arena, kSize);
  std::ifstream file("/proc/self/smaps_rollup");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (HugePageBytesOf(text) == 0) GTEST_SKIP() << "this kernel gives files no huge pages";
  EXPECT_GE(HugePageBytesOf(text), 6 << 20);
}

}  // namespace
}  // namespace burnish
