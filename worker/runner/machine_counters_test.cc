#include "worker/runner/machine_counters.h"

#include <sys/mman.h>

#include "gtest/gtest.h"

namespace burnish {
namespace {

constexpr char kProcStat[] =
    "cpu  10 0 20 30 0 0 0 77 0 0\n"
    "cpu0 1 0 2 3 0 0 0 40 0 0\n"
    "cpu1 1 0 2 3 0 0 0 30 0 0\n"
    "cpu10 1 0 2 3 0 0 0 7 0 0\n"
    "intr 1 2 3 4 5 6 7 8 9\n";

TEST(MachineCountersTest, StealIsThatOfTheGivenCpus) {
  EXPECT_EQ(StealTicks(kProcStat, {1}), 30);
  EXPECT_EQ(StealTicks(kProcStat, {0, 10}), 47);
  EXPECT_EQ(StealTicks(kProcStat, {}), 77);
  EXPECT_EQ(StealTicks("", {0}), 0);
}

TEST(MachineCountersTest, HugePagesOfAllKindsAreAdded) {
  EXPECT_EQ(HugePageBytesOf("Rss: 9 kB\nAnonHugePages:    2048 kB\nShmemPmdMapped:   4096 kB\n"),
            6144 * 1024);
  EXPECT_EQ(HugePageBytesOf(""), 0);
}

TEST(MachineCountersTest, FaultsOfThisProcessAreCounted) {
  const MachineFiles files({});
  const MachineCounters before = files.Read();
  constexpr size_t kPages = 50;
  void* const memory =
      mmap(nullptr, kPages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(madvise(memory, kPages * 4096, MADV_NOHUGEPAGE), 0);
  for (size_t i = 0; i < kPages; ++i) static_cast<volatile char*>(memory)[i * 4096] = 1;
  const MachineCounters after = files.Read();
  munmap(memory, kPages * 4096);
  EXPECT_GE(after.page_fault_count - before.page_fault_count, static_cast<int64_t>(kPages));
  EXPECT_GE(after.steal_ns, before.steal_ns);
}

}  // namespace
}  // namespace burnish
