#include "base/memory_limit.h"

#include <unistd.h>

#include <limits>

#include "base/fake_root.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

using MemoryLimitTest = FakeRootTest;

TEST_F(MemoryLimitTest, NothingSaysNothing) {
  EXPECT_EQ(MemoryLimit(root_), kNone);
  Write("/proc/self/cgroup", "0::/a/b\n");
  EXPECT_EQ(MemoryLimit(root_), kNone);
}

TEST_F(MemoryLimitTest, Version2TakesTheLeastOfAllLevels) {
  Write("/proc/self/cgroup", "0::/pod/app/worker\n");
  Write("/sys/fs/cgroup/pod/app/worker/memory.max", "max\n");
  EXPECT_EQ(MemoryLimit(root_), kNone);
  Write("/sys/fs/cgroup/pod/app/memory.max", "2147483648\n");
  EXPECT_EQ(MemoryLimit(root_), 2147483648.0);
  Write("/sys/fs/cgroup/pod/memory.max", "4294967296\n");
  EXPECT_EQ(MemoryLimit(root_), 2147483648.0);
  Write("/sys/fs/cgroup/pod/app/worker/memory.max", "1048576\n");
  EXPECT_EQ(MemoryLimit(root_), 1048576.0);
}

TEST_F(MemoryLimitTest, AContainerSeesItsOwnMountOnly) {
  Write("/proc/self/cgroup", "0::/kubepods/pod7/container3\n");
  Write("/sys/fs/cgroup/memory.max", "2000000\n");
  EXPECT_EQ(MemoryLimit(root_), 2000000);
}

TEST_F(MemoryLimitTest, Version1TakesTheLeastOfAllLevels) {
  Write("/proc/self/cgroup", "5:memory:/app/worker\n3:cpuset:/app\n2:cpu,cpuacct:/app\n0::/\n");
  Write("/sys/fs/cgroup/memory/app/worker/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_GE(MemoryLimit(root_), 9e18);
  Write("/sys/fs/cgroup/memory/app/memory.limit_in_bytes", "3000000\n");
  EXPECT_EQ(MemoryLimit(root_), 3000000);
  // Of another controller's hierarchy, and of the limit that is on top of it.
  Write("/sys/fs/cgroup/cpu/app/memory.limit_in_bytes", "1\n");
  Write("/sys/fs/cgroup/memory/app/memory.memsw.limit_in_bytes", "1\n");
  EXPECT_EQ(MemoryLimit(root_), 3000000);
}

TEST_F(MemoryLimitTest, WhatIsNoNumberIsNoLimit) {
  Write("/proc/self/cgroup", "nonsense\n0::/a\n");
  for (const char* text : {"", "many\n", "-1\n", "0\n"}) {
    Write("/sys/fs/cgroup/a/memory.max", text);
    EXPECT_EQ(MemoryLimit(root_), kNone) << text;
  }
}

TEST_F(MemoryLimitTest, UsableIsNoMoreThanTheMachineHas) {
  EXPECT_GT(UsableMemoryBytes(), 0);
  EXPECT_LE(UsableMemoryBytes(), int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE));
}

}  // namespace
}  // namespace burnish
