#include "proto/calibration_row.h"

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "base/cpu_info.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

CalibrationRow Row() {
  return {.machine = std::string(64, 'a'),
          .boot_id = "5c2b1d7e",
          .measured_at_ns = 1'763'800'000'000'000'000,
          .threads = 2,
          .clock_ghz = 3.1,
          .units = {{"fma_f32x16", 220, 180}, {"amx_bf16", 3200, 3200}},
          .levels = {{"L1", 320, 620, 1.6},
                     {"L2", 180, 350, 5.2},
                     {"L3", 30, 62, 70},
                     {"memory", 12, 22, 300}},
          .barrier_ns = 34,
          .peer_latency_ns = 40,
          .peer_gb_per_s = 33};
}

TEST(CalibrationRowTest, TextGivesTheRowBack) {
  EXPECT_THAT(ParseCalibrationRow(ToText(Row())), IsOkAndHolds(Row()));
  CalibrationRow alone = Row();
  alone.threads = 1;
  alone.barrier_ns = alone.peer_latency_ns = alone.peer_gb_per_s = 0;
  EXPECT_THAT(ParseCalibrationRow(ToText(alone)), IsOkAndHolds(alone));
}

TEST(CalibrationRowTest, RoundedRowHasTwoDigitsAndSurvivesItsText) {
  CalibrationRow row = Row();
  row.clock_ghz = 3.0999999;
  row.units[0].gops_alone = 217.4;
  row.levels[3].latency_ns = 304.49;
  row.barrier_ns = 0.28999;
  row.peer_latency_ns = 99.6;
  const CalibrationRow rounded = Rounded(row);
  EXPECT_EQ(rounded.clock_ghz, 3.1);
  EXPECT_EQ(rounded.units[0].gops_alone, 220);
  EXPECT_EQ(rounded.levels[3].latency_ns, 300);
  EXPECT_EQ(rounded.barrier_ns, 0.29);
  EXPECT_EQ(rounded.peer_latency_ns, 100);
  EXPECT_EQ(Rounded(rounded), rounded);
  EXPECT_THAT(ParseCalibrationRow(ToText(rounded)), IsOkAndHolds(rounded));
}

