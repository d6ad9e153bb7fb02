#include "compiler/codegen/llvm/loop_cuts.h"

#include "compiler/codegen/test_programs.h"
#include "compiler/ir/expr.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A loop of `chunks` around a vector of 8 lanes, whose element j is read where `inside` holds.
struct Row {
  int64_t chunks = 20;
  LoopKind inner = LoopKind::kVectorized;
  int64_t copies = 1;  // Of the store, unrolled.
};

std::vector<int64_t> CutsOf(const Row& row, const std::function<Expr(Expr)>& inside) {
  ProgramWriter w("row");
  const BufferId x = w.Add("X", {4096}, BufferRole::kInput);
  const BufferId y = w.Add("Y", {row.chunks * 8}, BufferRole::kOutput);
  w.Loop(LoopKind::kSerial, row.chunks, [&](Expr c) {
    w.Loop(LoopKind::kUnrolled, row.copies, [&](Expr) {
      w.Loop(
          row.inner, 8,
          [&](Expr v) {
            const Expr j = c * 8 + v;
            w.Store(y, {j}, Select(inside(j), w.At(x, {j}), Float(0)));
          },
          row.inner == LoopKind::kVectorized ? 8 : 0);
    });
  });
  const Program& program = w.program();
  for (const Node& node : program.nodes) {
    if (node.kind != NodeKind::kLoop || node.loop_kind != LoopKind::kSerial) continue;
    return LoopCuts(program, node, row.chunks, 1, [](VarId) { return std::nullopt; });
  }
  ADD_FAILURE() << "no loop";
  return {};
}

// Padding by 3 in front: vector 0 has lanes of both kinds, all others are inside.
TEST(LoopCutsTest, CutsWhereAllLanesAgree) {
  EXPECT_THAT(CutsOf({}, [](Expr j) { return Le(Int(3), j); }), ElementsAre(1));
  // 3 + 130 = 133 = 16 * 8 + 5: vector 16 has both, the vectors behind it are outside.
  EXPECT_THAT(CutsOf({}, [](Expr j) { return And(Le(Int(3), j), Lt(j - 3, Int(130))); }),
              ElementsAre(1, 16, 17));
  // By twos: 2 j < 131 up to j = 65, lane 1 of vector 8.
  EXPECT_THAT(CutsOf({}, [](Expr j) { return Lt(j * 2, Int(131)); }), ElementsAre(8, 9));
  // Backwards: 100 - j < 60 from j = 41 on, lane 1 of vector 5.
  EXPECT_THAT(CutsOf({}, [](Expr j) { return Lt(Int(100) - j, Int(60)); }), ElementsAre(5, 6));
  // At the end of a vector none is of both kinds.
  EXPECT_THAT(CutsOf({}, [](Expr j) { return Lt(j, Int(64)); }), ElementsAre(8));
}

// A row of 80, mirrored at both ends by 20: what lies in front of 20 goes backwards, and what lies
// behind 100.
TEST(LoopCutsTest, CutsMirroredRowsAtBothEnds) {
  const auto mirrored = [](const Expr& j) {
    const Expr up = Max(j - 20, Int(20) - j);
    return Min(up, Int(158) - up);
  };
  // Vector 2 holds lane 20, vector 12 lane 99 and the ones behind.
  EXPECT_THAT(CutsOf({.chunks = 15}, [&](Expr j) { return Eq(mirrored(j), Int(1)); }),
              ElementsAre(2, 3, 12, 13));
}

TEST(LoopCutsTest, LeavesLoopsThatWouldNotGain) {
  const auto padded = [](Expr j) { return Le(Int(3), j); };
  // No lanes that could disagree.
  EXPECT_THAT(CutsOf({.inner = LoopKind::kSerial}, padded), IsEmpty());
  // Always true, never true, or by something else than a bound.
  EXPECT_THAT(CutsOf({}, [](Expr j) { return Le(Int(0), j); }), IsEmpty());
  EXPECT_THAT(CutsOf({}, [](Expr j) { return Lt(j, Int(0)); }), IsEmpty());
  EXPECT_THAT(CutsOf({}, [](Expr j) { return Lt(Mod(j, 16), Int(9)); }), IsEmpty());
  // Too many copies of too much code.
  EXPECT_THAT(CutsOf({.copies = 1500}, padded), IsEmpty());
  EXPECT_THAT(CutsOf({},
                     [](Expr j) {
                       return And(And(Le(Int(3), j), Lt(j, Int(50))),
                                  And(Lt(j, Int(77)), Lt(j, Int(99))));
                     }),
              IsEmpty());
}

}  // namespace
}  // namespace burnish
