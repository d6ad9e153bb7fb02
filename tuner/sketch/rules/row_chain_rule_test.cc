// Softmax and its like, row by row.
#include "base/check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/rules/rule_test_util.h"
#include "tuner/sketch/sketch_text.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kTarget[] = "cpu:arch=znver3,threads=2";

Program Softmax(DType dtype) {
  return WorkloadOf({.name = "softmax",
                     .op = "softmax",
                     .inputs = {{5, 36}},
                     .attributes = {{"axis", int64_t{1}}},
                     .dtype = dtype});
}

TEST(RowChainRuleTest, ChainOfRowsOfFloats) {
  EXPECT_EQ(TestedDrafts("row_chain", Softmax(DType::kF32), kTarget), R"(row_chain
  rows = 1 16
  width = 8
  split@1 b2.i2->(b2_ko,b2_ki) size=8 tail=guard
  rfactor@1 b2->b2_lanes loop=b2_ki
  split@1 b4.i2->(b4_ko,b4_ki) size=8 tail=guard
  rfactor@1 b4->b4_lanes loop=b4_ki
  split@1 b1.i0->(b1_p,b1_r1) parts=2
  split@1 b1_r1->(b1_rb,b1_r2) max=$rows
  split@1 b1.i1->(b1_vo,b1_vi) size=$width tail=shift
  vectorize@1 b1_vi lanes=8
  compute_at@1 b4->(b4_i0,b4_i1) inside=b1_rb
  stage@1 b4->b4_sum inside=b4_i1 scope=register
  vectorize@1 b4_lanes.b4_ki lanes=8
  compute_at@1 b4_lanes->(b4_i0l,b4_i1l,b4_kl) inside=b1_rb
  stage@1 b4_lanes->b4_acc inside=b4_i1l scope=register
  reorder@1 (b4_ko,b4_kl)
  unroll@1 b4_ko
  vectorize@1 b4_kl lanes=8
  compute_at@1 b3->(b3_i0,b3_i1) inside=b1_rb align=16
  split@1 b3_i1->(b3_vo,b3_vi) size=$width tail=shift
  vectorize@1 b3_vi lanes=8
  compute_at@1 b2->(b2_i0,b2_i1) inside=b1_rb
  stage@1 b2->b2_sum inside=b2_i1 scope=register
  vectorize@1 b2_lanes.b2_ki lanes=8
  compute_at@1 b2_lanes->(b2_i0l,b2_i1l,b2_kl) inside=b1_rb
  stage@1 b2_lanes->b2_acc inside=b2_i1l scope=register
  reorder@1 (b2_ko,b2_kl)
  unroll@1 b2_ko
  vectorize@1 b2_kl lanes=8
  parallel@1 b1_p
  stream@1 b1
)");
}

TEST(RowChainRuleTest, ChainOfRowsOfDoubles) {
  EXPECT_EQ(TestedDrafts("row_chain", Softmax(DType::kF64), kTarget), R"(row_chain
  rows = 1 16
  width = 4
  split@1 b2.i2->(b2_ko,b2_ki) size=4
  rfactor@1 b2->b2_lanes loop=b2_ki
  split@1 b4.i2->(b4_ko,b4_ki) size=4
  rfactor@1 b4->b4_lanes loop=b4_ki
  split@1 b1.i0->(b1_p,b1_r1) parts=2
  split@1 b1_r1->(b1_rb,b1_r2) max=$rows
  split@1 b1.i1->(b1_vo,b1_vi) size=$width
  vectorize@1 b1_vi lanes=4
  compute_at@1 b4->(b4_i0,b4_i1) inside=b1_rb
  stage@1 b4->b4_sum inside=b4_i1 scope=register
  vectorize@1 b4_lanes.b4_ki lanes=4
  compute_at@1 b4_lanes->(b4_i0l,b4_i1l,b4_kl) inside=b1_rb
  stage@1 b4_lanes->b4_acc inside=b4_i1l scope=register
  reorder@1 (b4_ko,b4_kl)
  vectorize@1 b4_kl lanes=4
  compute_at@1 b3->(b3_i0,b3_i1) inside=b1_rb align=8
  split@1 b3_i1->(b3_vo,b3_vi) size=$width
  vectorize@1 b3_vi lanes=4
  compute_at@1 b2->(b2_i0,b2_i1) inside=b1_rb
  stage@1 b2->b2_sum inside=b2_i1 scope=register
  vectorize@1 b2_lanes.b2_ki lanes=4
  compute_at@1 b2_lanes->(b2_i0l,b2_i1l,b2_kl) inside=b1_rb
  stage@1 b2_lanes->b2_acc inside=b2_i1l scope=register
  reorder@1 (b2_ko,b2_kl)
  vectorize@1 b2_kl lanes=4
  parallel@1 b1_p
  stream@1 b1
)");
}