TEST(CalibrationRowTest, RowOfAnotherVersionIsToBeMeasuredAgain) {
  const std::string later =
      absl::StrReplaceAll(ToText(Row()), {{"version: 1", "version: 2 colour: \"red\""}});
  EXPECT_THAT(ParseCalibrationRow(later),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("got version 2, want 1")));
  EXPECT_THAT(ParseCalibrationRow("machine: \"x\""),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST(CalibrationRowTest, TextThatIsNoRowIsRefused) {
  for (const char* text : {"version: 1 {", "<html>", "version: many"}) {
    EXPECT_THAT(ParseCalibrationRow(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no row, line 1: ")))
        << text;
  }
}

TEST(CalibrationRowTest, WhatNoMachineCanBeIsRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<const char*, std::function<void(CalibrationRow&)>>> cases = {
      {"got 0 threads", [](auto& row) { row.threads = 0; }},
      {"got 1025 threads", [](auto& row) { row.threads = 1025; }},
      {"clock_ghz = 0", [](auto& row) { row.clock_ghz = 0; }},
      {"clock_ghz = nan", [nan](auto& row) { row.clock_ghz = nan; }},
      {"clock_ghz = 31", [](auto& row) { row.clock_ghz = 31; }},
      {"fma_f32x16 = inf", [](auto& row) { row.units[0].gops_alone = 1.0 / 0.0; }},
      {"fma_f32x16 with loads = 0", [](auto& row) { row.units[0].gops_with_loads = 0; }},
      {"fma_f32x16 is faster with loads", [](auto& row) { row.units[0].gops_with_loads = 280; }},
      {"the unit 'fma_f32x16' twice", [](auto& row) { row.units[1].unit = "fma_f32x16"; }},
      {"the level '' twice or without", [](auto& row) { row.levels[1].level = ""; }},
      {"L2 (420 GB/s) is faster than L1", [](auto& row) { row.levels[1].gb_per_s_alone = 420; }},
      {"memory (50 GB/s) is faster than L3", [](auto& row) { row.levels[3].gb_per_s_alone = 50; }},
      {"L2 (1.2 ns) answers before L1", [](auto& row) { row.levels[1].latency_ns = 1.2; }},
      {"L3 shared = 0", [](auto& row) { row.levels[2].gb_per_s_shared = 0; }},
      {"barrier_ns = 0", [](auto& row) { row.barrier_ns = 0; }},
      {"peer_latency_ns = -1", [](auto& row) { row.peer_latency_ns = -1; }},
      {"peer_gb_per_s = 0", [](auto& row) { row.peer_gb_per_s = 0; }},
  };
  for (const auto& [what, spoil] : cases) {
    CalibrationRow row = Row();
    spoil(row);
    EXPECT_THAT(CheckPlausible(row), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
    EXPECT_THAT(ParseCalibrationRow(ToText(row)), StatusIs(absl::StatusCode::kInvalidArgument));
  }
  EXPECT_THAT(CheckPlausible(Row()), IsOk());
}

TEST(CalibrationRowTest, NeighbouringLevelsMayBeALittleOutOfOrder) {
  CalibrationRow row = Row();
  row.levels[3].gb_per_s_alone = 36;  // Memory, 1.2 times as fast as L3.
  EXPECT_THAT(CheckPlausible(row), IsOk());
}

TEST(CalibrationRowTest, DriftIsTheGreatestDifferenceOfAllThatWasMeasured) {
  const CalibrationRow row = Row();
  EXPECT_EQ(Drift(row, row), 0);
  CalibrationRow other = row;
  other.boot_id = "another";
  other.measured_at_ns += 1;
  EXPECT_EQ(Drift(row, other), 0);
  other.clock_ghz = 3.0;
  EXPECT_DOUBLE_EQ(Drift(row, other), 0.1 / 3.1);
  other.levels[3].gb_per_s_shared = 11;
  EXPECT_DOUBLE_EQ(Drift(row, other), 0.5);
  EXPECT_DOUBLE_EQ(Drift(other, row), 0.5);
  EXPECT_LT(Drift(row,
                  [&] {
                    CalibrationRow near = row;
                    near.units[1].gops_alone = 2900;
                    return near;
                  }()),
            kDriftMax);
}

TEST(CalibrationRowTest, RowsThatMeasuredDifferentThingsHaveDriftedWholly) {
  CalibrationRow other = Row();
  other.units.pop_back();
  EXPECT_EQ(Drift(Row(), other), 1);
  other = Row();
  other.units[0].unit = "fma_f32x8";
  EXPECT_EQ(Drift(Row(), other), 1);
  other = Row();
  other.threads = 4;
  EXPECT_EQ(Drift(Row(), other), 1);
}

TEST(MachineIdentityTest, WhatChangesRatesChangesTheIdentity) {
  const CpuInfo info{.vendor = "GenuineIntel",
                     .brand = "some processor",
                     .family = 6,
                     .model = 0xad,
                     .features = {"avx2", "fma"},
                     .caches = {{.level = 3, .size_bytes = 32 << 20}},
                     .cores = {{0, 2}, {1, 3}}};
  const std::string identity = MachineIdentity(info, "host");
  EXPECT_EQ(identity.size(), 64u);
  EXPECT_EQ(MachineIdentity(info, "host"), identity);
  EXPECT_NE(MachineIdentity(info, "other"), identity);
  const std::vector<std::function<void(CpuInfo&)>> changes = {
      [](CpuInfo& other) { other.brand = "another processor"; },
      [](CpuInfo& other) { other.stepping = 1; },
      [](CpuInfo& other) { other.features.pop_back(); },
      [](CpuInfo& other) { other.caches[0].size_bytes *= 2; },
      [](CpuInfo& other) { other.cores.pop_back(); },
      [](CpuInfo& other) { other.cores = {{0}, {1}, {2}, {3}}; },
  };
  for (const auto& change : changes) {
    CpuInfo other = info;
    change(other);
    EXPECT_NE(MachineIdentity(other, "host"), identity);
  }
}

}  // namespace
}  // namespace burnish
