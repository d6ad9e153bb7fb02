#include "compiler/runtime/step_trim.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "compiler/runtime/bundle.h"
#include "compiler/runtime/session.h"
#include "compiler/runtime/test_bundle.h"
#include "compiler/runtime/thread_pool.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using Numbers = std::vector<uint32_t>;

// Rows of [b of 3, s of 10] in tiles of 4, for each of two columns.
StepTrim Rows() {
  TrimAxis axis{.parts = {{.holds = {{.factor = 1, .sizes = {0}}}, .bound = 3},
                          {.holds = {{.factor = 1, .sizes = {1}}}, .bound = 10}},
                .inner = 2,
                .span = 4,
                .starts = {0, 4, 8, 12, 16, 20, 24, 28}};
  return {.step = 1, .iterations = 16, .axes = {axis}};
}

TEST(StepTrimTest, ComesBackAsItWas) {
  const std::vector<StepTrim> trims = {Rows()};
  const std::string bytes = EncodeTrims(trims);
  EXPECT_TRUE(*DecodeTrims(AsBytes(bytes)) == trims);
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(DecodeTrims(AsBytes(bytes.substr(0, length))).ok());
  }
}

// Against looking at each row.
TEST(StepTrimTest, TilesWithARowThatIsReadAreNeeded) {
  const StepTrim trim = Rows();
  for (int64_t b = 0; b <= 3; ++b) {
    for (int64_t s = 0; s <= 10; ++s) {
      Numbers want;
      for (uint32_t p = 0; p < trim.iterations; ++p) {
        bool any = false;
        for (int64_t row = p / 2 * 4; row < std::min<int64_t>(p / 2 * 4 + 4, 30); ++row) {
          any = any || (row / 10 < b && row % 10 < s);
        }
        if (any) want.push_back(p);
      }
      EXPECT_EQ(NeededIterations(trim, std::vector<int64_t>{b, s}), want) << b << " " << s;
    }
  }
}

TEST(StepTrimTest, AxesOfARowTimesSizesAndLoopsAround) {
  // Heads outside, rows of 2 * s inside.
  StepTrim trim = Rows();
  trim.iterations = 6;
  trim.axes = {
      {.parts = {{.holds = {{.factor = 2, .sizes = {1}}, {.factor = 1, .sizes = {}}}, .bound = 30}},
       .inner = 1,
       .span = 10,
       .starts = {0, 10, 20}}};
  EXPECT_EQ(NeededIterations(trim, std::vector<int64_t>{1, 5}), (Numbers{0, 1, 3, 4}));
  EXPECT_EQ(NeededIterations(trim, std::vector<int64_t>{1, 4}), (Numbers{0, 3}));
  // Beyond 64 bits: all.
  trim.axes[0].parts[0].holds[0].factor = INT64_MAX;
  EXPECT_EQ(NeededIterations(trim, std::vector<int64_t>{1, 4}), (Numbers{0, 1, 2, 3, 4, 5}));
}

TEST(StepTrimTest, WhatDoesNotFitIsRefused) {
  const auto fits = [](auto change) {
    StepTrim trim = Rows();
    change(trim);
    return CheckTrims({trim}, 2, {true, true, false}).ok();
  };
  EXPECT_TRUE(fits([](StepTrim&) {}));
  EXPECT_FALSE(CheckTrims({Rows(), Rows()}, 2, {true, true}).ok());
  EXPECT_FALSE(fits([](StepTrim& t) { t.step = 2; }));
  EXPECT_FALSE(fits([](StepTrim& t) { t.iterations = 0; }));
  EXPECT_FALSE(fits([](StepTrim& t) { t.iterations = kTrimIterationsMax + 1; }));
  EXPECT_FALSE(fits([](StepTrim& t) { t.axes.clear(); }));
  EXPECT_FALSE(fits([](StepTrim& t) { t.axes[0].parts.clear(); }));
  EXPECT_FALSE(fits([](StepTrim& t) { t.axes[0].inner = 0; }));
  EXPECT_FALSE(fits([](StepTrim& t) { t.axes[0].span = 0; }));
  EXPECT_FALSE(fits([](StepTrim& t) { t.axes[0].starts.clear(); }));
  EXPECT_FALSE(fits([](StepTrim& t) { t.axes[0].starts[0] = -1; }));
  EXPECT_FALSE(fits([](StepTrim& t) { t.axes[0].parts[0].bound = int64_t{1} << 60; }));
  EXPECT_FALSE(fits([](StepTrim& t) { t.axes[0].parts[0].holds[0].sizes = {2}; }));
  EXPECT_FALSE(fits([](StepTrim& t) { t.axes[0].parts[0].holds[0].sizes = {3}; }));
}

