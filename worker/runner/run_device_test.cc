#include "worker/runner/run_device.h"

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two cores with two threads each.
CpuInfo Host() { return {.cores = {{0, 2}, {1, 3}}}; }

TEST(RunDeviceTest, OneCpuOfEachCoreComesFirst) {
  ASSERT_OK_AND_ASSIGN(const RunDevice all, ParseRunDevice("cpu", Host()));
  EXPECT_THAT(all.cpus, ElementsAre(0, 1, 2, 3));
  ASSERT_OK_AND_ASSIGN(const RunDevice some, ParseRunDevice("cpu:1-3", Host()));
  EXPECT_THAT(some.cpus, ElementsAre(1, 2, 3));
  EXPECT_EQ(some.name, "cpu:1-3");
}

TEST(RunDeviceTest, SiblingsAreTheOtherThreadsOfTheUsedCores) {
  ASSERT_OK_AND_ASSIGN(const RunDevice all, ParseRunDevice("cpu", Host()));
  EXPECT_THAT(CpusFor(all, Host(), 1).cpus, ElementsAre(0));
  EXPECT_THAT(CpusFor(all, Host(), 1).siblings, ElementsAre(2));
  EXPECT_THAT(CpusFor(all, Host(), 2).siblings, ElementsAre(2, 3));
  EXPECT_THAT(CpusFor(all, Host(), 4).siblings, IsEmpty());
}

TEST(RunDeviceTest, DevicesThatAreNotHereAreRefusedWithAHint) {
  EXPECT_THAT(ParseRunDevice("cuda:0", Host()),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("--run cpu")));
  EXPECT_THAT(ParseRunDevice("opencl:0", Host()), StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(ParseRunDevice("cpu:7", Host()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("CPU 7")));
  EXPECT_THAT(ParseRunDevice("cpu:x", Host()), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseRunDevice("gpu", Host()), StatusIs(absl::StatusCode::kInvalidArgument));
}

constexpr int64_t kMiB = 1 << 20;

CpuInfo WithCaches(int64_t l2_bytes, int64_t l3_bytes) {
  CpuInfo host = Host();
  host.caches = {{.level = 1, .size_bytes = 32 << 10}};
  if (l2_bytes > 0) host.caches.push_back({.level = 2, .size_bytes = l2_bytes});
  if (l3_bytes > 0) host.caches.push_back({.level = 3, .size_bytes = l3_bytes});
  return host;
}

TEST(RunDeviceTest, ConstantsOfAModelThatTheLastCacheHoldsAreTimedFromThere) {
  const CpuInfo server = WithCaches(2 * kMiB, 480 * kMiB);
  // All of ResNet-50's: as far apart as in the model.
  EXPECT_EQ(ColdArenaBytes(server, 2, 102 * kMiB), 102 * kMiB);
  EXPECT_EQ(ColdArenaBytes(server, 2, 360 * kMiB), 360 * kMiB);
  // Of one operator: past the L2 of each core that reads them.
  EXPECT_EQ(ColdArenaBytes(server, 1, 1000), 4 * kMiB);
  EXPECT_EQ(ColdArenaBytes(server, 16, 1000), 64 * kMiB);
  // More cores than that leave the L3 for their constants: as much of it as there is.
  EXPECT_EQ(ColdArenaBytes(server, 128, 1000), 360 * kMiB);
  // Without an L3 the L2 is the last.
  EXPECT_EQ(ColdArenaBytes(WithCaches(2 * kMiB, 0), 1, kMiB), kMiB);
}

TEST(RunDeviceTest, ConstantsOfALargerModelAreTimedFromMemory) {
  const CpuInfo server = WithCaches(2 * kMiB, 480 * kMiB);
  EXPECT_EQ(ColdArenaBytes(server, 2, 361 * kMiB), 600 * kMiB);
  EXPECT_EQ(ColdArenaBytes(server, 2, 700 * kMiB), 700 * kMiB);
  EXPECT_EQ(ColdArenaBytes(server, 2, 5000 * kMiB), 960 * kMiB);
  const CpuInfo desktop = WithCaches(kMiB, 32 * kMiB);
  EXPECT_EQ(ColdArenaBytes(desktop, 2, 102 * kMiB), 64 * kMiB);
}

TEST(RunDeviceTest, ColdArenaOfAnUnknownModelIsTwiceTheLargestCacheWithinBounds) {
  EXPECT_EQ(ColdArenaBytes(CpuInfo(), 1, 0), 8 * kMiB);
  EXPECT_EQ(ColdArenaBytes(CpuInfo(), 1, 100), 8 * kMiB);
  EXPECT_EQ(ColdArenaBytes(WithCaches(0, 32 * kMiB), 2, 0), 64 * kMiB);
  EXPECT_EQ(ColdArenaBytes(WithCaches(0, 2000 * kMiB), 2, 0), 1024 * kMiB);
}

TEST(RunDeviceTest, HostEnvironmentNamesKernelAndCpu) {
  const CpuInfo host = HostCpuInfo();
  const Environment environment = HostEnvironment(host);
  EXPECT_NE(environment.kernel_release, "");
  EXPECT_EQ(environment.cpu_model, host.brand);
}

}  // namespace
}  // namespace burnish
