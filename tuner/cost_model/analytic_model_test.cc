#include "tuner/cost_model/analytic_model.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "base/file.h"
#include "base/golden.h"
#include "base/status_matchers.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/parser.h"
#include "compiler/schedule/test_programs.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_text.h"
#include "compiler/target/device_model.h"
#include "compiler/target/target.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

DeviceModel DeviceOf(const std::string& arch) {
  const auto target = ParseTarget("cpu:arch=" + arch);
  CHECK(target.ok());
  return DeviceModelOf(*target);
}

std::string TraceText(const std::string& name) {
  const auto text = ReadFile("compiler/schedule/testdata/" + name + ".trace", 1 << 16);
  CHECK(text.ok());
  return *text;
}

Program Lowered(const Program& program, const std::string& trace_text) {
  const auto trace = ParseTrace(trace_text);
  CHECK(trace.ok());
  const auto scheduled = ApplyTrace(*trace, program);
  CHECK(scheduled.ok()) << scheduled.status().message();
  const auto lowered = Lower(*scheduled);
  CHECK(lowered.ok());
  return *lowered;
}

TEST(AnalyticModelTest, SecondsOfTheHandWrittenTracesStayAsReviewed) {
  const TestConvShape conv3x3 = {1, 14, 14, 256, 256, 3, 1, 1};
  const std::vector<std::tuple<const char*, Program, const char*>> cases = {
      {"stem 7x7", ConvProgram({1, 224, 224, 3, 64, 7, 2, 3}), "stem7x7"},
      {"56 64-256 1x1", ConvProgram({1, 56, 56, 64, 256, 1, 1, 0, true}), "conv1x1_residual"},
      {"14 256-256 3x3", ConvProgram(conv3x3), "conv3x3_s1"},
      {"14 512-512 3x3 s2", ConvProgram({1, 14, 14, 512, 512, 3, 2, 1}), "conv3x3_s2_blocked"},
      {"dense", DenseProgram(1, 2048, 1000), "dense"},
      {"winograd tiles", WinogradProgram(conv3x3), "winograd_f4_tiles"},
      {"winograd channels", WinogradProgram(conv3x3), "winograd_f4_channels"},
  };
  std::string got;
  for (const auto& [name, program, trace] : cases) {
    const Program lowered = Lowered(program, TraceText(trace));
    for (const char* arch : {"znver3", "znver4"}) {
      for (int threads : {1, 2}) {
        absl::StrAppendFormat(&got, "%s, %s, %d threads: %.17g s\n", name, arch, threads,
                              AnalyticSeconds(lowered, DeviceOf(arch), threads));
      }
    }
  }
  EXPECT_TRUE(MatchesGolden("tuner/cost_model/testdata/analytic_model.txt", got));
}

TEST(AnalyticModelTest, PartsOfComputeAddUpToIt) {
  const DeviceModel device = DeviceOf("znver3");
  const Program conv =
      Lowered(ConvProgram({1, 14, 14, 256, 256, 3, 1, 1}), TraceText("conv3x3_s1"));
  const Program plain = Lowered(ConvProgram({1, 8, 8, 16, 16, 3, 1, 1}), "");
  for (const Program* program : {&conv, &plain}) {
    const std::vector<WalkNest> nests = WalkNests(*program, device.core, 2);
    const auto traffic = TrafficOf(*program, nests, device.core);
    for (size_t n = 0; n < nests.size(); ++n) {
      const auto parts = AnalyticComputeParts(nests[n], device);
      const NestCycles cycles = AnalyticNestCycles(nests[n], traffic[n], device);
      EXPECT_NEAR(std::accumulate(parts.begin(), parts.end(), 0.0), cycles.compute,
                  1e-9 * cycles.compute);
      EXPECT_LE(*std::max_element(cycles.fill.begin(), cycles.fill.end()), cycles.memory);
    }
  }
  // A register tile computes; sums that go through memory wait for each other.
  const auto tiled = AnalyticComputeParts(WalkNests(conv, device.core, 2).back(), device);
  EXPECT_EQ(std::max_element(tiled.begin(), tiled.end()) - tiled.begin(), kArithmeticLimit);
  const auto untiled = AnalyticComputeParts(WalkNests(plain, device.core, 2).back(), device);
  EXPECT_EQ(std::max_element(untiled.begin(), untiled.end()) - untiled.begin(), kChainLimit);
}

