#include "tuner/cost_model/cache_traffic.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/parser.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_text.h"
#include "compiler/target/device_model.h"
#include "compiler/target/target.h"
#include "gtest/gtest.h"
#include "tuner/cost_model/nest_walk.h"

namespace burnish {
namespace {

// L1 32 KiB, L2 512 KiB, L3 32 MiB.
IsaModel Isa() {
  const auto target = ParseTarget("cpu:arch=znver3");
  CHECK(target.ok());
  return DeviceModelOf(*target).core;
}

Program Lowered(const std::string& text, const std::string& trace_text) {
  const auto program = ParseProgram(text);
  CHECK(program.ok()) << program.status().message();
  const auto trace = ParseTrace(trace_text);
  CHECK(trace.ok()) << trace.status().message();
  const auto scheduled = ApplyTrace(*trace, *program);
  CHECK(scheduled.ok()) << scheduled.status().message();
  const auto lowered = Lower(*scheduled);
  CHECK(lowered.ok()) << lowered.status().message();
  return *lowered;
}

struct Walked {
  Program program;
  std::vector<WalkNest> nests;
  std::vector<std::vector<BufferTraffic>> traffic;

  const BufferTraffic& Of(size_t nest, const std::string& buffer) const {
    for (const BufferTraffic& one : traffic[nest]) {
      if (program.buffers[one.buffer].name == buffer) return one;
    }
    CHECK(false) << "no " << buffer;
  }
};

Walked Walk(const std::string& text, const std::string& trace, int threads) {
  Walked walked{.program = Lowered(text, trace)};
  walked.nests = WalkNests(walked.program, Isa(), threads);
  walked.traffic = TrafficOf(walked.program, walked.nests, Isa());
  return walked;
}

constexpr char kPool[] = R"(program/1 pool
  input X: f32[8, 66, 64]
  output Y: f32[8, 64, 64]
  block Y(c in 8, y in 64, x in 64; k in 3) {
    step Y[c, y, x] += X[c, y + k, x]
  })";

// Rows of 50 floats by vectors of 16, of which the last begins where it ends with the row: what is
// written are 1600 lines, one after the other.
TEST(CacheTrafficTest, TilesThatBeginEarlyGoOn) {
  const Walked rows = Walk(R"(program/1 rows
  input X: f32[512, 50]
  output Y: f32[512, 50]
  block Y(r in 512, c in 50) {
    step Y[r, c] = X[r, c]
  })",
                           "split@1 c->(o,i) size=16 tail=shift\nvectorize@1 i lanes=16", 1);
  EXPECT_GT(rows.Of(0, "Y").run_lines, 1600);
  EXPECT_LT(rows.Of(0, "Y").run_lines, 2000);
}

// Channels and rows as one loop: rows of one channel follow one another still, and each comes into
// L1 once, though three windows read it.
TEST(CacheTrafficTest, FusedLoopsReuseWhatTheirRowsShare) {
  const Walked fused = Walk(kPool, "fuse@1 (c,y)->g\nparallel@1 g\nvectorize@1 x lanes=8", 2);
  const double rows_bytes = 66 * 64 * 4;
  const BufferTraffic& x = fused.Of(0, "X");
  EXPECT_NEAR(x.footprint_bytes[0], 4 * rows_bytes, 0.02 * rows_bytes);
  EXPECT_LT(x.bytes_in[0], 1.3 * 4 * rows_bytes);
  // Each worker has channels of its own.
  EXPECT_FALSE(fused.nests[0].IsShared(*x.access));
}

constexpr char kProduct[] = R"(program/1 product
  input A: f32[8, 512]
  input B: f32[512, 196]
  output Y: f32[8, 196]
  block Y(m in 8, n in 196; k in 512) {
    step Y[m, n] += A[m, k] * B[k, n]
  })";

// Two workers share three panels of 96, 96 and 4 columns: one of them has the two long ones.
TEST(CacheTrafficTest, TheSlowestWorkerCounts) {
  const Walked walked = Walk(kProduct, R"(split@1 n->(p,ni) size=96
split@1 p->(pw,pq) parts=2
reorder@1 (pw,pq,m,k,ni)
parallel@1 pw
vectorize@1 ni lanes=8)",
                             2);
  EXPECT_EQ(walked.nests[0].workers, 2);
  double vectors = 0;
  for (const WalkStore& store : walked.nests[0].stores) {
    if (store.combines) vectors += store.executions * store.instances;
  }
  EXPECT_EQ(vectors, 8.0 * 512 * 2 * 96 / 8);
}