LiveTable Flags() {
  return {.place = {.region = Region::kArena, .index = 0, .offset_bytes = 64},
          .size_bytes = 20,
          .loops = {{.first = 3, .count = 16, .axes = Rows().axes},
                    {.first = 19, .count = 1, .axes = Rows().axes}}};
}

TEST(LiveTableTest, ComesBackAsItWas) {
  const std::vector<LiveTable> tables = {Flags()};
  const std::string bytes = EncodeLiveTables(tables);
  EXPECT_TRUE(*DecodeLiveTables(AsBytes(bytes)) == tables);
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(DecodeLiveTables(AsBytes(bytes.substr(0, length))).ok());
  }
}

TEST(LiveTableTest, FlagsAreTheIterationsThatAreNeeded) {
  for (int64_t b = 0; b <= 3; ++b) {
    for (int64_t s = 0; s <= 10; ++s) {
      const std::vector<int64_t> sizes = {b, s};
      std::vector<uint8_t> want(20, 7), flags(20, 7);
      std::fill(want.begin() + 3, want.end(), 0);
      for (const uint32_t p : NeededIterations(Rows(), sizes)) want[3 + p] = 1;
      want[19] = b > 0 && s > 0 ? 1 : 0;
      FillLiveTable(Flags(), sizes, flags);
      EXPECT_EQ(flags, want) << b << " " << s;
    }
  }
}

