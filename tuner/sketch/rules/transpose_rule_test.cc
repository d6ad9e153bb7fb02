// Rows that become columns.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/rules/rule_test_util.h"
#include "tuner/sketch/sketch_text.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

constexpr char kTarget[] = "cpu:arch=znver3,threads=2";

Program Turned(DType dtype) {
  return WorkloadOf({.name = "turn",
                     .op = "transpose",
                     .inputs = {{3, 33, 40}},
                     .attributes = {{"perm", Ints{0, 2, 1}}},
                     .dtype = dtype});
}

TEST(TransposeRuleTest, TilesOfLinesOfFloats) {
  EXPECT_EQ(TestedDrafts("transpose", Turned(DType::kF32), kTarget), R"(transpose
  columns = 16 32 64 128
  reorder@1 (b1.i0,b1.i1,b1.i2)
  split@1 b1.i2->(b1_vo,b1_vi) size=8
  split@1 b1.i1->(b1_co,b1_ci) size=$columns
  reorder@1 (b1.i0,b1_vo,b1_co,b1_ci,b1_vi)
  vectorize@1 b1_vi lanes=8
transpose/squares
  squares = 2 4 8 16
  reorder@1 (b1.i0,b1.i1,b1.i2)
  split@1 b1.i2->(b1_vo,b1_vi) size=8
  split@1 b1.i1->(b1_cs,b1_cr) size=8
  split@1 b1_cs->(b1_co,b1_ci) size=$squares
  reorder@1 (b1.i0,b1_vo,b1_co,b1_ci,b1_cr,b1_vi)
  unroll@1 b1_cr
  vectorize@1 b1_vi lanes=8
transpose/squares/rows
  squares = 2 4 8 16
  reorder@1 (b1.i0,b1.i1,b1.i2)
  split@1 b1.i2->(b1_vo,b1_vi) size=8
  split@1 b1.i1->(b1_cs,b1_cr) size=8
  split@1 b1_cs->(b1_co,b1_ci) size=$squares
  reorder@1 (b1.i0,b1_co,b1_vo,b1_ci,b1_cr,b1_vi)
  unroll@1 b1_cr
  vectorize@1 b1_vi lanes=8
)");
}

TEST(TransposeRuleTest, TilesOfLinesOfDoubles) {
  EXPECT_EQ(TestedDrafts("transpose", Turned(DType::kF64), kTarget), R"(transpose
  columns = 8 16 32 64 128
  reorder@1 (b1.i0,b1.i1,b1.i2)
  split@1 b1.i2->(b1_vo,b1_vi) size=4
  split@1 b1.i1->(b1_co,b1_ci) size=$columns
  reorder@1 (b1.i0,b1_vo,b1_co,b1_ci,b1_vi)
  vectorize@1 b1_vi lanes=4
transpose/squares
  squares = 2 4 8 16 32
  reorder@1 (b1.i0,b1.i1,b1.i2)
  split@1 b1.i2->(b1_vo,b1_vi) size=4
  split@1 b1.i1->(b1_cs,b1_cr) size=4
  split@1 b1_cs->(b1_co,b1_ci) size=$squares
  reorder@1 (b1.i0,b1_vo,b1_co,b1_ci,b1_cr,b1_vi)
  unroll@1 b1_cr
  vectorize@1 b1_vi lanes=4
transpose/squares/rows
  squares = 2 4 8 16 32
  reorder@1 (b1.i0,b1.i1,b1.i2)
  split@1 b1.i2->(b1_vo,b1_vi) size=4
  split@1 b1.i1->(b1_cs,b1_cr) size=4
  split@1 b1_cs->(b1_co,b1_ci) size=$squares
  reorder@1 (b1.i0,b1_co,b1_vo,b1_ci,b1_cr,b1_vi)
  unroll@1 b1_cr
  vectorize@1 b1_vi lanes=4
)");
}

