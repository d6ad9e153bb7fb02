// Winograd's algorithm for 3x3 convolutions.
#include <set>
#include <vector>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/rules/rule_test_util.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kTarget[] = "cpu:arch=znver3,threads=2";

Program Convolution(DType dtype) {
  return WorkloadOf({.name = "conv",
                     .op = "conv",
                     .inputs = {{1, 10, 10, 3}, {16, 3, 3, 3}},
                     .attributes = {{"channels_last", int64_t{1}}},
                     .dtype = dtype});
}

TEST(WinogradRuleTest, TilesAndChannelsOfFloats) {
  EXPECT_EQ(TestedDrafts("winograd", Convolution(DType::kF32), kTarget), R"(winograd/tiles
  m = choice 2 4 6
  mr = 2 3 4 6 8
  nr = 8 16
  blocks = 1 2 4 8 16
  require 2 <= (8 + ($m - 1)) // $m * ((8 + ($m - 1)) // $m)
  require $blocks <= 2 || (8 + ($m - 1)) // $m * ((8 + ($m - 1)) // $m) % ($blocks * 2) == 0
  require $blocks <= 1 || $blocks * 2 <= (8 + ($m - 1)) // $m * ((8 + ($m - 1)) // $m) // 2
  require $blocks <= 1 || 262144 < ($m + 2) * ($m + 2) * 12 * ((8 + ($m - 1)) // $m * ((8 + ($m - 1)) // $m) // 2) // $blocks * 2
  require $mr * ($nr // 8) + min($mr, $nr // 8) + 1 <= 16
  require 8 <= $mr * ($nr // 8)
  winograd@1 b2->(b2_U,b2_V0,b2_V,b2_M,b2_T) m=$m
  split@1 b2.i1->(b2_ty,b2_yi) size=$m
  split@1 b2.i2->(b2_tx,b2_xi) size=$m
  reorder@1 (b2.i0,b2_ty,b2_tx,b2_yi,b2_xi)
  fuse@1 (b2.i0,b2_ty,b2_tx)->b2_tile
  split@1 b2.i3->(b2_op,b2_oi) size=$nr
  split@1 b2_tile->(b2_p,b2_pt) parts=2
  split@1 b2_pt->(b2_tb,b2_t1) parts=$blocks
  reorder@1 (b2_p,b2_tb,b2_op,b2_t1,b2_yi,b2_xi,b2.b,b2_oi)
  compute_at@1 b2_T->(b2_t_a,b2_t_b,b2_t_t,b2_t_c) inside=b2_t1
  compute_at@1 b2_M->(b2_m_a,b2_m_b,b2_m_t,b2_m_c) inside=b2_op
  compute_at@1 b2_V->(b2_v_a,b2_v_b,b2_v_t,b2_v_c) inside=b2_tb
  precompute@1 b2_U
  relayout@1 b2_U->b2_packed dims=(b2_op,b2_m_a,b2_m_b,b2_M.c,b2_m_c)
  precompute@1 b2_packed
  split@1 b2_v_c->(b2_v_co,b2_v_ci) size=8
  reorder@1 (b2_v_t,b2_v_co,b2_v_a,b2_v_b,b2_V.j,b2_v_ci)
  compute_at@1 b2_V0->(b2_w_a,b2_w_b,b2_w_t,b2_w_c) inside=b2_v_co
  reorder@1 (b2_w_b,b2_w_t,b2_w_a,b2_V0.i,b2_w_c)
  stage@1 b2_V0->b2_wacc inside=b2_w_a scope=register
  stage@1 b2_V->b2_vacc inside=b2_v_b scope=register
  unroll@1 b2_w_a
  unroll@1 b2_V0.i
  unroll@1 b2_v_b
  unroll@1 b2_V.j
  vectorize@1 b2_w_c lanes=8
  vectorize@1 b2_v_ci lanes=8
  split@1 b2_m_t->(b2_m_to,b2_m_ti) max=$mr
  split@1 b2_M.c->(b2_m_qo,b2_m_qi) size=4
  reorder@1 (b2_m_a,b2_m_b,b2_m_to,b2_m_qo,b2_m_qi,b2_m_ti,b2_m_c)
  stage@1 b2_M->b2_macc inside=b2_m_to scope=register
  unroll@1 b2_m_qi
  unroll@1 b2_m_ti
  vectorize@1 b2_m_c lanes=8
  prefetch@1 b2_packed next=b2_m_b at=b2_m_qo to=L2
  reorder@1 (b2_t_b,b2_t_t,b2_t_a,b2_T.a,b2_t_c)
  stage@1 b2_T->b2_tacc inside=b2_t_a scope=register
  unroll@1 b2_t_a
  unroll@1 b2_T.a
  vectorize@1 b2_t_c lanes=8
  stage@1 b2->b2_acc inside=b2_xi scope=register
  unroll@1 b2_xi
  unroll@1 b2.b
  vectorize@1 b2_oi lanes=8
  parallel@1 b2_p
winograd/channels
  m = choice 2 4 6
  mr = 2 3 4 6 8
  nr = 8 16
  require 2 <= (16 + ($nr - 1)) // $nr
  require 2 <= (8 + ($m - 1)) // $m * ((8 + ($m - 1)) // $m)
  require $mr * ($nr // 8) + min($mr, $nr // 8) + 1 <= 16
  require 8 <= $mr * ($nr // 8)
  winograd@1 b2->(b2_U,b2_V0,b2_V,b2_M,b2_T) m=$m
  split@1 b2.i1->(b2_ty,b2_yi) size=$m
  split@1 b2.i2->(b2_tx,b2_xi) size=$m
  reorder@1 (b2.i0,b2_ty,b2_tx,b2_yi,b2_xi)
  fuse@1 (b2.i0,b2_ty,b2_tx)->b2_tile
  split@1 b2.i3->(b2_op,b2_oi) size=$nr
  split@1 b2_op->(b2_p,b2_oq) parts=2
  reorder@1 (b2_p,b2_oq,b2_tile,b2_yi,b2_xi,b2.b,b2_oi)
  compute_at@1 b2_T->(b2_t_a,b2_t_b,b2_t_t,b2_t_c) inside=b2_tile
  compute_at@1 b2_M->(b2_m_a,b2_m_b,b2_m_t,b2_m_c) inside=b2_oq
  precompute@1 b2_U
  relayout@1 b2_U->b2_packed dims=(b2_p,b2_oq,b2_m_a,b2_m_b,b2_M.c,b2_m_c)
  precompute@1 b2_packed
  split@1 b2_V.t->(b2_vp,b2_v_t) parts=2
  split@1 b2_V.c->(b2_v_co,b2_v_ci) size=8
  reorder@1 (b2_vp,b2_v_t,b2_v_co,b2_V.a,b2_V.b,b2_V.j,b2_v_ci)
  compute_at@1 b2_V0->(b2_w_a,b2_w_b,b2_w_t,b2_w_c) inside=b2_v_co
  reorder@1 (b2_w_b,b2_w_t,b2_w_a,b2_V0.i,b2_w_c)
  stage@1 b2_V0->b2_wacc inside=b2_w_a scope=register
  stage@1 b2_V->b2_vacc inside=b2_V.b scope=register
  unroll@1 b2_w_a
  unroll@1 b2_V0.i
  unroll@1 b2_V.b
  unroll@1 b2_V.j
  vectorize@1 b2_w_c lanes=8
  vectorize@1 b2_v_ci lanes=8
  parallel@1 b2_vp
  split@1 b2_m_t->(b2_m_to,b2_m_ti) max=$mr
  split@1 b2_M.c->(b2_m_qo,b2_m_qi) size=4
  reorder@1 (b2_m_a,b2_m_b,b2_m_to,b2_m_qo,b2_m_qi,b2_m_ti,b2_m_c)
  stage@1 b2_M->b2_macc inside=b2_m_to scope=register
  unroll@1 b2_m_qi
  unroll@1 b2_m_ti
  vectorize@1 b2_m_c lanes=8
  prefetch@1 b2_packed next=b2_m_b at=b2_m_qo to=L2
  reorder@1 (b2_t_b,b2_t_t,b2_t_a,b2_T.a,b2_t_c)
  stage@1 b2_T->b2_tacc inside=b2_t_a scope=register
  unroll@1 b2_t_a
  unroll@1 b2_T.a
  vectorize@1 b2_t_c lanes=8
  stage@1 b2->b2_acc inside=b2_xi scope=register
  unroll@1 b2_xi
  unroll@1 b2.b
  vectorize@1 b2_oi lanes=8
  parallel@1 b2_p
)");
}

// 4x4 outputs are one tile of 4, and four of 2: of fewer tiles than workers none is shared.
TEST(WinogradRuleTest, WorkersThatShareChannelsShareTheInputsTilesFirst) {
  const Program small = WorkloadOf({.name = "conv",
                                    .op = "conv",
                                    .inputs = {{1, 6, 6, 8}, {64, 8, 3, 3}},
                                    .attributes = {{"channels_last", int64_t{1}}}});
  std::set<int64_t> tiles;
  for (const Draft& draft : DraftsOf("winograd", small, "cpu:arch=znver3,threads=4")) {
    const Sketch sketch = SketchOf(draft);
    for (const Point& point : EnumeratePoints(sketch, /*limit=*/1000)) {
      EXPECT_THAT(ApplyTrace(StepsAt(sketch.steps, point), small), IsOk()) << sketch.name;
      tiles.insert(point[0]);
    }
  }
  EXPECT_THAT(tiles, ElementsAre(2));
}

TEST(WinogradRuleTest, OneChannelHasNoLanes) {
  EXPECT_EQ(TestedDrafts("winograd",
                         WorkloadOf({.name = "conv",
                                     .op = "conv",
                                     .inputs = {{1, 10, 10, 3}, {1, 3, 3, 3}},
                                     .attributes = {{"channels_last", int64_t{1}}}}),
                         kTarget),
            "");
}

// Weights that are 16-bit floats already may be binary16 when they are transformed.
TEST(WinogradRuleTest, NarrowWeightsHaveSketchesMore) {
  const Program convolution = Convolution(DType::kBf16);
  EXPECT_THAT(NamesOf(DraftsOf("winograd", convolution, kTarget)),
              ElementsAre("winograd/tiles", "winograd/channels", "winograd/tiles/f16",
                          "winograd/channels/f16"));
  const std::string text = TestedDrafts("winograd", convolution, kTarget);
  EXPECT_THAT(text, HasSubstr("winograd/tiles/f16\n  m = choice 2 4\n"));
  EXPECT_THAT(text, HasSubstr("m=$m weights=f16\n"));
}

// The primitive takes floats only.
TEST(WinogradRuleTest, DoublesAreTurnedAway) {
  EXPECT_EQ(TestedDrafts("winograd", Convolution(DType::kF64), kTarget), "");
}

TEST(WinogradRuleTest, BytesAreTurnedAway) {
  for (const DType left : {DType::kI8, DType::kU8}) {
    const Program convolution = WorkloadOf({.name = "conv",
                                            .op = "conv_integer",
                                            .inputs = {{1, 10, 10, 16}, {16, 16, 3, 3}},
                                            .attributes = {{"channels_last", int64_t{1}}},
                                            .types = {left, DType::kI8}});
    EXPECT_EQ(TestedDrafts("winograd", convolution, kTarget), "");
  }
}

}  // namespace
}  // namespace burnish
