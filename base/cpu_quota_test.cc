#include "base/cpu_quota.h"

#include <limits>
#include <string>

#include "base/fake_root.h"
#include "base/usable_cpus.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

using CpuQuotaTest = FakeRootTest;

TEST_F(CpuQuotaTest, NothingSaysNothing) {
  EXPECT_EQ(CpuQuota(root_), kNone);
  Write("/proc/self/cgroup", "0::/a/b\n");
  EXPECT_EQ(CpuQuota(root_), kNone);
}

TEST_F(CpuQuotaTest, Version2TakesTheLeastOfAllLevels) {
  Write("/proc/self/cgroup", "0::/pod/app/worker\n");
  Write("/sys/fs/cgroup/pod/app/worker/cpu.max", "max 100000\n");
  EXPECT_EQ(CpuQuota(root_), kNone);
  Write("/sys/fs/cgroup/pod/app/cpu.max", "150000 100000\n");
  EXPECT_EQ(CpuQuota(root_), 1.5);
  Write("/sys/fs/cgroup/pod/cpu.max", "400000 100000\n");
  EXPECT_EQ(CpuQuota(root_), 1.5);
  Write("/sys/fs/cgroup/pod/app/worker/cpu.max", "5000 10000\n");
  EXPECT_EQ(CpuQuota(root_), 0.5);
}

TEST_F(CpuQuotaTest, AContainerSeesItsOwnMountOnly) {
  Write("/proc/self/cgroup", "0::/kubepods/pod7/container3\n");
  Write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(CpuQuota(root_), 2);
}

TEST_F(CpuQuotaTest, Version1) {
  Write("/proc/self/cgroup", "5:memory:/app\n3:cpuset:/app\n2:cpu,cpuacct:/app\n0::/\n");
  Write("/sys/fs/cgroup/cpu/app/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu/app/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CpuQuota(root_), kNone);
  Write("/sys/fs/cgroup/cpu/app/cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(CpuQuota(root_), 2.5);
  // Of cpuset and others: not a quota of the CPU.
  Write("/sys/fs/cgroup/cpuset/app/cpu.cfs_quota_us", "1000\n");
  EXPECT_EQ(CpuQuota(root_), 2.5);
}

TEST_F(CpuQuotaTest, Version1TakesTheLeastOfAllLevels) {
  Write("/proc/self/cgroup", "3:cpu,cpuacct:/pod/app/worker\n");
  const auto limit = [this](const std::string& group, const char* quota_us) {
    Write("/sys/fs/cgroup/cpu" + group + "/cpu.cfs_quota_us", quota_us);
    Write("/sys/fs/cgroup/cpu" + group + "/cpu.cfs_period_us", "100000\n");
  };
  limit("/pod/app/worker", "-1\n");
  limit("/pod/app", "50000\n");
  limit("/pod", "300000\n");
  EXPECT_EQ(CpuQuota(root_), 0.5);
  limit("/pod", "25000\n");
  EXPECT_EQ(CpuQuota(root_), 0.25);
}

TEST_F(CpuQuotaTest, WhatIsNoNumberIsNoLimit) {
  for (const char* text : {"", "x y", "0 100000", "100000 0", "-5 100000", "100000"}) {
    Write("/proc/self/cgroup", "0::/\nbroken\n:\n1:cpu\n");
    Write("/sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(CpuQuota(root_), kNone) << text;
  }
}

TEST(ThreadsOfQuotaTest, WholeCpusOnlyAndAtLeastOne) {
  EXPECT_EQ(WholeCpus(8, kNone), 8);
  EXPECT_EQ(WholeCpus(8, 2), 2);
  EXPECT_EQ(WholeCpus(8, 2.99), 2);
  EXPECT_EQ(WholeCpus(8, 0.5), 1);
  EXPECT_EQ(WholeCpus(2, 16), 2);
  EXPECT_EQ(WholeCpus(0, kNone), 1);
}

}  // namespace
}  // namespace burnish