TEST(TransposeRuleTest, TilesOfLinesOfBytes) {
  EXPECT_EQ(TestedDrafts("transpose", Turned(DType::kI8), kTarget), R"(transpose
  columns = 64 128
  reorder@1 (b1.i0,b1.i1,b1.i2)
  split@1 b1.i2->(b1_vo,b1_vi) size=32
  split@1 b1.i1->(b1_co,b1_ci) size=$columns
  reorder@1 (b1.i0,b1_vo,b1_co,b1_ci,b1_vi)
  vectorize@1 b1_vi lanes=32
transpose/squares
  squares = 4 8
  reorder@1 (b1.i0,b1.i1,b1.i2)
  split@1 b1.i2->(b1_vo,b1_vi) size=16
  split@1 b1.i1->(b1_cs,b1_cr) size=16
  split@1 b1_cs->(b1_co,b1_ci) size=$squares
  reorder@1 (b1.i0,b1_vo,b1_co,b1_ci,b1_cr,b1_vi)
  unroll@1 b1_cr
  vectorize@1 b1_vi lanes=16
transpose/squares/rows
  squares = 4 8
  reorder@1 (b1.i0,b1.i1,b1.i2)
  split@1 b1.i2->(b1_vo,b1_vi) size=16
  split@1 b1.i1->(b1_cs,b1_cr) size=16
  split@1 b1_cs->(b1_co,b1_ci) size=$squares
  reorder@1 (b1.i0,b1_co,b1_vo,b1_ci,b1_cr,b1_vi)
  unroll@1 b1_cr
  vectorize@1 b1_vi lanes=16
)");
}

// Pixels of an image are one row for squares, which 7 of them do not fill.
TEST(TransposeRuleTest, SquaresGoOnInTheNextRow) {
  const std::string drafts = TestedDrafts("transpose",
                                          WorkloadOf({.name = "turn",
                                                      .op = "transpose",
                                                      .inputs = {{2, 40, 7, 7}},
                                                      .attributes = {{"perm", Ints{0, 2, 3, 1}}}}),
                                          kTarget);
  EXPECT_NE(drafts.find("fuse@1 (b1.i1,b1.i2)->b1_c"), std::string::npos) << drafts;
}

// Who takes which part of 256 x 512 turned: the longer side, where the workers' own caches hold
// all, in either order of writing.
TEST(TransposeRuleTest, WorkersShareTheLongerSide) {
  const auto drafts = [](int64_t rows, int64_t columns) {
    return DraftsOf("transpose",
                    WorkloadOf({.name = "turn",
                                .op = "transpose",
                                .inputs = {{1, rows, columns}},
                                .attributes = {{"perm", Ints{0, 2, 1}}}}),
                    kTarget);
  };
  const auto shares = [](const Draft& draft, absl::string_view loop) {
    return absl::StrContains(ToText(SketchOf(draft)),
                             absl::StrCat("split@1 ", loop, "->(b1_p,b1_p1) parts=2"));
  };
  // 128 columns: what is read and what is written are 256 KiB, of 1 MiB.
  for (const Draft& draft : drafts(256, 128)) EXPECT_TRUE(shares(draft, "b1_vo")) << draft.name;
  for (const Draft& draft : drafts(128, 256)) EXPECT_TRUE(shares(draft, "b1_co")) << draft.name;
  EXPECT_THAT(ToText(SketchOf(drafts(256, 128)[2])),
              HasSubstr("reorder@1 (b1_p,b1.i0,b1_co,b1_p1,b1_ci,b1_cr,b1_vi)\n"));
  // 1 MiB is more: workers write whole rows of their own, or each some columns of all.
  const std::vector<Draft> large = drafts(1024, 512);
  EXPECT_TRUE(shares(large[1], "b1_vo"));
  EXPECT_TRUE(shares(large[2], "b1_co"));
}

}  // namespace
}  // namespace burnish