// Three planes, whose pixels become neighbours in vectors of 48: each line comes once, though the
// lanes of a vector lie in three places.
TEST(CacheTrafficTest, InterleavedLanesBringTheirLinesOnce) {
  const Walked walked = Walk(R"(program/1 turn
  input X: f32[16, 3, 4096]
  output Y: f32[16, 4096, 3]
  block Y(n in 16, x in 4096, c in 3) {
    step Y[n, x, c] = X[n, c, x]
  })",
                             R"(fuse@1 (x,c)->v
split@1 v->(vo,vi) size=48
vectorize@1 vi lanes=16)",
                             1);
  EXPECT_LT(walked.Of(0, "X").bytes_in[0], 1.2 * 16 * 3 * 4096 * 4);
}

// The bias begins a sum of 512 x 9 steps, which is too rare for the sample that shares are taken
// of.
TEST(CacheTrafficTest, ArmThatNoSampleMetBringsNothing) {
  const Walked walked = Walk(R"(program/1 biased
  input X: f32[4, 3, 3, 1024]
  const W: f32[1024, 3, 3, 4096]
  const B: f32[4096]
  output Y: f32[4, 4096]
  block Y(m in 4, n in 4096; i in 3, j in 3, k in 1024) {
    init B[n]
    step Y[m, n] += X[m, i, j, k] * W[k, i, j, n]
  })",
                             R"(split@1 k->(ko,ki) size=2
split@1 n->(no,ni) size=16
reorder@1 (m,i,j,ko,no,ki,ni)
stage@1 Y->sum inside=no scope=register
vectorize@1 ni lanes=16)",
                             2);
  for (const double bytes : walked.Of(0, "B").bytes_in) EXPECT_GE(bytes, 0);
}

// Of a row of four floats a line is brought in.
TEST(CacheTrafficTest, ShortRunsBringWholeLines) {
  const Walked walked = Walk(R"(program/1 corner
  input X: f32[64, 1024]
  output Y: f32[64, 4]
  block Y(m in 64, n in 4) {
    step Y[m, n] = X[m, n]
  })",
                             "", 1);
  EXPECT_EQ(walked.Of(0, "X").footprint_bytes[0], 64.0 * 64);
  EXPECT_EQ(walked.Of(0, "Y").footprint_bytes[0], 64.0 * 16);
}

// A panel of 64 columns of B, for each of 64 rows of A again.
double PanelIntoL2(int columns) {
  const Walked walked = Walk(absl::StrCat(R"(program/1 product
  input A: f32[64, 1024]
  input B: f32[1024, )",
                                          columns, R"(]
  output Y: f32[64, )",
                                          columns, R"(]
  block Y(m in 64, n in )",
                                          columns, R"(; k in 1024) {
    step Y[m, n] += A[m, k] * B[k, n]
  })"),
                             R"(split@1 n->(p,ni) size=64
reorder@1 (p,m,k,ni)
vectorize@1 ni lanes=8)",
                             1);
  return walked.Of(0, "B").bytes_in[1];
}

// 256 KiB fit L2, which has 384 for them, but not where rows are 8 KiB apart and all in a
// sixteenth of its sets. With 64 columns more they lie in all of them.
TEST(CacheTrafficTest, RunsAPowerOfTwoApartShareSetsOfL2) {
  EXPECT_GT(PanelIntoL2(2048), 60.0 * 1024 * 2048 * 4);
  EXPECT_LT(PanelIntoL2(2048 + 64), 1.1 * 1024 * (2048 + 64) * 4);
}

std::string TwoPhases(int rows) {
  return absl::StrCat(R"(program/1 two
  input X: f32[)",
                      rows, R"(, 256]
  output Y: f32[)",
                      rows, R"(, 256]
  temp S: f32[)",
                      rows, R"(]
  block S(m in )",
                      rows, R"(; n in 256) {
    step S[m] += X[m, n]
  }
  block Y(m in )",
                      rows, R"(, n in 256) {
    step Y[m, n] = X[m, n] / S[m]
  })");
}

// What a nest read lies in the cache that holds it when the next one reads it.
TEST(CacheTrafficTest, NestsFindWhatNestsBeforeThemLeft) {
  // 128 KiB: in L2, and not in L1.
  const Walked small = Walk(TwoPhases(128), "", 1);
  for (const size_t nest : {0, 1}) {
    EXPECT_GT(small.Of(nest, "X").bytes_in[0], 0) << nest;
    EXPECT_EQ(small.Of(nest, "X").bytes_in[1], 0) << nest;
    EXPECT_EQ(small.Of(nest, "X").bytes_in[2], 0) << nest;
  }
  // 8 MiB of X fit L3, which has 16 of 32 for them; with as many of Y and the sums they do not.
  const Walked large = Walk(TwoPhases(8192), "", 1);
  EXPECT_EQ(large.Of(1, "X").bytes_in[2], 0);
  EXPECT_GT(large.Of(0, "X").bytes_in[2], 0);
  EXPECT_GT(large.Of(1, "Y").bytes_in[2], 0);
}

}  // namespace
}  // namespace burnish