// Weights of 64 KiB lie in L2 while 4 MiB of pixels stream through it.
TEST(CacheTrafficTest, WhatALoopReadsAgainStaysWhileOthersStreamBy) {
  const Program lowered =
      Lowered(ConvProgram({1, 56, 56, 64, 256, 1, 1, 0, true}), TraceText("conv1x1_residual"));
  const DeviceModel device = DeviceOf("znver3");
  int weight_count = 0;
  const std::vector<WalkNest> nests = WalkNests(lowered, device.core, 2);
  for (const auto& traffic : TrafficOf(lowered, nests, device.core)) {
    for (const BufferTraffic& buffer : traffic) {
      if (!buffer.access->is_cold) continue;
      ++weight_count;
      // Once, or once for each block of pixels that the schedule makes.
      EXPECT_LE(buffer.bytes_in[1], 4 * buffer.footprint_bytes[0])
          << lowered.buffers[buffer.buffer].name;
    }
  }
  EXPECT_GT(weight_count, 0);
}

class AnalyticOrderTest : public ::testing::Test {
 protected:
  double Seconds(const std::string& trace, int threads = 2) const {
    return AnalyticSeconds(Lowered(program_, trace), znver3_, threads);
  }

  // Pixels and a panel of weights fit into L2 together.
  const Program program_ = ConvProgram({1, 14, 14, 128, 128, 3, 1, 1});
  const DeviceModel znver3_ = DeviceOf("znver3");
  const std::string good_ = TraceText("conv3x3_s1");
};

TEST_F(AnalyticOrderTest, TwoWorkersTakeLittleMoreThanHalfTheTime) {
  EXPECT_GT(Seconds(good_, 1) / Seconds(good_, 2), 1.7);
  EXPECT_LT(Seconds(good_, 1) / Seconds(good_, 2), 2.1);
}

TEST_F(AnalyticOrderTest, UnscheduledProgramIsManyTimesSlower) {
  EXPECT_GT(Seconds(""), 8 * Seconds(good_));
}

TEST_F(AnalyticOrderTest, TilesThatSpillRegistersAreSlower) {
  EXPECT_GT(Seconds(absl::StrReplaceAll(good_, {{"max=6", "max=12"}})), 1.2 * Seconds(good_));
}

TEST_F(AnalyticOrderTest, TilesThatLeaveThePortsIdleAreSlower) {
  EXPECT_GT(Seconds(absl::StrReplaceAll(good_, {{"max=6", "max=2"}})), 1.3 * Seconds(good_));
}

TEST_F(AnalyticOrderTest, WeightsThatNothingPrefetchesAreWaitedFor) {
  const size_t prefetch = good_.find("prefetch@1");
  ASSERT_NE(prefetch, std::string::npos);
  const Program many_weights = ConvProgram({1, 7, 7, 512, 512, 3, 1, 1});
  const double with = AnalyticSeconds(Lowered(many_weights, good_), znver3_, 2);
  const double without =
      AnalyticSeconds(Lowered(many_weights, good_.substr(0, prefetch)), znver3_, 2);
  EXPECT_GT(without, 1.05 * with);
}

// The memory's latency is paid by each panel but the first, and by none that is asked for ahead.
TEST_F(AnalyticOrderTest, PanelsThatNothingPrefetchesAreBegunByWaiting) {
  const Program many_weights = ConvProgram({1, 7, 7, 512, 512, 3, 1, 1});
  const auto panels = [&](const std::string& trace) {
    const Program lowered = Lowered(many_weights, trace);
    const std::vector<WalkNest> nests = WalkNests(lowered, znver3_.core, 2);
    const auto traffic = TrafficOf(lowered, nests, znver3_.core);
    const auto exposed = [&](double latency) {
      DeviceModel device = znver3_;
      device.levels.back().latency_cycles = latency;
      return AnalyticNestCycles(nests.back(), traffic.back(), device).exposed;
    };
    // Long enough that all of the time is waited for anyway.
    return (exposed(6000) - exposed(5000)) / 1000;
  };
  const double weight_bytes = 4.0 * 9 * 512 * 512;
  const double begun = panels(good_.substr(0, good_.find("prefetch@1")));
  EXPECT_GT(begun, 1);
  EXPECT_LT(begun, weight_bytes / 4096);
  // Biases are one panel, or in none.
  EXPECT_EQ(panels(good_), 0);
}

