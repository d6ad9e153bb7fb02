// Two products and the rows between them.
#include <algorithm>
#include <string>

#include "absl/status/statusor.h"
#include "base/check.h"
#include "compiler/ir/parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/rules/rule_test_util.h"

namespace burnish {
namespace {

using ::testing::StartsWith;

constexpr char kTarget[] = "cpu:arch=znver3,threads=2";

Program Attention(DType dtype) {
  return AttentionWorkload(/*rows=*/5, /*keys=*/24, /*heads=*/2, /*size=*/16, dtype);
}

TEST(ContractionChainRuleTest, AttentionByBlocksOfRowsOfFloats) {
  EXPECT_EQ(TestedDrafts("contraction_chain", Attention(DType::kF32), kTarget),
            R"(contraction_chain/batch
  mr = 1 2 3 4 5
  nr = 8 24
  nd = 8 16
  rows = 5
  width = 8
  require $mr <= $rows
  require 1 <= (5 + ($rows - 1)) // $rows
  require $mr * ($nr // 8) + min($mr, $nr // 8) + 1 <= 16
  require 8 <= $mr * ($nr // 8) || ($mr == 5 || $nr == 24)
  require $mr * ($nd // 8) + min($mr, $nd // 8) + 1 <= 16
  require 8 <= $mr * ($nd // 8) || ($mr == 5 || $nd == 16)
  split@1 b5.i4->(b5_ko,b5_ki) size=8
  rfactor@1 b5->b5_lanes loop=b5_ki
  split@1 b7.i4->(b7_ko,b7_ki) size=8
  rfactor@1 b7->b7_lanes loop=b7_ki
  fuse@1 (b3.i0,b3.i1)->b3_g
  split@1 b3.i2->(b3_mb,b3_m1) max=$rows
  split@1 b3_g->(b3_p,b3_g1) parts=2
  split@1 b3_m1->(b3_mt,b3_mi) max=$mr
  split@1 b3.i3->(b3_vp,b3_vi) size=$nd
  split@1 b3.i4->(b3_qo,b3_qi) size=4
  reorder@1 (b3_p,b3_g1,b3_mb,b3_vp,b3_mt,b3_qo,b3_qi,b3_mi,b3_vi)
  stage@1 b3->b3_acc inside=b3_mt scope=register
  unroll@1 b3_qi
  unroll@1 b3_mi
  vectorize@1 b3_vi lanes=8
  relayout@1 b2->b3_packed dims=(b3_g,b3_vp,b3.i4,b3_vi)
  compute_at@1 b3_packed->(b3_packed_0,b3_packed_1,b3_packed_2,b3_packed_3) inside=b3_g1
  vectorize@1 b3_packed_3 lanes=8
  compute_at@1 b8->(b8_i0,b8_i1,b8_i2,b8_i3) inside=b3_mb align=16
  split@1 b8_i3->(b8_vo,b8_vi) size=$width
  vectorize@1 b8_vi lanes=8
  compute_at@1 b7->(b7_i0,b7_i1,b7_i2,b7_i3) inside=b3_mb
  stage@1 b7->b7_sum inside=b7_i3 scope=register
  vectorize@1 b7_lanes.b7_ki lanes=8
  compute_at@1 b7_lanes->(b7_i0l,b7_i1l,b7_i2l,b7_i3l,b7_kl) inside=b3_mb
  stage@1 b7_lanes->b7_acc inside=b7_i3l scope=register
  reorder@1 (b7_ko,b7_kl)
  vectorize@1 b7_kl lanes=8
  compute_at@1 b6->(b6_i0,b6_i1,b6_i2,b6_i3) inside=b3_mb align=16
  split@1 b6_i3->(b6_vo,b6_vi) size=$width
  vectorize@1 b6_vi lanes=8
  compute_at@1 b5->(b5_i0,b5_i1,b5_i2,b5_i3) inside=b3_mb
  stage@1 b5->b5_sum inside=b5_i3 scope=register
  vectorize@1 b5_lanes.b5_ki lanes=8
  compute_at@1 b5_lanes->(b5_i0l,b5_i1l,b5_i2l,b5_i3l,b5_kl) inside=b3_mb
  stage@1 b5_lanes->b5_acc inside=b5_i3l scope=register
  reorder@1 (b5_ko,b5_kl)
  vectorize@1 b5_kl lanes=8
  compute_at@1 b4->(b4_i0,b4_i1,b4_i2,b4_i3) inside=b3_mb align=16
  split@1 b4_i2->(b4_mt,b4_mi) max=$mr
  split@1 b4_i3->(b4_vp,b4_vi) size=$nr
  split@1 b4.i4->(b4_qo,b4_qi) size=4
  reorder@1 (b4_vp,b4_mt,b4_qo,b4_qi,b4_mi,b4_vi)
  stage@1 b4->b4_acc inside=b4_mt scope=register
  unroll@1 b4_qi
  unroll@1 b4_mi
  vectorize@1 b4_vi lanes=8
  relayout@1 b1->b4_packed dims=(b4.i1,b4_vp,b4.i4,b4_vi)
  compute_at@1 b4_packed->(b4_packed_0,b4_packed_1,b4_packed_2,b4_packed_3) inside=b3_g1
  vectorize@1 b4_packed_3 lanes=8
  parallel@1 b3_p
contraction_chain/rows
  mr = 1 2 3 4 5
  nr = 8 24
  nd = 8 16
  rows = 3
  width = 8
  require $mr <= $rows
  require 2 <= (5 + ($rows - 1)) // $rows
  require $mr * ($nr // 8) + min($mr, $nr // 8) + 1 <= 16
  require 8 <= $mr * ($nr // 8) || ($mr == 5 || $nr == 24)
  require $mr * ($nd // 8) + min($mr, $nd // 8) + 1 <= 16
  require 8 <= $mr * ($nd // 8) || ($mr == 5 || $nd == 16)
  split@1 b5.i4->(b5_ko,b5_ki) size=8
  rfactor@1 b5->b5_lanes loop=b5_ki
  split@1 b7.i4->(b7_ko,b7_ki) size=8
  rfactor@1 b7->b7_lanes loop=b7_ki
  fuse@1 (b3.i0,b3.i1)->b3_g
  split@1 b3.i2->(b3_mb,b3_m1) max=$rows
  split@1 b3_mb->(b3_p,b3_mb1) parts=2
  split@1 b3_m1->(b3_mt,b3_mi) max=$mr
  split@1 b3.i3->(b3_vp,b3_vi) size=$nd
  split@1 b3.i4->(b3_qo,b3_qi) size=4
  reorder@1 (b3_p,b3_g,b3_mb1,b3_vp,b3_mt,b3_qo,b3_qi,b3_mi,b3_vi)
  stage@1 b3->b3_acc inside=b3_mt scope=register
  unroll@1 b3_qi
  unroll@1 b3_mi
  vectorize@1 b3_vi lanes=8
  relayout@1 b2->b3_packed dims=(b3_g,b3_vp,b3.i4,b3_vi)
  compute_at@1 b3_packed->(b3_packed_0,b3_packed_1,b3_packed_2,b3_packed_3) inside=b3_g
  vectorize@1 b3_packed_3 lanes=8
  compute_at@1 b8->(b8_i0,b8_i1,b8_i2,b8_i3) inside=b3_mb1 align=16
  split@1 b8_i3->(b8_vo,b8_vi) size=$width
  vectorize@1 b8_vi lanes=8
  compute_at@1 b7->(b7_i0,b7_i1,b7_i2,b7_i3) inside=b3_mb1
  stage@1 b7->b7_sum inside=b7_i3 scope=register
  vectorize@1 b7_lanes.b7_ki lanes=8
  compute_at@1 b7_lanes->(b7_i0l,b7_i1l,b7_i2l,b7_i3l,b7_kl) inside=b3_mb1
  stage@1 b7_lanes->b7_acc inside=b7_i3l scope=register
  reorder@1 (b7_ko,b7_kl)
  vectorize@1 b7_kl lanes=8
  compute_at@1 b6->(b6_i0,b6_i1,b6_i2,b6_i3) inside=b3_mb1 align=16
  split@1 b6_i3->(b6_vo,b6_vi) size=$width
  vectorize@1 b6_vi lanes=8
  compute_at@1 b5->(b5_i0,b5_i1,b5_i2,b5_i3) inside=b3_mb1
  stage@1 b5->b5_sum inside=b5_i3 scope=register
  vectorize@1 b5_lanes.b5_ki lanes=8
  compute_at@1 b5_lanes->(b5_i0l,b5_i1l,b5_i2l,b5_i3l,b5_kl) inside=b3_mb1
  stage@1 b5_lanes->b5_acc inside=b5_i3l scope=register
  reorder@1 (b5_ko,b5_kl)
  vectorize@1 b5_kl lanes=8
  compute_at@1 b4->(b4_i0,b4_i1,b4_i2,b4_i3) inside=b3_mb1 align=16
  split@1 b4_i2->(b4_mt,b4_mi) max=$mr
  split@1 b4_i3->(b4_vp,b4_vi) size=$nr
  split@1 b4.i4->(b4_qo,b4_qi) size=4
  reorder@1 (b4_vp,b4_mt,b4_qo,b4_qi,b4_mi,b4_vi)
  stage@1 b4->b4_acc inside=b4_mt scope=register
  unroll@1 b4_qi
  unroll@1 b4_mi
  vectorize@1 b4_vi lanes=8
  relayout@1 b1->b4_packed dims=(b4.i1,b4_vp,b4.i4,b4_vi)
  compute_at@1 b4_packed->(b4_packed_0,b4_packed_1,b4_packed_2,b4_packed_3) inside=b3_g
  vectorize@1 b4_packed_3 lanes=8
  parallel@1 b3_p
)");
}

TEST(ContractionChainRuleTest, AttentionByBlocksOfRowsOfDoubles) {
  EXPECT_EQ(TestedDrafts("contraction_chain", Attention(DType::kF64), kTarget),
            R"(contraction_chain/batch
  mr = 1 2 3 4 5
  nr = 4 8 12
  nd = 4 8 16
  rows = 5
  width = 4 8
  require $mr <= $rows
  require 1 <= (5 + ($rows - 1)) // $rows
  require $mr * ($nr // 4) + min($mr, $nr // 4) + 1 <= 16
  require 8 <= $mr * ($nr // 4) || ($mr == 5 || $nr == 12)
  require $mr * ($nd // 4) + min($mr, $nd // 4) + 1 <= 16
  require 8 <= $mr * ($nd // 4) || ($mr == 5 || $nd == 16)
  split@1 b5.i4->(b5_ko,b5_ki) size=4
  rfactor@1 b5->b5_lanes loop=b5_ki
  split@1 b7.i4->(b7_ko,b7_ki) size=4
  rfactor@1 b7->b7_lanes loop=b7_ki
  fuse@1 (b3.i0,b3.i1)->b3_g
  split@1 b3.i2->(b3_mb,b3_m1) max=$rows
  split@1 b3_g->(b3_p,b3_g1) parts=2
  split@1 b3_m1->(b3_mt,b3_mi) max=$mr
  split@1 b3.i3->(b3_vp,b3_vi) size=$nd
  split@1 b3.i4->(b3_qo,b3_qi) size=4
  reorder@1 (b3_p,b3_g1,b3_mb,b3_vp,b3_mt,b3_qo,b3_qi,b3_mi,b3_vi)
  stage@1 b3->b3_acc inside=b3_mt scope=register
  unroll@1 b3_qi
  unroll@1 b3_mi
  vectorize@1 b3_vi lanes=4
  relayout@1 b2->b3_packed dims=(b3_g,b3_vp,b3.i4,b3_vi)
  compute_at@1 b3_packed->(b3_packed_0,b3_packed_1,b3_packed_2,b3_packed_3) inside=b3_g1
  vectorize@1 b3_packed_3 lanes=4
  compute_at@1 b8->(b8_i0,b8_i1,b8_i2,b8_i3) inside=b3_mb
  split@1 b8_i3->(b8_vo,b8_vi) size=$width
  vectorize@1 b8_vi lanes=4
  compute_at@1 b7->(b7_i0,b7_i1,b7_i2,b7_i3) inside=b3_mb
  stage@1 b7->b7_sum inside=b7_i3 scope=register
  vectorize@1 b7_lanes.b7_ki lanes=4
  compute_at@1 b7_lanes->(b7_i0l,b7_i1l,b7_i2l,b7_i3l,b7_kl) inside=b3_mb
  stage@1 b7_lanes->b7_acc inside=b7_i3l scope=register
  reorder@1 (b7_ko,b7_kl)
  vectorize@1 b7_kl lanes=4
  compute_at@1 b6->(b6_i0,b6_i1,b6_i2,b6_i3) inside=b3_mb
  split@1 b6_i3->(b6_vo,b6_vi) size=$width
  vectorize@1 b6_vi lanes=4
  compute_at@1 b5->(b5_i0,b5_i1,b5_i2,b5_i3) inside=b3_mb
  stage@1 b5->b5_sum inside=b5_i3 scope=register
  vectorize@1 b5_lanes.b5_ki lanes=4
  compute_at@1 b5_lanes->(b5_i0l,b5_i1l,b5_i2l,b5_i3l,b5_kl) inside=b3_mb
  stage@1 b5_lanes->b5_acc inside=b5_i3l scope=register
  reorder@1 (b5_ko,b5_kl)
  vectorize@1 b5_kl lanes=4
  compute_at@1 b4->(b4_i0,b4_i1,b4_i2,b4_i3) inside=b3_mb
  split@1 b4_i2->(b4_mt,b4_mi) max=$mr
  split@1 b4_i3->(b4_vp,b4_vi) size=$nr
  split@1 b4.i4->(b4_qo,b4_qi) size=4
  reorder@1 (b4_vp,b4_mt,b4_qo,b4_qi,b4_mi,b4_vi)
  stage@1 b4->b4_acc inside=b4_mt scope=register
  unroll@1 b4_qi
  unroll@1 b4_mi
  vectorize@1 b4_vi lanes=4
  relayout@1 b1->b4_packed dims=(b4.i1,b4_vp,b4.i4,b4_vi)
  compute_at@1 b4_packed->(b4_packed_0,b4_packed_1,b4_packed_2,b4_packed_3) inside=b3_g1
  vectorize@1 b4_packed_3 lanes=4
  parallel@1 b3_p
contraction_chain/rows
  mr = 1 2 3 4 5
  nr = 4 8 12
  nd = 4 8 16
  rows = 3
  width = 4 8
  require $mr <= $rows
  require 2 <= (5 + ($rows - 1)) // $rows
  require $mr * ($nr // 4) + min($mr, $nr // 4) + 1 <= 16
  require 8 <= $mr * ($nr // 4) || ($mr == 5 || $nr == 12)
  require $mr * ($nd // 4) + min($mr, $nd // 4) + 1 <= 16
  require 8 <= $mr * ($nd // 4) || ($mr == 5 || $nd == 16)
  split@1 b5.i4->(b5_ko,b5_ki) size=4
  rfactor@1 b5->b5_lanes loop=b5_ki
  split@1 b7.i4->(b7_ko,b7_ki) size=4
  rfactor@1 b7->b7_lanes loop=b7_ki
  fuse@1 (b3.i0,b3.i1)->b3_g
  split@1 b3.i2->(b3_mb,b3_m1) max=$rows
  split@1 b3_mb->(b3_p,b3_mb1) parts=2
  split@1 b3_m1->(b3_mt,b3_mi) max=$mr
  split@1 b3.i3->(b3_vp,b3_vi) size=$nd
  split@1 b3.i4->(b3_qo,b3_qi) size=4
  reorder@1 (b3_p,b3_g,b3_mb1,b3_vp,b3_mt,b3_qo,b3_qi,b3_mi,b3_vi)
  stage@1 b3->b3_acc inside=b3_mt scope=register
  unroll@1 b3_qi
  unroll@1 b3_mi
  vectorize@1 b3_vi lanes=4
  relayout@1 b2->b3_packed dims=(b3_g,b3_vp,b3.i4,b3_vi)
  compute_at@1 b3_packed->(b3_packed_0,b3_packed_1,b3_packed_2,b3_packed_3) inside=b3_g
  vectorize@1 b3_packed_3 lanes=4
  compute_at@1 b8->(b8_i0,b8_i1,b8_i2,b8_i3) inside=b3_mb1
  split@1 b8_i3->(b8_vo,b8_vi) size=$width
  vectorize@1 b8_vi lanes=4
  compute_at@1 b7->(b7_i0,b7_i1,b7_i2,b7_i3) inside=b3_mb1
  stage@1 b7->b7_sum inside=b7_i3 scope=register
  vectorize@1 b7_lanes.b7_ki lanes=4
  compute_at@1 b7_lanes->(b7_i0l,b7_i1l,b7_i2l,b7_i3l,b7_kl) inside=b3_mb1
  stage@1 b7_lanes->b7_acc inside=b7_i3l scope=register
  reorder@1 (b7_ko,b7_kl)
  vectorize@1 b7_kl lanes=4
  compute_at@1 b6->(b6_i0,b6_i1,b6_i2,b6_i3) inside=b3_mb1
  split@1 b6_i3->(b6_vo,b6_vi) size=$width
  vectorize@1 b6_vi lanes=4
  compute_at@1 b5->(b5_i0,b5_i1,b5_i2,b5_i3) inside=b3_mb1
  stage@1 b5->b5_sum inside=b5_i3 scope=register
  vectorize@1 b5_lanes.b5_ki lanes=4
  compute_at@1 b5_lanes->(b5_i0l,b5_i1l,b5_i2l,b5_i3l,b5_kl) inside=b3_mb1
  stage@1 b5_lanes->b5_acc inside=b5_i3l scope=register
  reorder@1 (b5_ko,b5_kl)
  vectorize@1 b5_kl lanes=4
  compute_at@1 b4->(b4_i0,b4_i1,b4_i2,b4_i3) inside=b3_mb1
  split@1 b4_i2->(b4_mt,b4_mi) max=$mr
  split@1 b4_i3->(b4_vp,b4_vi) size=$nr
  split@1 b4.i4->(b4_qo,b4_qi) size=4
  reorder@1 (b4_vp,b4_mt,b4_qo,b4_qi,b4_mi,b4_vi)
  stage@1 b4->b4_acc inside=b4_mt scope=register
  unroll@1 b4_qi
  unroll@1 b4_mi
  vectorize@1 b4_vi lanes=4
  relayout@1 b1->b4_packed dims=(b4.i1,b4_vp,b4.i4,b4_vi)
  compute_at@1 b4_packed->(b4_packed_0,b4_packed_1,b4_packed_2,b4_packed_3) inside=b3_g
  vectorize@1 b4_packed_3 lanes=4
  parallel@1 b3_p
)");
}

// From the draft that reads operands in place.
std::string DirectDraft(int64_t rows, DType dtype) {
  const Program program = AttentionWorkload(rows, /*keys=*/37, /*heads=*/2, /*size=*/16, dtype);
  const std::string text = TestedDrafts("contraction_chain", program, kTarget);
  return text.substr(std::min(text.size(), text.find("contraction_chain/direct")));
}

// Integers have no softmax: scores without their row's maximum take its place.
Program ChainOfBytes() {
  const absl::StatusOr<Program> program = ParseProgram(R"(program/1 chain
input Q: i8[1, 2, 5, 16]
input K: i8[1, 2, 32, 16]
input V: i8[1, 2, 32, 32]
output O: i8[1, 2, 5, 32]
temp S: i8[1, 2, 5, 32]
temp M: i8[1, 2, 5, 1]
temp P: i8[1, 2, 5, 32]
block S(b in 1, h in 2, r in 5, c in 32; k in 16) {
  step S[b, h, r, c] += Q[b, h, r, k] * K[b, h, c, k]
}
block M(b in 1, h in 2, r in 5, c in 1; k in 32) {
  step M[b, h, r, c] max= S[b, h, r, k]
}
block P(b in 1, h in 2, r in 5, c in 32) {
  step P[b, h, r, c] = S[b, h, r, c] - M[b, h, r, 0]
}
block O(b in 1, h in 2, r in 5, d in 32; k in 32) {
  step O[b, h, r, d] += P[b, h, r, k] * V[b, h, k, d]
}
)");
  CHECK_OK(program);
  return *program;
}

TEST(ContractionChainRuleTest, ProductsAndRowsOfBytes) {
  const std::string text = TestedDrafts("contraction_chain", ChainOfBytes(), kTarget);
  EXPECT_THAT(text, StartsWith(R"(contraction_chain/batch
  mr = 1 2 3 4 5
  nr = 32
  nd = 32
  rows = 5
  width = 16 32
  require $mr <= $rows
  require 1 <= (5 + ($rows - 1)) // $rows
  require $mr * ($nr // 32) + min($mr, $nr // 32) + 1 <= 16
  require 8 <= $mr * ($nr // 32) || ($mr == 5 || $nr == 32)
  require $mr * ($nd // 32) + min($mr, $nd // 32) + 1 <= 16
  require 8 <= $mr * ($nd // 32) || ($mr == 5 || $nd == 32)
  split@1 M.k->(M_ko,M_ki) size=16
  rfactor@1 M->M_lanes loop=M_ki
  fuse@1 (O.b,O.h)->O_g
  split@1 O.r->(O_mb,O_m1) max=$rows
  split@1 O_g->(O_p,O_g1) parts=2
  split@1 O_m1->(O_mt,O_mi) max=$mr
  split@1 O.d->(O_vp,O_vi) size=$nd
  split@1 O.k->(O_qo,O_qi) size=4
  reorder@1 (O_p,O_g1,O_mb,O_vp,O_mt,O_qo,O_qi,O_mi,O_vi)
  stage@1 O->O_acc inside=O_mt scope=register
  unroll@1 O_qi
  unroll@1 O_mi
  vectorize@1 O_vi lanes=32
  relayout@1 V->O_packed dims=(O_g,O_vp,O.k,O_vi)
  compute_at@1 O_packed->(O_packed_0,O_packed_1,O_packed_2,O_packed_3) inside=O_g1
  vectorize@1 O_packed_3 lanes=32
  compute_at@1 P->(P_i0,P_i1,P_i2,P_i3) inside=O_mb align=64
  split@1 P_i3->(P_vo,P_vi) size=$width
  vectorize@1 P_vi lanes=16
  compute_at@1 M->(M_i0,M_i1,M_i2,M_i3) inside=O_mb
  stage@1 M->M_sum inside=M_i3 scope=register
  vectorize@1 M_lanes.M_ki lanes=16
  compute_at@1 M_lanes->(M_i0l,M_i1l,M_i2l,M_i3l,M_kl) inside=O_mb
  stage@1 M_lanes->M_acc inside=M_i3l scope=register
  reorder@1 (M_ko,M_kl)
  vectorize@1 M_kl lanes=16
  compute_at@1 S->(S_i0,S_i1,S_i2,S_i3) inside=O_mb align=64
  split@1 S_i2->(S_mt,S_mi) max=$mr
  split@1 S_i3->(S_vp,S_vi) size=$nr
  split@1 S.k->(S_qo,S_qi) size=4
  reorder@1 (S_vp,S_mt,S_qo,S_qi,S_mi,S_vi)
  stage@1 S->S_acc inside=S_mt scope=register
  unroll@1 S_qi
  unroll@1 S_mi
  vectorize@1 S_vi lanes=32
  relayout@1 K->S_packed dims=(S.h,S_vp,S.k,S_vi)
  compute_at@1 S_packed->(S_packed_0,S_packed_1,S_packed_2,S_packed_3) inside=O_g1
  vectorize@1 S_packed_3 lanes=32
  parallel@1 O_p
contraction_chain/rows
)"));
}

TEST(ContractionChainRuleTest, OneQueryOfFloatsReadsKeysAndValuesInPlace) {
  EXPECT_EQ(DirectDraft(1, DType::kF32), R"(contraction_chain/direct
  mr = 1
  nr = 1 2 3 4 5 6
  nd = 8 16
  rows = 1
  width = 8
  require $mr <= $rows
  require 1 <= (1 + ($rows - 1)) // $rows
  require $mr * $nr + min($mr, $nr) + 1 <= 16
  require $mr * ($nd // 8) + min($mr, $nd // 8) + 1 <= 16
  require 8 <= $mr * ($nd // 8) || ($mr == 1 || $nd == 16)
  split@1 b5.i4->(b5_ko,b5_ki) size=8 tail=guard
  rfactor@1 b5->b5_lanes loop=b5_ki
  split@1 b7.i4->(b7_ko,b7_ki) size=8 tail=guard
  rfactor@1 b7->b7_lanes loop=b7_ki
  fuse@1 (b3.i0,b3.i1)->b3_g
  split@1 b3.i2->(b3_mb,b3_m1) max=$rows
  split@1 b3_g->(b3_p,b3_g1) parts=2
  split@1 b3_m1->(b3_mt,b3_mi) max=$mr
  split@1 b3.i3->(b3_vp,b3_vi) size=$nd
  split@1 b3.i4->(b3_qo,b3_qi) size=4
  reorder@1 (b3_p,b3_g1,b3_mb,b3_vp,b3_mt,b3_qo,b3_qi,b3_mi,b3_vi)
  stage@1 b3->b3_acc inside=b3_mt scope=register
  unroll@1 b3_qi
  unroll@1 b3_mi
  vectorize@1 b3_vi lanes=8
  compute_at@1 b8->(b8_i0,b8_i1,b8_i2,b8_i3) inside=b3_mb align=16
  split@1 b8_i3->(b8_vo,b8_vi) size=$width tail=shift
  vectorize@1 b8_vi lanes=8
  compute_at@1 b7->(b7_i0,b7_i1,b7_i2,b7_i3) inside=b3_mb
  stage@1 b7->b7_sum inside=b7_i3 scope=register
  vectorize@1 b7_lanes.b7_ki lanes=8
  compute_at@1 b7_lanes->(b7_i0l,b7_i1l,b7_i2l,b7_i3l,b7_kl) inside=b3_mb
  stage@1 b7_lanes->b7_acc inside=b7_i3l scope=register
  reorder@1 (b7_ko,b7_kl)
  unroll@1 b7_ko
  vectorize@1 b7_kl lanes=8
  compute_at@1 b6->(b6_i0,b6_i1,b6_i2,b6_i3) inside=b3_mb align=16
  split@1 b6_i3->(b6_vo,b6_vi) size=$width tail=shift
  vectorize@1 b6_vi lanes=8
  compute_at@1 b5->(b5_i0,b5_i1,b5_i2,b5_i3) inside=b3_mb
  stage@1 b5->b5_sum inside=b5_i3 scope=register
  vectorize@1 b5_lanes.b5_ki lanes=8
  compute_at@1 b5_lanes->(b5_i0l,b5_i1l,b5_i2l,b5_i3l,b5_kl) inside=b3_mb
  stage@1 b5_lanes->b5_acc inside=b5_i3l scope=register
  reorder@1 (b5_ko,b5_kl)
  unroll@1 b5_ko
  vectorize@1 b5_kl lanes=8
  split@1 b4.i4->(b4_qo,b4_qi) size=8
  rfactor@1 b4->b4_lanes loop=b4_qi
  compute_at@1 b4->(b4_i0,b4_i1,b4_i2,b4_i3) inside=b3_mb align=16
  split@1 b4_i3->(b4_cb,b4_c1) max=32
  reorder@1 (b4_cb,b4_i2,b4_c1)
  stage@1 b4->b4_sum inside=b4_c1 scope=register
  vectorize@1 b4_lanes.b4_qi lanes=8
  compute_at@1 b4_lanes->(b4_l0,b4_l1,b4_l2,b4_l3,b4_l4) inside=b4_cb
  split@1 b4_l2->(b4_mt,b4_mi) max=$mr
  split@1 b4_l3->(b4_vt,b4_vi) max=$nr
  reorder@1 (b4_mt,b4_vt,b4_qo,b4_mi,b4_vi,b4_l4)
  stage@1 b4_lanes->b4_acc inside=b4_vt scope=register
  unroll@1 b4_mi
  unroll@1 b4_vi
  vectorize@1 b4_l4 lanes=8
  parallel@1 b3_p
)");
}

TEST(ContractionChainRuleTest, OneQueryOfDoublesReadsKeysAndValuesInPlace) {
  EXPECT_EQ(DirectDraft(1, DType::kF64), R"(contraction_chain/direct
  mr = 1
  nr = 1 2 3 4 5 6
  nd = 4 8 16
  rows = 1
  width = 4 8
  require $mr <= $rows
  require 1 <= (1 + ($rows - 1)) // $rows
  require $mr * $nr + min($mr, $nr) + 1 <= 16
  require $mr * ($nd // 4) + min($mr, $nd // 4) + 1 <= 16
  require 8 <= $mr * ($nd // 4) || ($mr == 1 || $nd == 16)
  split@1 b5.i4->(b5_ko,b5_ki) size=4 tail=guard
  rfactor@1 b5->b5_lanes loop=b5_ki
  split@1 b7.i4->(b7_ko,b7_ki) size=4 tail=guard
  rfactor@1 b7->b7_lanes loop=b7_ki
  fuse@1 (b3.i0,b3.i1)->b3_g
  split@1 b3.i2->(b3_mb,b3_m1) max=$rows
  split@1 b3_g->(b3_p,b3_g1) parts=2
  split@1 b3_m1->(b3_mt,b3_mi) max=$mr
  split@1 b3.i3->(b3_vp,b3_vi) size=$nd
  split@1 b3.i4->(b3_qo,b3_qi) size=4
  reorder@1 (b3_p,b3_g1,b3_mb,b3_vp,b3_mt,b3_qo,b3_qi,b3_mi,b3_vi)
  stage@1 b3->b3_acc inside=b3_mt scope=register
  unroll@1 b3_qi
  unroll@1 b3_mi
  vectorize@1 b3_vi lanes=4
  compute_at@1 b8->(b8_i0,b8_i1,b8_i2,b8_i3) inside=b3_mb align=8
  split@1 b8_i3->(b8_vo,b8_vi) size=$width tail=shift
  vectorize@1 b8_vi lanes=4
  compute_at@1 b7->(b7_i0,b7_i1,b7_i2,b7_i3) inside=b3_mb
  stage@1 b7->b7_sum inside=b7_i3 scope=register
  vectorize@1 b7_lanes.b7_ki lanes=4
  compute_at@1 b7_lanes->(b7_i0l,b7_i1l,b7_i2l,b7_i3l,b7_kl) inside=b3_mb
  stage@1 b7_lanes->b7_acc inside=b7_i3l scope=register
  reorder@1 (b7_ko,b7_kl)
  unroll@1 b7_ko
  vectorize@1 b7_kl lanes=4
  compute_at@1 b6->(b6_i0,b6_i1,b6_i2,b6_i3) inside=b3_mb align=8
  split@1 b6_i3->(b6_vo,b6_vi) size=$width tail=shift
  vectorize@1 b6_vi lanes=4
  compute_at@1 b5->(b5_i0,b5_i1,b5_i2,b5_i3) inside=b3_mb
  stage@1 b5->b5_sum inside=b5_i3 scope=register
  vectorize@1 b5_lanes.b5_ki lanes=4
  compute_at@1 b5_lanes->(b5_i0l,b5_i1l,b5_i2l,b5_i3l,b5_kl) inside=b3_mb
  stage@1 b5_lanes->b5_acc inside=b5_i3l scope=register
  reorder@1 (b5_ko,b5_kl)
  unroll@1 b5_ko
  vectorize@1 b5_kl lanes=4
  split@1 b4.i4->(b4_qo,b4_qi) size=4
  rfactor@1 b4->b4_lanes loop=b4_qi
  compute_at@1 b4->(b4_i0,b4_i1,b4_i2,b4_i3) inside=b3_mb align=8
  split@1 b4_i3->(b4_cb,b4_c1) max=32
  reorder@1 (b4_cb,b4_i2,b4_c1)
  stage@1 b4->b4_sum inside=b4_c1 scope=register
  vectorize@1 b4_lanes.b4_qi lanes=4
  compute_at@1 b4_lanes->(b4_l0,b4_l1,b4_l2,b4_l3,b4_l4) inside=b4_cb
  split@1 b4_l2->(b4_mt,b4_mi) max=$mr
  split@1 b4_l3->(b4_vt,b4_vi) max=$nr
  reorder@1 (b4_mt,b4_vt,b4_qo,b4_mi,b4_vi,b4_l4)
  stage@1 b4_lanes->b4_acc inside=b4_vt scope=register
  unroll@1 b4_mi
  unroll@1 b4_vi
  vectorize@1 b4_l4 lanes=4
  parallel@1 b3_p
)");
}

TEST(ContractionChainRuleTest, AFewQueriesShareTheirKeysAndMorePackThem) {
  EXPECT_NE(DirectDraft(4, DType::kF64), "");
  EXPECT_EQ(DirectDraft(5, DType::kF64), "");
}

}  // namespace
}  // namespace burnish