TEST(RowChainRuleTest, ChainOfRowsOfBytes) {
  EXPECT_EQ(TestedDrafts("row_chain", RowDistances(5, 130), kTarget), R"(row_chain
  rows = 1 16
  width = 32
  split@1 M.k->(M_ko,M_ki) size=32 tail=guard
  rfactor@1 M->M_lanes loop=M_ki
  split@1 Y.r->(Y_p,Y_r1) parts=2
  split@1 Y_r1->(Y_rb,Y_r2) max=$rows
  split@1 Y.k->(Y_vo,Y_vi) size=$width tail=shift
  vectorize@1 Y_vi lanes=32
  compute_at@1 M->(M_i0,M_i1) inside=Y_rb
  stage@1 M->M_sum inside=M_i1 scope=register
  vectorize@1 M_lanes.M_ki lanes=32
  compute_at@1 M_lanes->(M_i0l,M_i1l,M_kl) inside=Y_rb
  stage@1 M_lanes->M_acc inside=M_i1l scope=register
  reorder@1 (M_ko,M_kl)
  unroll@1 M_ko
  vectorize@1 M_kl lanes=32
  parallel@1 Y_p
  stream@1 Y
)");
}

// 2 MiB are more than the workers' own caches hold: plain stores first, which the default takes.
TEST(RowChainRuleTest, LargeOutputsGoThroughTheLastCache) {
  const auto names = [](int64_t rows) {
    return NamesOf(DraftsOf(
        "row_chain", WorkloadOf({.name = "softmax", .op = "softmax", .inputs = {{rows, 512}}}),
        "cpu:arch=znver3,threads=2"));
  };
  EXPECT_THAT(names(1024), ElementsAre("row_chain/cached/ahead", "row_chain/cached",
                                       "row_chain/ahead", "row_chain"));
  EXPECT_THAT(names(256), ElementsAre("row_chain"));
}

// Rows at once of 3 x 36 are a part of one of the 3, whose elements follow one another.
TEST(RowChainRuleTest, RowsAtOnceDivideTheirAxis) {
  const auto rows = [](const std::vector<int64_t>& shape) {
    const std::vector<Draft> drafts = DraftsOf(
        "row_chain", WorkloadOf({.name = "softmax", .op = "softmax", .inputs = {shape}}), kTarget);
    CHECK_EQ(drafts.size(), 1u);
    return SketchOf(drafts[0]).decisions[0].values;
  };
  EXPECT_THAT(rows({108, 40}), ElementsAre(1, 16));
  EXPECT_THAT(rows({3, 36, 40}), ElementsAre(1, 12));
  EXPECT_THAT(rows({3, 1, 36, 40}), ElementsAre(1, 12));
  EXPECT_THAT(rows({3, 37, 40}), ElementsAre(1));
  // More than a share of the first cache.
  EXPECT_THAT(rows({3, 36, 2304}), ElementsAre(1));
}

// Short rows that come from beyond the workers' own caches: into the first cache, and what is
// written is not asked for.
TEST(RowChainRuleTest, ShortRowsFromAfarAreAskedForAhead) {
  const auto drafts = [](int64_t rows) {
    return DraftsOf("row_chain",
                    WorkloadOf({.name = "softmax", .op = "softmax", .inputs = {{rows, 384}}}),
                    kTarget);
  };
  // 512 KiB and 2 threads: 1 MiB.
  EXPECT_THAT(NamesOf(drafts(682)), ElementsAre("row_chain"));
  const std::vector<Draft> many = drafts(684);
  EXPECT_THAT(NamesOf(many), ElementsAre("row_chain/cached/ahead", "row_chain/cached",
                                         "row_chain/ahead", "row_chain"));
  EXPECT_THAT(ToText(SketchOf(many[0])), HasSubstr("prefetch@1 b0 next=b1_rb at=b3_vo to=L1\n"));
}

// Rows that no first cache holds are asked for in the second pass over the row before: the first
// waits for memory itself.
TEST(RowChainRuleTest, LongRowsAreAskedForAhead) {
  const auto drafts = [](const char* op, int64_t length) {
    return DraftsOf(
        "row_chain",
        WorkloadOf(
            {.name = op, .op = op, .inputs = {{4, length}}, .attributes = {{"axis", int64_t{1}}}}),
        kTarget);
  };
  EXPECT_THAT(NamesOf(drafts("softmax", 8192)), ElementsAre("row_chain"));
  EXPECT_THAT(NamesOf(drafts("softmax", 8224)), ElementsAre("row_chain/ahead", "row_chain"));
  EXPECT_THAT(
      NamesOf(drafts("softmax", 262144)),
      ElementsAre("row_chain/cached/ahead", "row_chain/cached", "row_chain/ahead", "row_chain"));
  // Of which the second cache holds several: the rows that are written are asked for too.
  const std::vector<Draft> many =
      DraftsOf("row_chain",
               WorkloadOf({.name = "softmax", .op = "softmax", .inputs = {{40, 16384}}}), kTarget);
  EXPECT_THAT(NamesOf(many), ElementsAre("row_chain/cached/ahead/all", "row_chain/cached/ahead",
                                         "row_chain/cached", "row_chain/ahead", "row_chain"));
  EXPECT_THAT(ToText(SketchOf(many[0])), HasSubstr("prefetch@1 b0 next=b1_rb at=b3_vo to=L2\n"
                                                   "  prefetch@1 b1 next=b1_rb at=b3_vo to=L2\n"));
  EXPECT_THAT(ToText(SketchOf(drafts("softmax", 8224)[0])),
              HasSubstr("prefetch@1 b0 next=b1_rb at=b3_vo to=L2\n"));
  // The sum of powers of e reads the input itself.
  EXPECT_THAT(ToText(SketchOf(drafts("log_softmax", 8224)[0])),
              HasSubstr("prefetch@1 b0 next=b1_rb at=b3_ko to=L2\n"));
}

}  // namespace
}  // namespace burnish