// Of a product of two rows, what prefetches can save is no more than its arithmetic; one of one row
// reads its weights as one stream, and prefetches save nothing.
TEST_F(AnalyticOrderTest, NoMoreIsWaitedForThanThereIsArithmetic) {
  for (const char* arch : {"znver4", "znver5", "sapphirerapids"}) {
    SCOPED_TRACE(arch);
    const DeviceModel device = DeviceOf(arch);
    const auto cycles = [&](int64_t rows) {
      const Program dense = Lowered(DenseProgram(rows, 2048, 1000), TraceText("dense"));
      const std::vector<WalkNest> nests = WalkNests(dense, device.core, 1);
      const auto traffic = TrafficOf(dense, nests, device.core);
      return AnalyticNestCycles(nests.back(), traffic.back(), device);
    };
    const NestCycles two = cycles(2), one = cycles(1);
    EXPECT_GT(two.exposed, 0);
    EXPECT_LT(two.exposed, two.compute);
    EXPECT_GT(one.memory, 2 * one.compute);
    EXPECT_EQ(one.exposed, 0);
    const Program prefetched = Lowered(DenseProgram(1, 2048, 1000),
                                       TraceText("dense") + "prefetch@1 Wp next=oq at=ko to=L2\n");
    const Program plain = Lowered(DenseProgram(1, 2048, 1000), TraceText("dense"));
    EXPECT_LT(AnalyticSeconds(plain, device, 1), AnalyticSeconds(prefetched, device, 1));
  }
}

// What is asked for a panel ahead is gone when it is read, where a panel is more than L2.
TEST_F(AnalyticOrderTest, PrefetchesOfPanelsThatLeaveTheCacheAreNone) {
  const DeviceModel device = DeviceOf("sapphirerapids");
  const auto is_prefetched = [&](int64_t depth) {
    const Program dense = Lowered(DenseProgram(1, depth, 1000),
                                  TraceText("dense") + "prefetch@1 Wp next=oq at=ko to=L2\n");
    bool any = false;
    for (const WalkNest& nest : WalkNests(dense, device.core, 1)) {
      for (const WalkAccess& access : nest.accesses) any = any || access.is_prefetched;
    }
    return any;
  };
  EXPECT_TRUE(is_prefetched(2048));
  EXPECT_FALSE(is_prefetched(32768));
}

// Rows of floats: their maxima, then powers of e. The prefetch is of the next row, while powers are
// computed.
double SecondsOfPasses(int64_t rows, int64_t length, bool asks, double l3_cycles = 50) {
  const std::string program =
      absl::StrReplaceAll(R"(program/1 passes
  input X: f32[$rows, $length]
  output Y: f32[$rows, $length]
  temp M: f32[$rows, 1]
  block M(m in $rows, u in 1; k in $length) {
    step M[m, u] max= X[m, k]
  }
  block Y(r in $rows, c in $length) {
    step Y[r, c] = exp(X[r, c] - M[r, 0])
  })",
                          {{"$rows", absl::StrCat(rows)}, {"$length", absl::StrCat(length)}});
  std::string trace = R"(split@1 k->(ko,ki) size=64
rfactor@1 M->L loop=ki
split@1 r->(p,r1) parts=2
split@1 c->(co,ci) size=64
vectorize@1 ci lanes=16
compute_at@1 M->(m0,m1) inside=r1
stage@1 M->sum inside=m1 scope=register
compute_at@1 L->(l0,l1,l2) inside=r1
stage@1 L->acc inside=l1 scope=register
reorder@1 (ko,l2)
vectorize@1 l2 lanes=16
)";
  if (asks) trace += "prefetch@1 X next=r1 at=co to=L2\n";
  trace += "parallel@1 p\n";
  DeviceModel device = DeviceOf("znver4");
  for (MemoryLevel& level : device.levels) {
    if (level.name == "L3") level.latency_cycles = l3_cycles;
  }
  return AnalyticSeconds(Lowered(ParseProgram(program).value(), trace), device, 2);
}

