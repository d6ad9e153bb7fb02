#include "compiler/ir/program.h"

#include <set>
#include <vector>

#include "base/rng.h"
#include "base/status_matchers.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/simplify.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;

// A tile's tile: the extent of the innermost loop depends on a loop whose own extent depends on
// another that it does not mention.
TEST(ExtentValuesTest, LoopThatTheExtentDoesNotMentionBoundsWhatItDoes) {
  ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(R"(program/1 p
    input X: f32[2, 3, 9]
    output Y: f32[2, 3, 9]
    table $0: i64[2] {1, 2}
    table $1: i64[3] {5, 6, 9}
    var a in 2
    var b in $0[a]
    var c in $1[b]
    block Y(i in 2, j in 3, k in 9) { step Y[i, j, k] = X[i, j, k] })"));
  EXPECT_THAT(ExtentValues(program, FindVar(program, "b")), ElementsAre(1, 2));
  // b is never 2, and not 0 alone.
  EXPECT_THAT(ExtentValues(program, FindVar(program, "c")), ElementsAre(5, 6));
  EXPECT_EQ(MaxExtent(program, FindVar(program, "c")), 6);
}

// Tiles of a loop of 2^28 iterations: as of a convolution of 8192 x 8192 pixels.
TEST(ExtentValuesTest, LengthOfTheLoopDoesNotMatter) {
  Program program;
  constexpr int64_t kTiles = (int64_t{1} << 28) / 3;
  const VarId tile = AddVar(program, {.name = "tile", .extent = Int(kTiles)});
  const VarId balanced = AddVar(
      program, {.name = "balanced", .extent = Select(Lt(VarRef(tile), Int(77)), Int(7), Int(6))});
  const VarId ragged =
      AddVar(program,
             {.name = "ragged", .extent = Min(Int(16), Int(16 * kTiles - 9) - VarRef(tile) * 16)});
  const VarId part =
      AddVar(program, {.name = "part", .extent = Min(Int(4), VarRef(ragged) + VarRef(tile) + 1)});
  EXPECT_THAT(ExtentValues(program, balanced), ElementsAre(6, 7));
  EXPECT_THAT(ExtentValues(program, ragged), ElementsAre(7, 16));
  EXPECT_THAT(ExtentValues(program, part), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(MaxExtent(program, balanced), 7);
}

// Tiles of 8190 rows and columns in one loop, as of a Winograd convolution: the last of a row is
// narrower.
TEST(ExtentValuesTest, TilesOfAFusedLoopAreKnownByTheirOwnRange) {
  Program program;
  const VarId fused = AddVar(program, {.name = "fused", .extent = Int(2048 * 2048)});
  const VarId part = AddVar(program, {.name = "part", .extent = Int(3)});
  const VarId column = AddVar(
      program,
      {.name = "column", .extent = Int(2048), .def = Mod(VarRef(fused) + VarRef(part), Int(2048))});
  const VarId pixel =
      AddVar(program, {.name = "pixel", .extent = Min(Int(4), Int(8190) - VarRef(column) * 4)});
  EXPECT_THAT(ExtentValues(program, pixel), ElementsAre(2, 4));
  // As lowering has it, with its map written out.
  const VarId lowered =
      AddVar(program,
             {.name = "lowered",
              .extent = Min(Int(4), Int(8190) - Mod(VarRef(fused) + VarRef(part), Int(2048)) * 4)});
  EXPECT_THAT(ExtentValues(program, lowered), ElementsAre(2, 4));
}

TEST(ExtentValuesTest, WhatDiffersInEveryIterationOfALongLoopIsNotFound) {
  Program program;
  const VarId outer = AddVar(program, {.name = "outer", .extent = Int(int64_t{1} << 31)});
  const VarId inner =
      AddVar(program, {.name = "inner", .extent = VarRef(outer) * VarRef(outer) + 1});
  int64_t budget = kExtentPointsMax;
  EXPECT_FALSE(FindExtentValues(program, inner, budget).has_value());
}

// Extents of the forms that primitives write, over loops that are short enough to try each.
TEST(ExtentValuesTest, AreThoseOfEachIteration) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(RngStream{.seed = seed, .purpose = "extents"});
    Program program;
    const int64_t length = rng.Between(1, 3000), size = rng.Between(1, 40);
    const VarId a = AddVar(program, {.name = "a", .extent = Int(length)});
    const VarId b =
        AddVar(program, {.name = "b", .extent = Min(Int(size), Int(length) - VarRef(a))});
    const Expr forms[] = {Select(Lt(VarRef(a), Int(length / 2)), Int(9), VarRef(b) + 1),
                          Min(Int(5), Mod(VarRef(a), Int(size)) + 1),
                          Max(VarRef(a) - VarRef(b), Int(length / 3)) - Int(length / 3) + 1};
    const VarId c = AddVar(program, {.name = "c", .extent = forms[seed % 3]});
    std::set<int64_t> want;
    ASSERT_TRUE(ForEachIteration(program, program.vars[c].extent, 1 << 22, [&](const auto& value) {
      want.insert(EvalInt(program.vars[c].extent, value));
    }));
    EXPECT_EQ(ExtentValues(program, c), std::vector<int64_t>(want.begin(), want.end()));
  }
}

TEST(ForEachIterationTest, VisitsWhatTheLoopsTakeTogether) {
  ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(R"(program/1 p
    input X: f32[2, 3]
    output Y: f32[2, 3]
    table $0: i64[2] {1, 2}
    var a in 2
    var b in $0[a]
    block Y(i in 2, j in 3) { step Y[i, j] = X[i, j] })"));
  const VarId a = FindVar(program, "a"), b = FindVar(program, "b");
  std::vector<std::pair<int64_t, int64_t>> seen;
  const auto visit = [&](const auto& value) { seen.emplace_back(value(a), value(b)); };
  ASSERT_TRUE(ForEachIteration(program, VarRef(a) + VarRef(b), 100, visit));
  EXPECT_THAT(seen,
              ::testing::UnorderedElementsAre(std::pair(0, 0), std::pair(1, 0), std::pair(1, 1)));
  seen.clear();
  EXPECT_FALSE(ForEachIteration(program, VarRef(a) + VarRef(b), 2, visit));
  EXPECT_THAT(seen, ::testing::IsEmpty());
}

TEST(PruneTest, DropsWhatTheTreesDoNotReach) {
  ASSERT_OK_AND_ASSIGN(Program program, ParseProgram(R"(program/1 p
    input X: f32[4]
    output Y: f32[4]
    temp T: f32[4]
    block T(i in 4) { step T[i] = X[i] + 1.0 }
    block Y(i in 4) { step Y[i] = X[i] * 2.0 })"));
  const BlockId unread = FindBlock(program, "T");
  NodeId nest = NodeOf(program, unread);
  while (program.nodes[nest].parent != program.root) nest = program.nodes[nest].parent;
  Detach(program, nest);
  Prune(program);
  ASSERT_EQ(program.blocks.size(), 1u);
  EXPECT_EQ(program.blocks[0].name, "Y");
  EXPECT_EQ(FindBuffer(program, "T"), -1);
  EXPECT_EQ(FindVar(program, "T.i"), -1);
  EXPECT_EQ(program.vars.size(), 1u);
}

}  // namespace
}  // namespace burnish
