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

TEST(RunDeviceTest, ColdArenaIsTwiceTheLargestCacheWithinBounds) {
  CpuInfo host;
  EXPECT_EQ(ColdArenaBytes(host), 8 << 20);
  host.caches = {{.level = 1, .size_bytes = 32 << 10}, {.level = 3, .size_bytes = 32 << 20}};
  EXPECT_EQ(ColdArenaBytes(host), 64 << 20);
}

TEST(RunDeviceTest, HostEnvironmentNamesKernelAndCpu) {
  const CpuInfo host = HostCpuInfo();
  const Environment environment = HostEnvironment(host);
  EXPECT_NE(environment.kernel_release, "");
  EXPECT_EQ(environment.cpu_model, host.brand);
}

}  // namespace
}  // namespace burnish
