// Products on tile registers.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "compiler/target/test_device_models.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/rules/rule_test_util.h"

namespace burnish {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kTarget[] = "cpu:arch=sapphirerapids,threads=2";
const std::pair<std::string, AttributeValue> kLast = {"channels_last", int64_t{1}};

Program Dense(int64_t rows, int64_t depth, int64_t columns, DType dtype = DType::kBf16) {
  return WorkloadOf({.name = "dense",
                     .op = "dense",
                     .inputs = {{rows, depth}, {columns, depth}},
                     .dtype = dtype});
}

std::string Drafts(const Program& program) {
  return TestedDrafts("tile_product", program, kTarget);
}

TEST(TileProductRuleTest, BlocksOfTilesOfRowsThatDivide) {
  EXPECT_EQ(Drafts(Dense(28, 64, 48)), R"(tile_product/panels/amx_bf16
  rows = 7 14
  tr = 1 2 3
  tc = 1 2 3
  prefetch = choice 0 1
  require $tr * $tc + $tr + $tc <= 8
  require ($tr - 1) * $rows < 28
  require 2 <= (3 + ($tc - 1)) // $tc
  split@1 b2.i0->(b2_ms,b2_ml) size=$rows
  reorder@1 (b2_ms,b2.i1,b2.i2,b2_ml)
  split@1 b2.i1->(b2_vs,b2_vl) size=16
  split@1 b2.i2->(b2_qs,b2_ql) size=32
  split@1 b2_ql->(b2_qg,b2_qv) size=2
  split@1 b2_vs->(b2_vp,b2_vi) size=$tc
  split@1 b2_vp->(b2_p,b2_pq) parts=2
  split@1 b2_ms->(b2_mt,b2_mi) max=$tr
  reorder@1 (b2_p,b2_pq,b2_mt,b2_qs,b2_mi,b2_vi,b2_ml,b2_vl,b2_qg,b2_qv)
  stage@1 b2->b2_acc inside=b2_mt scope=tile
  relayout@1 b1->b2_packed dims=(b2_vp,b2_qs,b2_vi,b2_qg,b2_vl,b2_qv)
  precompute@1 b2_packed
  parallel@1 b2_p
  unroll@1 b2_mi
  unroll@1 b2_vi
  tensorize@1 b2_ml intrinsic=amx_bf16
  prefetch@1 b2_packed next=b2_pq at=b2_qs to=L2 when $prefetch
tile_product/rows/amx_bf16
  rows = 7 14
  tr = 1 2 3
  tc = 1 2 3
  prefetch = choice 0 1
  require $tr * $tc + $tr + $tc <= 8
  require ($tr - 1) * $rows < 28
  require $rows * 2 <= 28
  split@1 b2.i0->(b2_ms,b2_ml) size=$rows
  reorder@1 (b2_ms,b2.i1,b2.i2,b2_ml)
  split@1 b2.i1->(b2_vs,b2_vl) size=16
  split@1 b2.i2->(b2_qs,b2_ql) size=32
  split@1 b2_ql->(b2_qg,b2_qv) size=2
  split@1 b2_vs->(b2_vp,b2_vi) size=$tc
  split@1 b2_ms->(b2_p,b2_m1) parts=2
  split@1 b2_m1->(b2_mt,b2_mi) max=$tr
  reorder@1 (b2_p,b2_vp,b2_mt,b2_qs,b2_mi,b2_vi,b2_ml,b2_vl,b2_qg,b2_qv)
  stage@1 b2->b2_acc inside=b2_mt scope=tile
  relayout@1 b1->b2_packed dims=(b2_vp,b2_qs,b2_vi,b2_qg,b2_vl,b2_qv)
  precompute@1 b2_packed
  parallel@1 b2_p
  unroll@1 b2_mi
  unroll@1 b2_vi
  tensorize@1 b2_ml intrinsic=amx_bf16
  prefetch@1 b2_packed next=b2_vp at=b2_qs to=L2 when $prefetch
)");
}

Program DenseOfBytes(DType left) {
  return WorkloadOf({.name = "dense",
                     .op = "matmul_integer",
                     .inputs = {{28, 64}, {64, 48}},
                     .types = {left, DType::kI8}});
}

// Four bytes lie side by side where two of bfloat16 do.
TEST(TileProductRuleTest, BlocksOfTilesOfBytes) {
  const std::string text = Drafts(DenseOfBytes(DType::kU8));
  EXPECT_THAT(text, HasSubstr(R"(tile_product/panels/amx_u8s8
  rows = 7 14
  tr = 1 2 3
  tc = 1 2 3
  prefetch = choice 0 1
  require $tr * $tc + $tr + $tc <= 8
  require ($tr - 1) * $rows < 28
  require 2 <= (3 + ($tc - 1)) // $tc
  split@1 b2.i0->(b2_ms,b2_ml) size=$rows
  reorder@1 (b2_ms,b2.i1,b2.i2,b2_ml)
  split@1 b2.i1->(b2_vs,b2_vl) size=16
  split@1 b2.i2->(b2_qs,b2_ql) size=64
  split@1 b2_ql->(b2_qg,b2_qv) size=4
)"));
  EXPECT_THAT(text, HasSubstr("\n  tensorize@1 b2_ml intrinsic=amx_u8s8\n"));
  EXPECT_THAT(text, HasSubstr("tile_product/rows/amx_u8s8\n"));
}

// There is no unit whose left operand has a sign, nor one of wide floats.
TEST(TileProductRuleTest, SignedBytesAndDoublesAreTurnedAway) {
  EXPECT_EQ(Drafts(DenseOfBytes(DType::kI8)), "");
  EXPECT_EQ(Drafts(Dense(28, 64, 48, DType::kF64)), "");
}

TEST(TileProductRuleTest, DeepReductionsGoInBlocksToo) {
  EXPECT_THAT(
      NamesOf(DraftsOf("tile_product", Dense(32, 256, 64), kTarget)),
      ElementsAre("tile_product/panels/amx_bf16", "tile_product/rows/amx_bf16",
                  "tile_product/panels/blocked/amx_bf16", "tile_product/rows/blocked/amx_bf16"));
}

// 37 keys, as scores of attention have them.
TEST(TileProductRuleTest, OddColumnsAreCoveredByPanelsThatBeginEarly) {
  const auto scores = [](int64_t batch) {
    return WorkloadOf({.name = "scores",
                       .op = "matmul",
                       .inputs = {{batch, 28, 64}, {batch, 64, 37}},
                       .dtype = DType::kBf16});
  };
  EXPECT_THAT(NamesOf(DraftsOf("tile_product", scores(12), kTarget)),
              ElementsAre("tile_product/panels/shifted_columns/amx_bf16"));
  EXPECT_THAT(Drafts(scores(12)), HasSubstr("size=(16 * $tc) tail=shift"));
  // Columns that two workers compute would be written by both.
  EXPECT_THAT(DraftsOf("tile_product", scores(1), kTarget), IsEmpty());
}

TEST(TileProductRuleTest, LargeInputsGoInChunksOfRows) {
  const auto conv = [](int64_t size) {
    return WorkloadOf({.name = "conv",
                       .op = "conv",
                       .inputs = {{1, size, size, 128}, {128, 128, 3, 3}},
                       .attributes = {kLast, {"pads", Ints{1, 1, 1, 1}}},
                       .dtype = DType::kBf16});
  };
  const auto names = [&](int64_t size) {
    return NamesOf(DraftsOf("tile_product", conv(size), kTarget));
  };
  // 1.6 MB for a worker, and 0.4.
  EXPECT_THAT(names(112), Contains("tile_product/rows/chunks/amx_bf16"));
  EXPECT_THAT(names(56), Not(Contains("tile_product/rows/chunks/amx_bf16")));
}

TEST(TileProductRuleTest, TheDevicesUnitsDecide) {
  // Types that no unit multiplies; a device without tiles; a row of the table without a nest.
  EXPECT_THAT(DraftsOf("tile_product", Dense(28, 64, 48, DType::kF32), kTarget), IsEmpty());
  EXPECT_THAT(DraftsOf("tile_product", Dense(28, 64, 48), "cpu:arch=znver4,threads=2"), IsEmpty());
  DeviceModel device = AmxDevice();
  for (ComputeUnit& unit : device.units) unit.name = "of no row";
  EXPECT_THAT(DraftsOf("tile_product", Dense(28, 64, 48), device), IsEmpty());
}

// Sizes of splits: of a tile's columns ("vl") and of a product's depth ("ql").
std::vector<std::string> SizesOf(const Program& program) {
  std::vector<std::string> sizes;
  for (absl::string_view line : absl::StrSplit(Drafts(program), '\n')) {
    const bool is_size = absl::StrContains(line, "_vl)") || absl::StrContains(line, "_ql)");
    if (absl::StrContains(line, "split@1") && is_size && sizes.size() < 2) {
      sizes.emplace_back(line.substr(line.find("size=")));
    }
  }
  return sizes;
}

TEST(TileProductRuleTest, ColumnsAndDepthAreThoseThatLeaveNoRest) {
  EXPECT_THAT(SizesOf(Dense(28, 64, 48)), ElementsAre("size=16", "size=32"));
  // 48 = 2 * 24; 28, as of seven pixels of four colours, is one product.
  EXPECT_THAT(SizesOf(Dense(28, 48, 48)), ElementsAre("size=16", "size=24"));
  EXPECT_THAT(SizesOf(Dense(28, 28, 48)), ElementsAre("size=16", "size=28"));
  // 24 columns are two tiles of 12 or three of 8.
  EXPECT_THAT(SizesOf(Dense(28, 64, 24)), ElementsAre("size=$columns", "size=32"));
  EXPECT_THAT(Drafts(Dense(28, 64, 24)), HasSubstr("\n  columns = 8 12\n"));
  EXPECT_THAT(SizesOf(Dense(28, 64, 44)), ElementsAre("size=11", "size=32"));
}

TEST(TileProductRuleTest, WhatWouldUseLittleOfAUnitIsLeftToOthers) {
  // 34 = 2 * 17 products have depth 2; 34 columns have 2 of 16.
  EXPECT_THAT(DraftsOf("tile_product", Dense(28, 34, 48), kTarget), IsEmpty());
  EXPECT_THAT(DraftsOf("tile_product", Dense(28, 64, 34), kTarget), IsEmpty());
  // An odd depth is no pairs.
  EXPECT_THAT(DraftsOf("tile_product", Dense(28, 63, 48), kTarget), IsEmpty());
}

// The values of decision `rows`.
std::vector<int64_t> RowsOf(const Program& program) {
  const std::vector<Draft> drafts = DraftsOf("tile_product", program, kTarget);
  return drafts.empty() ? std::vector<int64_t>() : drafts[0].schedule.decisions()[0].values;
}

TEST(TileProductRuleTest, RowsAreTakenFromOneAxis) {
  EXPECT_THAT(RowsOf(Dense(49, 64, 48)), ElementsAre(7));
  EXPECT_THAT(RowsOf(Dense(784, 64, 48)), ElementsAre(7, 8, 14, 16));
  // Fewer save no time, but there are no more.
  EXPECT_THAT(RowsOf(Dense(3, 64, 48)), ElementsAre(3));
  const auto conv = [](int64_t size, int64_t kernel, int64_t stride) {
    const int64_t pad = kernel / 2;
    return WorkloadOf({.name = "conv",
                       .op = "conv",
                       .inputs = {{1, size, size, 32}, {32, 32, kernel, kernel}},
                       .attributes = {kLast,
                                      {"pads", Ints{pad, pad, pad, pad}},
                                      {"strides", Ints{stride, stride}}},
                       .dtype = DType::kBf16});
  };
  // A line of 28 pixels, and of 14.
  EXPECT_THAT(RowsOf(conv(28, 3, 1)), ElementsAre(7, 14));
  EXPECT_THAT(RowsOf(conv(28, 1, 1)), ElementsAre(7, 14));
  EXPECT_THAT(RowsOf(conv(28, 1, 2)), ElementsAre(7, 14));
}

// 197 rows, as of a vision transformer, have no divisor that is a tile's.
TEST(TileProductRuleTest, OddRowsAreCoveredByTilesThatBeginEarly) {
  EXPECT_EQ(Drafts(Dense(23, 32, 16)), R"(tile_product/panels/shifted/amx_bf16
  rows = 7 8 9 10 11 12 13 14 15 16
  tr = 1 2 3
  tc = 1
  prefetch = choice 0 1
  require $tr * $tc + $tr + $tc <= 8
  require ($tr - 1) * $rows < 23
  require $rows * $tr <= 23
  require ($rows - 1) * $tr * ((23 + ($rows * $tr - 1)) // ($rows * $tr)) < 23
  require 1 <= (1 + ($tc - 1)) // $tc
  split@1 b2.i0->(b2_mb,b2_mr) size=($rows * $tr) tail=shift
  split@1 b2_mr->(b2_mi,b2_ml) size=$rows
  reorder@1 (b2_mb,b2.i1,b2.i2,b2_mi,b2_ml)
  split@1 b2.i1->(b2_vs,b2_vl) size=16
  split@1 b2.i2->(b2_qs,b2_ql) size=32
  split@1 b2_ql->(b2_qg,b2_qv) size=2
  split@1 b2_vs->(b2_vp,b2_vi) size=$tc
  split@1 b2_vp->(b2_p,b2_pq) parts=1
  reorder@1 (b2_p,b2_pq,b2_mb,b2_qs,b2_mi,b2_vi,b2_ml,b2_vl,b2_qg,b2_qv)
  stage@1 b2->b2_acc inside=b2_mb scope=tile
  relayout@1 b1->b2_packed dims=(b2_vp,b2_qs,b2_vi,b2_qg,b2_vl,b2_qv)
  precompute@1 b2_packed
  parallel@1 b2_p
  unroll@1 b2_mi
  unroll@1 b2_vi
  tensorize@1 b2_ml intrinsic=amx_bf16
  prefetch@1 b2_packed next=b2_pq at=b2_qs to=L2 when $prefetch
)");
  EXPECT_THAT(RowsOf(Dense(197, 64, 48)), ElementsAre(7, 8, 9, 10, 11, 12, 13, 14, 15, 16));
}

}  // namespace
}  // namespace burnish
