#include "proto/calibrated.h"

#include "compiler/target/test_device_models.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::IsEmpty;

CalibrationRow Row() {
  return {.threads = 2,
          .clock_ghz = 2.5,
          .units = {{"fma_f32x16", 160, 120}, {"amx_bf16", 2560, 2816}},
          .levels = {{"L1", 300, 600, 2},
                     {"L2", 125, 250, 6},
                     {"L3", 25, 40, 80},
                     {"memory", 10, 15, 300}},
          .barrier_ns = 40,
          .peer_latency_ns = 80,
          .peer_gb_per_s = 5};
}

TEST(CalibratedTest, RatesOfTheRowReplaceThoseOfTheTable) {
  const DeviceModel model = Calibrated(AmxDevice(), Row());
  EXPECT_THAT(BrokenRules(model), IsEmpty());
  EXPECT_EQ(model.cycles_per_second, 2.5e9);
  EXPECT_EQ(model.FindUnit("fma_f32x16")->per_cycle, 2);
  EXPECT_EQ(model.FindUnit("fma_f32x16")->per_cycle_with_loads, 1.5);
  EXPECT_EQ(model.FindUnit("amx_bf16")->per_cycle, 1.0 / 16);
  EXPECT_EQ(model.FindUnit("amx_bf16")->per_cycle_with_loads, 1.0 / 16);  // No faster with loads.
  EXPECT_EQ(model.FindLevel("L2")->BytesPerCycle(2), 50);                 // Each core has its own.
  EXPECT_EQ(model.FindLevel("L3")->BytesPerCycle(1), 10);
  EXPECT_EQ(model.FindLevel("L3")->BytesPerCycle(2), 8);
  EXPECT_EQ(model.FindLevel("memory")->latency_cycles, 750);
  EXPECT_EQ(model.FindAxis(Axis::kWorker)->barrier_cycles, 100);
  EXPECT_EQ(model.FindAxis(Axis::kWorker)->peer_latency_cycles, 200);
  EXPECT_EQ(model.FindAxis(Axis::kWorker)->peer_bytes_per_cycle, 2);
}

TEST(CalibratedTest, WhatTheRowDoesNotKnowStays) {
  const DeviceModel table = AmxDevice();
  CalibrationRow row = Row();
  row.threads = 1;
  row.barrier_ns = row.peer_latency_ns = row.peer_gb_per_s = 0;
  row.levels.pop_back();
  const DeviceModel model = Calibrated(table, row);
  EXPECT_EQ(model.FindUnit("vnni_u8s8x16")->per_cycle, 2);
  EXPECT_EQ(model.FindUnit("fma_f32x16")->latency_cycles, 4);
  EXPECT_EQ(model.FindLevel("memory")->bytes_per_cycle_shared,
            table.FindLevel("memory")->bytes_per_cycle_shared);
  EXPECT_EQ(model.FindAxis(Axis::kWorker)->barrier_cycles,
            table.FindAxis(Axis::kWorker)->barrier_cycles);
  EXPECT_EQ(model.core, table.core);
}

}  // namespace
}  // namespace burnish
