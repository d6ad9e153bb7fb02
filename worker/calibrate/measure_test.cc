#include <memory>
#include <string>
#include <vector>

#include "base/cpu_info.h"
#include "compiler/runtime/thread_pool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/calibrate/measure_exchange.h"
#include "worker/calibrate/measure_levels.h"
#include "worker/calibrate/measure_units.h"
#include "worker/calibrate/memory_loops.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kKiB = 1 << 10, kMiB = 1 << 20, kGiB = 1 << 30;

CpuInfo Server(int64_t l2_bytes, int64_t l3_bytes) {
  return {.caches = {{.level = 1, .size_bytes = 48 * kKiB},
                     {.level = 2, .size_bytes = l2_bytes},
                     {.level = 3, .size_bytes = l3_bytes}}};
}

std::vector<std::string> NamesOf(const std::vector<LevelPlan>& plans) {
  std::vector<std::string> names;
  for (const LevelPlan& plan : plans) names.push_back(plan.name);
  return names;
}

TEST(PlanLevelsTest, EachLevelIsReadInHalfOfItAndMemoryBeyondAllCaches) {
  const auto plans = PlanLevels(Server(1 * kMiB, 32 * kMiB), 2, 2, kGiB);
  ASSERT_THAT(NamesOf(plans), ElementsAre("L1", "L2", "L3", "memory"));
  EXPECT_EQ(plans[0].bytes_each, 24 * kKiB);
  EXPECT_EQ(plans[1].bytes_each, 512 * kKiB);
  EXPECT_EQ(plans[2].bytes_each, 8 * kMiB);  // Eight L2, and no more than half of a thread's share.
  EXPECT_EQ(plans[2].bytes_alone, 8 * kMiB);
  EXPECT_EQ(plans[2].window_bytes, 0);
  EXPECT_EQ(plans[3].bytes_alone, 128 * kMiB);  // Four L3.
  EXPECT_EQ(plans[3].bytes_each, 64 * kMiB);
  EXPECT_GT(plans[3].window_bytes, 0);
}

TEST(PlanLevelsTest, LevelThatIsNotThereOrTooSmallForItsThreadsIsLeftOut) {
  EXPECT_THAT(NamesOf(PlanLevels(Server(1 * kMiB, 0), 2, 2, kGiB)),
              ElementsAre("L1", "L2", "memory"));
  // 1.5 MiB of L3 a core beside 2 MiB of L2.
  EXPECT_THAT(NamesOf(PlanLevels(Server(2 * kMiB, 96 * kMiB), 64, 64, kGiB)),
              ElementsAre("L1", "L2", "memory"));
  EXPECT_THAT(NamesOf(PlanLevels(CpuInfo(), 1, 1, kGiB)), ElementsAre("memory"));
}

TEST(PlanLevelsTest, MemoryOfAllThreadsStaysWithinItsBound) {
  for (const int threads : {1, 2, 16, 64}) {
    const auto plans = PlanLevels(Server(2 * kMiB, 480 * kMiB), threads, threads, kGiB);
    const LevelPlan& memory = plans.back();
    EXPECT_LE(memory.bytes_alone + memory.bytes_each * (threads - 1), kGiB) << threads;
    EXPECT_EQ(memory.bytes_each % memory.window_bytes, 0);
    EXPECT_GE(memory.bytes_alone, memory.bytes_each);
  }
}

TEST(PlanLevelsTest, WhatIsReadIsWholeGranules) {
  for (const LevelPlan& plan : PlanLevels(Server(1280 * kKiB + 64, 36 * kMiB + 64), 3, 3, kGiB)) {
    EXPECT_EQ(plan.bytes_each % kReadGranuleBytes, 0) << plan.name;
    EXPECT_EQ(plan.bytes_alone % kReadGranuleBytes, 0) << plan.name;
    EXPECT_GT(plan.bytes_each, 0) << plan.name;
  }
}

TEST(UsableUnitLoopsTest, FusedUnitsReplaceMultiplyAndAddApart) {
  const auto names = [](const CpuInfo& cpu) {
    std::vector<std::string> units;
    for (const UnitLoop* loop : UsableUnitLoops(cpu)) units.emplace_back(loop->unit);
    return units;
  };
  EXPECT_THAT(names({.features = {"sse4.2"}}),
              ElementsAre("muladd_f32x4", "dot2_i8x4", "dot2_u8i8x4"));
  EXPECT_THAT(names({.features = {"avx", "sse4.2"}}),
              ElementsAre("muladd_f32x8", "muladd_f32x4", "dot2_i8x4", "dot2_u8i8x4"));
  EXPECT_THAT(names({.features = {"avx", "avx2", "avxvnni", "fma", "sse4.2"}}),
              ElementsAre("fma_f32x8", "fma_f32x4", "fma_f64x4", "vnni_u8s8x8", "vnni_u8s8x4",
                          "dot2_i8x8", "dot2_i8x4", "dot2_u8i8x8", "dot2_u8i8x4"));
}

// Not how fast this machine is: that everything comes to an end and says something, with one thread
// and with more threads than there are CPUs.
TEST(MeasureTest, EveryMeasurementGivesARate) {
  const CpuInfo cpu = HostCpuInfo();
  for (const int threads : {1, cpu.logical_cpu_count() + 1}) {
    auto pool = ThreadPool::Create({.thread_count = threads});
    ASSERT_TRUE(pool.ok());
    const UnitLoop* const loop = UsableUnitLoops(cpu).front();
    EXPECT_GT(MeasureClock(**pool, *loop), 0);
    const std::vector<UnitSpeed> units = MeasureUnits(**pool, {loop});
    ASSERT_EQ(units.size(), 1u);
    EXPECT_EQ(units[0].loop, loop);
    EXPECT_GT(units[0].gops_alone, 0);
    EXPECT_GT(units[0].gops_with_loads, 0);
    const std::vector<LevelPlan> plans = {
        {.name = "cache", .bytes_alone = 16 * kKiB, .bytes_each = 16 * kKiB},
        {.name = "memory",
         .bytes_alone = 2 * kMiB,
         .bytes_each = 1 * kMiB,
         .window_bytes = 512 * kKiB}};
    const auto levels = MeasureLevels(**pool, plans, 16);
    ASSERT_TRUE(levels.ok());
    ASSERT_EQ(levels->size(), 2u);
    for (const LevelSpeed& level : *levels) {
      EXPECT_GT(level.gb_per_s_alone, 0) << level.name;
      EXPECT_GT(level.gb_per_s_shared, 0) << level.name;
      EXPECT_GT(level.latency_ns, 0) << level.name;
    }
    if (threads == 1) continue;
    const auto exchange = MeasureExchange(**pool, 16 * kKiB, 16);
    ASSERT_TRUE(exchange.ok());
    EXPECT_GT(exchange->barrier_ns, 0);
    EXPECT_GT(exchange->peer_latency_ns, 0);
    EXPECT_GT(exchange->peer_gb_per_s, 0);
  }
}

}  // namespace
}  // namespace burnish
