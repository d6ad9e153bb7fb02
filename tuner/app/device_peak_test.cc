#include "tuner/app/device_peak.h"

#include "base/status_matchers.h"
#include "gtest/gtest.h"
#include "proto/target.h"

namespace burnish {
namespace {

DeviceModel Measured() {
  const auto target = ParseTarget("cpu:arch=znver3,threads=4");
  EXPECT_THAT(target, IsOk());
  return DeviceModelOf(*target,
                       CalibrationRow{.threads = 4,
                                      .clock_ghz = 3,
                                      .units = {{"fma_f32x8", 96, 90}, {"fma_f64x4", 48, 40}},
                                      .levels = {{"memory", 12, 20, 90}}});
}

TEST(DevicePeakTest, RatesAreTheRowsByTypeAndLoads) {
  const DeviceModel device = Measured();
  EXPECT_NEAR(PeakFlops(device, NumberType::kF32, 1, /*loads_per_operation=*/0), 96e9, 1);
  EXPECT_NEAR(PeakFlops(device, NumberType::kF32, 4, /*loads_per_operation=*/1), 360e9, 1);
  EXPECT_NEAR(PeakFlops(device, NumberType::kF64, 2, /*loads_per_operation=*/1), 80e9, 1);
  EXPECT_EQ(PeakFlops(device, NumberType::kF16, 2, /*loads_per_operation=*/1), 0);
}

TEST(DevicePeakTest, MemoryIsSharedByAllThatRead) {
  EXPECT_NEAR(PeakReadBytes(Measured(), 1), 12e9, 1);
  EXPECT_NEAR(PeakReadBytes(Measured(), 4), 20e9, 1);
}

TEST(DevicePeakTest, SlowerOfComputeAndMemoryBinds) {
  const RooflineBound compute = Roofline(1e9, 1e9, 2000, 1000);
  EXPECT_EQ(compute.ns, 2000);
  EXPECT_FALSE(compute.by_memory);
  const RooflineBound memory = Roofline(1e9, 1e9, 2000, 4000);
  EXPECT_EQ(memory.ns, 4000);
  EXPECT_TRUE(memory.by_memory);
  EXPECT_EQ(Roofline(0, 0, 2000, 4000).ns, 0);
}

}  // namespace
}  // namespace burnish