// Only the first of two passes over a row of 64 KiB waits for the last cache, unless the second
// asks for the next row meanwhile. Of rows that the first cache holds, hardware does, unless the
// last cache is far away.
TEST(AnalyticPassesTest, LongRowsAreWaitedForInTheirFirstPass) {
  EXPECT_GT(SecondsOfPasses(64, 16384, false), 1.02 * SecondsOfPasses(64, 16384, true));
  EXPECT_LT(SecondsOfPasses(256, 4096, false), SecondsOfPasses(256, 4096, true));
  EXPECT_GT(SecondsOfPasses(256, 4096, false, 140), 1.02 * SecondsOfPasses(256, 4096, true, 140));
}

// 4 MiB of rows of four lines, from L3 to L3: by whole rows, or the first line of all rows, then
// the second. What is read follows the rows in both.
TEST(AnalyticStoresTest, SingleLinesOfRowsAreSlowerThanWholeRows) {
  const Program program = ParseProgram(R"(program/1 lines
  input X: f32[4, 16384, 16]
  output Y: f32[16384, 4, 16]
  block Y(m in 16384, line in 4, n in 16) {
    step Y[m, line, n] = X[line, m, n]
  })")
                              .value();
  const double rows =
      AnalyticSeconds(Lowered(program, "vectorize@1 n lanes=8"), DeviceOf("znver3"), 1);
  const double lines = AnalyticSeconds(
      Lowered(program, "reorder@1 (line,m,n)\nvectorize@1 n lanes=8"), DeviceOf("znver3"), 1);
  EXPECT_GT(lines, 1.5 * rows);
}

// No arithmetic is faster than the ports: 2 multiply-adds of 8 floats a cycle and core, 3.2 GHz.
TEST_F(AnalyticOrderTest, NothingIsFasterThanThePeak) {
  const double multiply_adds = 14.0 * 14 * 128 * 128 * 9;
  EXPECT_GT(Seconds(good_, 1), multiply_adds / (2 * 8 * 3.2e9));
  EXPECT_LT(Seconds(good_, 1), 1.5 * multiply_adds / (2 * 8 * 3.2e9));
}

class AnalyticRateTest : public AnalyticOrderTest {
 protected:
  AnalyticRateTest() {
    const auto target = ParseTarget("cpu:arch=znver4,threads=2");
    CHECK(target.ok());
    device_ = DeviceModelOf(*target);
  }
  // Of the convolution, whose data lies in caches.
  double ConvSeconds(const DeviceModel& device) const {
    return AnalyticSeconds(Lowered(program_, good_), device, 2);
  }
  // Of a product with one row: its weights come from memory.
  double DenseSeconds(const DeviceModel& device) const {
    return AnalyticSeconds(Lowered(DenseProgram(1, 2048, 1000), TraceText("dense")), device, 2);
  }
  template <typename Change>
  DeviceModel Changed(const Change& change) const {
    DeviceModel device = device_;
    change(device);
    return device;
  }

  DeviceModel device_;
};

TEST_F(AnalyticRateTest, ClockScalesSeconds) {
  const DeviceModel fast = Changed([](DeviceModel& device) { device.cycles_per_second *= 2; });
  EXPECT_EQ(ConvSeconds(fast), ConvSeconds(device_) / 2);
}

TEST_F(AnalyticRateTest, HalfTheMemoryBandwidthSlowsWhatStreamsWeights) {
  const DeviceModel slow = Changed([](DeviceModel& device) {
    device.levels.back().bytes_per_cycle_alone /= 2;
    device.levels.back().bytes_per_cycle_shared /= 2;
  });
  EXPECT_GT(DenseSeconds(slow), 1.6 * DenseSeconds(device_));
  EXPECT_LT(ConvSeconds(slow), 1.1 * ConvSeconds(device_));
}

