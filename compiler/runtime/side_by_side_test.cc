#include "compiler/runtime/side_by_side.h"

#include <vector>

#include "gtest/gtest.h"

namespace burnish {
namespace {

std::vector<std::vector<int>> CpusOf(const std::vector<ThreadPoolOptions>& pools) {
  std::vector<std::vector<int>> cpus;
  for (const ThreadPoolOptions& pool : pools) cpus.push_back(pool.cpus);
  return cpus;
}

TEST(ShareOutTest, EachPoolHasCpusOfItsOwnWhereThereAreEnough) {
  const auto pools = ShareOut({.pool_count = 2, .cpus = {4, 5, 6, 7, 9}}, {});
  EXPECT_EQ(CpusOf(pools), (std::vector<std::vector<int>>{{4, 5}, {6, 7}}));
  EXPECT_EQ(pools[1].thread_count, 2);
  EXPECT_EQ(pools[1].barrier_spin_ns, ThreadPoolOptions().barrier_spin_ns);
  EXPECT_EQ(CpusOf(ShareOut({.pool_count = 3, .thread_count = 1, .cpus = {0, 1, 2}}, {})),
            (std::vector<std::vector<int>>{{0}, {1}, {2}}));
}

TEST(ShareOutTest, WithFewerCpusNothingIsPinnedAndNothingSpins) {
  for (int threads : {2, 1024}) {
    const auto pools = ShareOut({.pool_count = 2, .thread_count = threads, .cpus = {0, 1, 2}}, {});
    ASSERT_EQ(pools.size(), 2u);
    for (const ThreadPoolOptions& pool : pools) {
      EXPECT_EQ(pool.thread_count, threads);
      EXPECT_TRUE(pool.cpus.empty());
      EXPECT_EQ(pool.barrier_spin_ns, 0);
      EXPECT_EQ(pool.idle_spin_ns, 0);
    }
  }
  const auto many = ShareOut({.pool_count = 5, .cpus = {0, 1}}, {});
  EXPECT_EQ(many[4].thread_count, 1);
}

TEST(ShareOutTest, CpusThatOthersShareAreNotPinnedTo) {
  const auto pools = ShareOut({.pool_count = 2, .cpus = {0, 1}, .may_pin = false}, {});
  EXPECT_EQ(pools[0].thread_count, 1);
  EXPECT_TRUE(pools[0].cpus.empty());
  EXPECT_NE(pools[0].barrier_spin_ns, 0);
}

}  // namespace
}  // namespace burnish
