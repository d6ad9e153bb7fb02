#include "tuner/app/device_peak.h"

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "compiler/ir/parser.h"
#include "compiler/target/target.h"
#include "gtest/gtest.h"
#include "proto/calibrated.h"

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

// A workload of bfloat16 may be done on tiles, at many times the rate of f32.
TEST(DevicePeakTest, WorkloadsPeakIsThatOfItsFastestUnit) {
  ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget("cpu:arch=sapphirerapids,threads=2"));
  const DeviceModel device =
      DeviceModelOf(target, CalibrationRow{.threads = 2,
                                           .clock_ghz = 3,
                                           .units = {{"fma_f32x16", 200, 150},
                                                     {"dot_bf16x16", 100, 100},
                                                     {"amx_bf16", 3000, 2500},
                                                     {"amx_u8s8", 6000, 5000}},
                                           .levels = {{"memory", 12, 20, 90}}});
  const auto peak = [&](const std::string& left, const std::string& right) {
    const auto program = ParseProgram(absl::StrCat(
        "program/1 dot input X: ", left, "[4, 8] const W: ", right,
        "[8, 8] output Y: f32[4, 8] block Y(m in 4, n in 8; k in 8) { step Y[m, n] += f32(X[m, k])"
        " * f32(W[n, k]) }"));
    EXPECT_THAT(program, IsOk());
    return PeakFlops(device, *program, 2, /*loads_per_operation=*/0);
  };
  EXPECT_NEAR(peak("bf16", "bf16"), 6000e9, 1);
  EXPECT_NEAR(peak("f32", "f32"), 400e9, 1);
  EXPECT_NEAR(peak("u8", "i8"), 12000e9, 1);
}

// A sum of bytes is i32 or leaves as floats: what was read says which unit it may have had.
TEST(DevicePeakTest, TypeThatIsReadHasItsFastestUnitOrThatOfF32) {
  ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget("cpu:arch=sapphirerapids,threads=2"));
  const auto peak = [&](const CalibrationRow& row, NumberType type) {
    return PeakFlopsReading(DeviceModelOf(target, row), type, 1, /*loads_per_operation=*/1) * 1e-9;
  };
  CalibrationRow row{.threads = 2,
                     .clock_ghz = 3,
                     .units = {{"fma_f32x16", 200, 150},
                               {"fma_f64x8", 100, 75},
                               {"fma_f16x32", 400, 300},
                               {"dot_bf16x16", 100, 100},
                               {"amx_bf16", 3000, 2500},
                               {"vnni_u8s8x16", 800, 700},
                               {"amx_u8s8", 6000, 5000}},
                     .levels = {{"memory", 12, 20, 90}}};
  EXPECT_NEAR(peak(row, NumberType::kF32), 150, 1e-3);
  EXPECT_NEAR(peak(row, NumberType::kF64), 75, 1e-3);
  EXPECT_NEAR(peak(row, NumberType::kF16), 150, 1e-3) << "by f32";
  EXPECT_NEAR(peak(row, NumberType::kBf16), 2500, 1e-3);
  EXPECT_NEAR(peak(row, NumberType::kU8), 5000, 1e-3);
  EXPECT_NEAR(peak(row, NumberType::kI8), 5000, 1e-3);
  EXPECT_EQ(peak(row, NumberType::kI32), 0);
  // Where products of bf16 are slower than those of f32 that they may be widened to.
  row.units[4] = {"amx_bf16", 120, 110};
  EXPECT_NEAR(peak(row, NumberType::kBf16), 150, 1e-3);
}

TEST(DevicePeakTest, TracesNameTheirUnit) {
  ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget("cpu:arch=sapphirerapids,threads=2"));
  const DeviceModel device = DeviceModelOf(target);
  EXPECT_EQ(UnitOfTrace(device, "unroll@1 a\ntensorize@1 m intrinsic=amx_bf16\n").name, "amx_bf16");
  EXPECT_EQ(UnitOfTrace(device, "unroll@1 a\n").name, "fma_f32x16");
  EXPECT_EQ(UnitOfTrace(device, "tensorize@1 m intrinsic=of_elsewhere\n").name, "fma_f32x16");
  EXPECT_EQ(UnitOfTrace(device, "no trace").name, "fma_f32x16");
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