TEST_F(AnalyticRateTest, UnitThatSuffersUnderLoadsSlowsWhatComputes) {
  const DeviceModel slow =
      Changed([](DeviceModel& device) { device.units.front().per_cycle_with_loads /= 2; });
  EXPECT_GT(ConvSeconds(slow), 1.1 * ConvSeconds(device_));
  EXPECT_LT(ConvSeconds(slow), 2 * ConvSeconds(device_));
}

TEST_F(AnalyticRateTest, BarrierIsPaidByEachPhase) {
  const DeviceModel slow =
      Changed([](DeviceModel& device) { device.axes.front().barrier_cycles += 3200; });
  // Two of them, each 1 us longer.
  EXPECT_NEAR(ConvSeconds(slow) - ConvSeconds(device_), 2e-6, 1e-9);
}

TEST_F(AnalyticRateTest, WithoutAnL3DataComesFromMemory) {
  const auto target = ParseTarget("cpu:arch=znver4,threads=2,l1d=32768:8,l2=1048576:8");
  ASSERT_THAT(target, IsOk());
  EXPECT_GT(ConvSeconds(DeviceModelOf(*target)), ConvSeconds(device_));
}

// ---- Products on tile registers, priced by the row of the unit.

constexpr char kProduct[] = R"(program/1 dot
  input X: bf16[448, 512]
  const W: bf16[128, 512]
  output Y: f32[448, 128]
  block Y(m in 448, n in 128; k in 512) {
    step Y[m, n] += f32(X[m, k]) * f32(W[n, k])
  })";

// Cycles of arithmetic, on one core.
double TileCycles(int rows, int tile_rows, int tile_columns) {
  const std::string trace = absl::StrReplaceAll(R"(split@1 m->(mt,mi) size=$rows
split@1 n->(nt,ni) size=16
split@1 k->(kt,ks) size=32
split@1 ks->(kp,kv) size=2
split@1 mt->(mo,mb) size=$tr
split@1 nt->(no,nb) size=$tc
reorder@1 (no,mo,kt,mb,nb,mi,ni,kp,kv)
relayout@1 W->Wp dims=(no,kt,nb,kp,ni,kv)
stage@1 Y->acc inside=mo scope=tile
precompute@1 Wp
parallel@1 no
unroll@1 mb
unroll@1 nb
tensorize@1 mi intrinsic=amx_bf16)",
                                                {{"$rows", absl::StrCat(rows)},
                                                 {"$tr", absl::StrCat(tile_rows)},
                                                 {"$tc", absl::StrCat(tile_columns)}});
  const Program lowered = Lowered(ParseProgram(kProduct).value(), trace);
  const DeviceModel device = DeviceOf("sapphirerapids");
  const std::vector<WalkNest> nests = WalkNests(lowered, device.core, 1);
  CHECK_EQ(nests.size(), 1u);
  return AnalyticNestCycles(nests[0], TrafficOf(lowered, nests, device.core)[0], device).compute;
}

TEST(TileProductsTest, FullTilesTakeTheUnitsCycles) {
  // 28 x 8 tiles, 16 steps of 16 cycles. The rest is epilogues and loops.
  const double products = 28 * 8 * 16 * 16;
  EXPECT_GT(TileCycles(16, 2, 2), products);
  EXPECT_LT(TileCycles(16, 2, 2), 1.3 * products);
}

TEST(TileProductsTest, ShortTilesSaveLessThanTheyAreShorter) {
  // Half the rows: 0.63 of the cycles of one product, and twice as many.
  EXPECT_NEAR(TileCycles(8, 2, 2) / TileCycles(16, 2, 2), 2 * 0.63, 0.1);
  EXPECT_GT(TileCycles(4, 2, 2), 1.5 * TileCycles(8, 2, 2));
}

TEST(TileProductsTest, BlocksThatShareOperandsAreNoSlower) {
  EXPECT_LT(TileCycles(16, 2, 2), TileCycles(16, 1, 1));
  EXPECT_LT(TileCycles(16, 2, 2), TileCycles(16, 1, 2));
}

}  // namespace
}  // namespace burnish
