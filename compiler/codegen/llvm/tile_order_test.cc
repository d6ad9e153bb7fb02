#include "compiler/codegen/llvm/tile_order.h"

#include "compiler/codegen/test_programs.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

// Kind of the loop right around the update.
LoopKind InnerLoop(const Program& program) {
  for (const Node& node : program.nodes) {
    if (node.kind == NodeKind::kStore && node.combiner == Combiner::kSum) {
      return program.nodes[node.parent].loop_kind;
    }
  }
  ADD_FAILURE() << "no update";
  return LoopKind::kSerial;
}

TEST(TileOrderTest, SideWithFewerVectorsGoesInside) {
  for (const bool rows_inside : {false, true}) {
    const Program tall =
        GemmTileProgram({.rows = 6, .columns = 16, .lanes = 8, .rows_inside = rows_inside});
    EXPECT_EQ(InnerLoop(OrderTileLoops(tall)), LoopKind::kVectorized);
    const Program wide =
        GemmTileProgram({.rows = 3, .columns = 32, .lanes = 8, .rows_inside = rows_inside});
    EXPECT_EQ(InnerLoop(OrderTileLoops(wide)), LoopKind::kUnrolled);
  }
}

TEST(TileOrderTest, EvenTileKeepsItsOrder) {
  for (const bool rows_inside : {false, true}) {
    const Program even =
        GemmTileProgram({.rows = 3, .columns = 24, .lanes = 8, .rows_inside = rows_inside});
    EXPECT_EQ(InnerLoop(OrderTileLoops(even)),
              rows_inside ? LoopKind::kUnrolled : LoopKind::kVectorized);
  }
}

TEST(TileOrderTest, UpdatesInMemoryKeepTheirOrder) {
  Program program = GemmTileProgram({.rows = 3, .columns = 32, .lanes = 8});
  program.buffers[FindBuffer(program, "acc")].scope = Scope::kScratch;
  EXPECT_EQ(InnerLoop(OrderTileLoops(program)), LoopKind::kVectorized);
}

TEST(TileOrderTest, ElementsOfTwoColumnsKeepTheirOrder) {
  ProgramWriter w("overlap");
  const BufferId x = w.Add("X", {3, 32}, BufferRole::kInput);
  const BufferId acc = w.Add("acc", {40}, BufferRole::kTemp, DType::kF32, Scope::kRegister);
  w.Loop(LoopKind::kUnrolled, 3, [&](Expr m) {
    w.Loop(
        LoopKind::kVectorized, 32,
        [&](Expr n) { w.Store(acc, {m + n}, w.At(x, {m, n}), Combiner::kSum); }, 8);
  });
  EXPECT_EQ(InnerLoop(OrderTileLoops(w.program())), LoopKind::kVectorized);
}

}  // namespace
}  // namespace burnish
