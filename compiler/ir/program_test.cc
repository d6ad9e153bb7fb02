#include "compiler/ir/program.h"

#include "base/status_matchers.h"
#include "compiler/ir/parser.h"
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