// Starts in runs, in rounds of which the last is cut, of one part and of two.
TEST(LiveTableTest, FlagsOfManyAxesAreThoseOfTheIterations) {
  const TrimPart of_b{.holds = {{.factor = 1, .sizes = {0}}}, .bound = 3};
  const TrimPart of_s{.holds = {{.factor = 1, .sizes = {1}}}, .bound = 10};
  const std::vector<TrimAxis> axes = {
      {.parts = {of_s}, .inner = 3, .span = 4, .starts = {0, 4, 8}},
      {.parts = {of_b, of_s}, .inner = 1, .span = 6, .starts = {0, 6, 12, 18, 24}},
      {.parts = {of_b, of_s}, .inner = 1, .span = 2, .starts = {29, 3, 9, 20, 19, 33, 0, 28}},
      {.parts = {of_s}, .inner = 1, .span = 1, .starts = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
      {.parts = {of_b}, .inner = 40, .span = 1, .starts = {1, 0}}};
  for (uint32_t count : {1u, 2u, 7u, 31u}) {
    const LiveTable table{.place = {}, .size_bytes = count, .loops = {{0, count, axes}}};
    const StepTrim trim{.step = 0, .iterations = count, .axes = axes};
    for (int64_t b = 0; b <= 3; ++b) {
      for (int64_t s = 0; s <= 10; ++s) {
        const std::vector<int64_t> sizes = {b, s};
        std::vector<uint8_t> want(count, 0), flags(count, 7);
        for (const uint32_t p : NeededIterations(trim, sizes)) want[p] = 1;
        FillLiveTable(table, sizes, flags);
        EXPECT_EQ(flags, want) << count << ": " << b << " " << s;
      }
    }
  }
}

TEST(LiveTableTest, WhatDoesNotFitIsRefused) {
  const auto fits = [](auto change) {
    LiveTable table = Flags();
    change(table);
    return CheckLiveTables({table}, {true, true, false}).ok();
  };
  EXPECT_TRUE(fits([](LiveTable&) {}));
  EXPECT_FALSE(fits([](LiveTable& t) { t.size_bytes = 0; }));
  EXPECT_FALSE(fits([](LiveTable& t) { t.size_bytes = 19; }));
  EXPECT_FALSE(fits([](LiveTable& t) { t.size_bytes = kTrimIterationsMax + 1; }));
  EXPECT_FALSE(fits([](LiveTable& t) { t.loops[0].first = 21; }));
  EXPECT_FALSE(fits([](LiveTable& t) { t.loops[0].count = UINT32_MAX; }));
  EXPECT_FALSE(fits([](LiveTable& t) { t.loops[1] = t.loops[0]; }));
  EXPECT_FALSE(fits([](LiveTable& t) { t.loops[0].axes[0].inner = 0; }));
  EXPECT_FALSE(fits([](LiveTable& t) { t.loops[0].axes[0].starts.clear(); }));
  EXPECT_FALSE(fits([](LiveTable& t) { t.loops[0].axes[0].parts[0].holds[0].sizes = {2}; }));
  // In a bundle: memory of the arena.
  BundleManifest manifest = TestGivenManifest();
  manifest.arena_bytes = std::max<uint64_t>(manifest.arena_bytes, 128);
  manifest.live = {Flags()};
  EXPECT_TRUE(CheckManifest(manifest).ok());
  const auto bundle = WriteBundle(manifest, TestElf(), {});
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  EXPECT_EQ((*bundle)[8], 6) << "an older runtime would leave out what it finds in the arena";
  EXPECT_TRUE(BundleReader::FromBytes(AsBytes(*bundle))->manifest() == manifest);
  manifest.live[0].place.offset_bytes = manifest.arena_bytes - 19;
  EXPECT_FALSE(CheckManifest(manifest).ok());
  manifest.live[0].place = {.region = Region::kOutput};
  EXPECT_FALSE(CheckManifest(manifest).ok());
}

// One element an iteration: those that nobody reads stay as they were.
TEST(StepTrimTest, ASessionRunsTheNeededIterationsAlone) {
  BundleManifest manifest = TestGivenManifest();
  TrimAxis axis{.parts = {{.holds = {{.factor = 1, .sizes = {0}}}, .bound = 2},
                          {.holds = {{.factor = 1, .sizes = {1}}}, .bound = 500}},
                .inner = 1,
                .span = 1,
                .starts = std::vector<int64_t>(1000)};
  std::iota(axis.starts.begin(), axis.starts.end(), 0);
  manifest.trims = {{.step = 0, .iterations = 1000, .axes = {axis}}};
  const auto bundle = WriteBundle(manifest, TestElf(), {});
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  EXPECT_TRUE(BundleReader::FromBytes(AsBytes(*bundle))->manifest() == manifest);
  auto model = Model::LoadBytes(AsBytes(*bundle), {});
  ASSERT_TRUE(model.ok()) << model.status().message();
  for (const int threads : {1, 2, 3}) {
    auto pool = ThreadPool::Create({.thread_count = threads});
    ASSERT_TRUE(pool.ok());
    auto session = Session::Create(*model, *std::move(pool));
    ASSERT_TRUE(session.ok());
    for (const auto& [b, n] : std::vector<std::pair<int64_t, int64_t>>{
             {2, 500}, {2, 7}, {1, 500}, {1, 1}, {2, 0}, {2, 499}, {2, 500}}) {
      ASSERT_TRUE((*session)->SetSizes(std::vector<int64_t>{b, n}).ok());
      const std::vector<float> x(b * n, 3.0f);
      ASSERT_TRUE((*session)->SetInput(0, AsBytes(x)).ok());
      ASSERT_TRUE((*session)->SetInput(1, AsBytes(x)).ok());
      alignas(64) std::array<float, 1000> sum;
      sum.fill(-1);
      ASSERT_TRUE((*session)->BindOutput(0, sum.data(), sizeof(sum)).ok());
      ASSERT_TRUE((*session)->Run().ok());
      for (int64_t i = 0; i < 1000; ++i) {
        ASSERT_EQ(sum[i], i / 500 < b && i % 500 < n ? 6.0f : -1.0f) << b << " " << n << " " << i;
      }
    }
  }
  manifest = TestSizesManifest();
  manifest.run_sizes = TestGivenManifest().run_sizes;
  manifest.run_sizes.axes.clear();
  manifest.run_sizes.inputs.resize(1);
  manifest.trims = {{.step = 0, .iterations = 2, .axes = {axis}}};
  EXPECT_FALSE(CheckManifest(manifest).ok()) << "a host kernel has no scratch to choose";
}

// All choices of parts of loops of several lengths: each iteration of those that are needed once.
TEST(StepTrimTest, CallsDoWhatIsNeededOnce) {
  for (const uint32_t parts : {1u, 2u, 3u, 6u, 8u, 12u}) {
    for (const int64_t loop : {int64_t{parts}, int64_t{2} * parts + 1, int64_t{37}}) {
      for (uint32_t chosen = 1; chosen < 1u << parts; ++chosen) {
        std::vector<uint32_t> all;
        for (uint32_t p = 0; p < parts; ++p) {
          if ((chosen >> p & 1) != 0) all.push_back(p);
        }
        std::vector<int> want(loop, 0), got(loop, 0);
        const auto add = [&](int64_t worker, int64_t workers, std::vector<int>& times) {
          for (int64_t i = worker * loop / workers; i < (worker + 1) * loop / workers; ++i) {
            ++times[i];
          }
        };
        for (const uint32_t part : all) add(part, parts, want);
        for (std::span<const uint32_t> needed = all; !needed.empty();) {
          const TrimCall call = FirstCall(needed, parts);
          ASSERT_GE(call.count, 1u);
          add(call.worker, call.workers, got);
          needed = needed.subspan(call.count);
        }
        ASSERT_EQ(got, want) << parts << " " << loop << " " << chosen;
      }
    }
  }
  // A run of many is few calls.
  std::vector<uint32_t> half(512);
  std::iota(half.begin(), half.end(), 512);
  const TrimCall call = FirstCall(half, 1024);
  EXPECT_EQ(call.worker, 1u);
  EXPECT_EQ(call.workers, 2u);
  EXPECT_EQ(call.count, 512u);
}

}  // namespace
}  // namespace burnish
