#include "tuner/cli/calibration_text.h"

#include <nlohmann/json.hpp>

#include "base/status_matchers.h"
#include "compiler/target/target.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

CalibrationRow Row() {
  return {.machine = "m",
          .boot_id = "b",
          .measured_at_ns = 1'800'000'000'000'000'000,
          .threads = 2,
          .clock_ghz = 3.2,
          .units = {{"fma_f32x8", 100, 90}, {"vnni_u8s8x8", 410, 400}},
          .levels = {{"L2", 100, 210, 5.3}, {"memory", 12, 19, 90}},
          .barrier_ns = 47,
          .peer_latency_ns = 40,
          .peer_gb_per_s = 38};
}

DeviceModel Table() {
  const auto target = ParseTarget("cpu:arch=znver3,threads=2");
  EXPECT_THAT(target, IsOk());
  return DeviceModelOf(*target);
}

TEST(CalibrationTextTest, LineSaysClockPeakAndMemoryOfAllCores) {
  EXPECT_EQ(CalibrationLine(Row()),
            "3.2 GHz, 180 GOP/s of fma_f32x8, memory 19 GB/s, measured 2027-01-15 08:00:00");
}

// Two multiply-adds of eight floats at 3.2 GHz are 102.4 GOP/s; a Zen 3 has no VNNI.
TEST(CalibrationTextTest, TablesPutTheMicroarchitecturesFiguresBesideTheRows) {
  EXPECT_EQ(CalibrationText(Row(), Table()),
            R"(unit, one core  GOP/s  table   off  with loads  table    off
fma_f32x8         100    102  -2 %          90    102  -12 %
vnni_u8s8x8       410      -     -         400      -      -

level   GB/s, one core  table    off  all cores  table    off  latency ns  table    off
L2                 100    102   -2 %        210    205   +3 %         5.3    5.3   -0 %
memory              12     26  -53 %         19     38  -51 %          90    184  -51 %

machine                 measured  table   off
clock GHz                    3.2    3.2  +0 %
barrier ns                    47     47  +0 %
other core's data ns          40     40  +0 %
other core's data GB/s        38     38  -1 %
)");
}

TEST(CalibrationTextTest, OneCoreHasNobodyToExchangeWith) {
  CalibrationRow row = Row();
  row.threads = 1;
  EXPECT_THAT(CalibrationText(row, Table()), ::testing::Not(::testing::HasSubstr("barrier")));
}

TEST(CalibrationTextTest, JsonHasEveryFigure) {
  const nlohmann::ordered_json json = CalibrationJson(Row());
  EXPECT_EQ(json["clock_ghz"], 3.2);
  EXPECT_EQ(json["units"][1]["gops_with_loads"], 400);
  EXPECT_EQ(json["levels"][1]["gb_per_s_all_cores"], 19);
  EXPECT_EQ(json["peer_gb_per_s"], 38);
  EXPECT_EQ(json["measured_ns"], 1'800'000'000'000'000'000);
}

}  // namespace
}  // namespace burnish
