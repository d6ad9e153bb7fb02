#include "compiler/ir/printer.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace burnish {
namespace {

Program EmptyProgram() {
  Program program;
  program.buffers = {{.name = "X", .shape = {4, 8}, .storage = DenseStorage({4, 8})}};
  for (const char* name : {"a", "b", "c"}) {
    AddVar(program, {.name = name, .extent = Int(4)});
  }
  return program;
}

TEST(PrintExprTest, OnlyTheParenthesesThatTheTreeNeeds) {
  const Program program = EmptyProgram();
  const Expr a = VarRef(0), b = VarRef(1), c = VarRef(2);
  const auto print = [&](const Expr& e) { return PrintExpr(program, e); };
  EXPECT_EQ(print(a + b + c), "a + b + c");
  EXPECT_EQ(print(a + (b + c)), "a + (b + c)");
  EXPECT_EQ(print((a + b) * c), "(a + b) * c");
  EXPECT_EQ(print(a - (b - c)), "a - (b - c)");
  EXPECT_EQ(print(FloorDiv(a, 4) * 4 + Mod(a, 4)), "a // 4 * 4 + a % 4");
  EXPECT_EQ(print(FloorDiv(a * 8, b * 2)), "a * 8 // (b * 2)");
  EXPECT_EQ(print(And(Le(Int(0), a), Lt(a, Int(3)))), "0 <= a && a < 3");
  EXPECT_EQ(print(Select(Lt(a, b), a, Select(Lt(b, c), b, c))), "a < b ? a : b < c ? b : c");
  EXPECT_EQ(print(Select(Lt(a, b), a, b) + 1), "(a < b ? a : b) + 1");
  EXPECT_EQ(print(Min(a, Max(b, c))), "min(a, max(b, c))");
  EXPECT_EQ(print(Load(0, DType::kF32, {a, b + 1})), "X[a, b + 1]");
}

TEST(PrintExprTest, LiteralsSayTheirTypeUnlessItIsTheUsualOne) {
  const Program program = EmptyProgram();
  const auto print = [&](const Expr& e) { return PrintExpr(program, e); };
  EXPECT_EQ(print(Int(-7)), "-7");
  EXPECT_EQ(print(Int(200, DType::kU8)), "200_u8");
  EXPECT_EQ(print(Int(-1, DType::kU64)), "18446744073709551615_u64");
  EXPECT_EQ(print(Int(-300, DType::kI16)), "-300_i16");
  EXPECT_EQ(print(Bool(true)), "true");
  EXPECT_EQ(print(Float(3)), "3.0");
  EXPECT_EQ(print(Float(-0.0)), "-0.0");
  EXPECT_EQ(print(Float(0.5, DType::kF64)), "0.5_f64");
  // Rounded to what the type holds.
  EXPECT_EQ(print(Float(1.001, DType::kBf16)), "1.0_bf16");
  EXPECT_EQ(print(Float(1.001, DType::kF16)), "0x1.004p+0_f16");
  EXPECT_EQ(print(Float(-1e9, DType::kF16)), "-inf_f16");
  EXPECT_EQ(print(Float(std::numeric_limits<double>::infinity())), "inf");
  EXPECT_EQ(print(Float(-std::numeric_limits<double>::infinity(), DType::kF64)), "-inf_f64");
  EXPECT_EQ(print(Float(std::nan(""))), "nan");
}

// 0.1 is no binary fraction: its decimal form would not say which number is meant.
TEST(PrintExprTest, FloatsWithoutAShortExactDecimalAreHex) {
  const Program program = EmptyProgram();
  EXPECT_EQ(PrintExpr(program, Float(0.1f)), "0x1.99999ap-4");
  EXPECT_EQ(PrintExpr(program, Float(0.1, DType::kF64)), "0x1.999999999999ap-4_f64");
  EXPECT_EQ(PrintExpr(program, Float(1e30f)), "0x1.93e594p+99");
}

TEST(PrintExprTest, NegationOfALiteralIsNotANegativeLiteral) {
  const Program program = EmptyProgram();
  EXPECT_EQ(PrintExpr(program, Unary(ExprKind::kNeg, Float(2))), "-(2.0)");
  EXPECT_EQ(PrintExpr(program, Float(-2)), "-2.0");
  EXPECT_EQ(PrintExpr(program, Unary(ExprKind::kNeg, VarRef(0))), "-a");
}

TEST(PrintTest, NamesThatAreNoIdentifiersAreQuoted) {
  Program program = EmptyProgram();
  program.name = "conv/1:0";
  program.buffers[0].name = "step";
  AddVar(program, {.name = "say \"hi\"\n", .extent = Int(1)});
  EXPECT_EQ(Print(program), R"(program/1 "conv/1:0"

temp "step": f32[4, 8]

var a in 4
var b in 4
var c in 4
var "say \"hi\"\x0a" in 1
)");
}

// X[6] relu'd in blocks of two with a lowered store, a guard, tables and hints: one of each.
TEST(PrintTest, EveryFieldOfAProgram) {
  Program p;
  p.name = "all";
  p.numerics = {NumericsClass::kAlgorithm, "winograd", 4};
  AddBuffer(p, {.name = "X",
                .shape = {6},
                .role = BufferRole::kInput,
                .storage = DenseStorage({6}, {{1, 2}}, 0.5)});
  Buffer y{.name = "Y", .shape = {2, 3}, .role = BufferRole::kOutput};
  y.storage = {.strides = {8, 1}, .offset = 16, .alignment_bytes = 32};
  AddBuffer(p, y);
  AddBuffer(p, {.name = "acc",
                .dtype = DType::kI8,
                .shape = {},
                .scope = Scope::kRegister,
                .storage = DenseStorage({})});
  const VarId i = AddVar(p, {.name = "i", .extent = Int(2)});
  auto table = std::make_shared<ConstTable>();
  table->shape = {2};
  table->values = {2, 1};
  const VarId j = AddVar(p, {.name = "j", .extent = TableLoad(table, {VarRef(i)})});
  const VarId n = AddVar(p, {.name = "Y.n", .extent = Int(2), .def = VarRef(i)});
  const VarId k = AddVar(p, {.name = "Y.k",
                             .extent = Int(3),
                             .def = VarRef(i) * 2 + VarRef(j),
                             .guarded = true,
                             .repeats = true,
                             .reduce = true});
  p.blocks.push_back({.name = "Y",
                      .spatial = {n},
                      .reduction = {k},
                      .output = 1,
                      .output_indices = {VarRef(n), Int(0)},
                      .combiner = Combiner::kMax,
                      .init = Float(0),
                      .step = Load(0, DType::kF32, {VarRef(k)}),
                      .finish = Self(DType::kF32) * Float(2)});
  p.root = AddNode(p, {});
  const NodeId outer =
      AddNode(p, {.kind = NodeKind::kLoop, .var = i, .loop_kind = LoopKind::kParallel});
  const NodeId stage = AddNode(p, {.kind = NodeKind::kStage, .block = 0, .buffer = 2});
  const NodeId inner = AddNode(
      p, {.kind = NodeKind::kLoop, .var = j, .loop_kind = LoopKind::kVectorized, .lanes = 8});
  const NodeId run = AddNode(p, {.kind = NodeKind::kBlock, .block = 0});
  const NodeId hint = AddNode(p, {.kind = NodeKind::kPrefetch,
                                  .buffer = 0,
                                  .indices = {VarRef(i)},
                                  .cond = Lt(VarRef(i), Int(1)),
                                  .cache_level = 1});
  const NodeId test = AddNode(p, {.kind = NodeKind::kIf, .cond = Eq(VarRef(i), Int(0))});
  const NodeId then = AddNode(p, {}), otherwise = AddNode(p, {});
  const NodeId store = AddNode(p, {.kind = NodeKind::kStore,
                                   .buffer = 2,
                                   .value = Int(1, DType::kI8),
                                   .combiner = Combiner::kSum});
  AppendChild(p, p.root, outer);
  AppendChild(p, outer, stage);
  AppendChild(p, stage, inner);
  AppendChild(p, inner, run);
  AppendChild(p, outer, hint);
  AppendChild(p, outer, test);
  AppendChild(p, test, then);
  AppendChild(p, test, otherwise);
  AppendChild(p, then, store);
  p.pack_root = AddNode(p, {});
  EXPECT_EQ(Print(p), R"(program/1 all
numerics winograd(4)

input X: f32[6] border [(1, 2)] 0.5
output Y: f32[2, 3] strides [8, 1] offset 16 align 32
temp acc: i8[] register
table $0: i64[2] {2, 1}

var i in 2
var j in $0[i]
var Y.n in 2 = i
var Y.k in 3 reduce guarded repeats = i * 2 + j

block Y(Y.n; Y.k) {
  init 0.0
  step Y[Y.n, 0] max= X[Y.k]
  finish self * 2.0
}

kernel {
  parallel i in 2 {
    stage Y in acc {
      vectorize(8) j in $0[i] {
        run Y
      }
    }
    prefetch(1) X[i] when i < 1
    if i == 0 {
      acc[] += 1_i8
    } else {
    }
  }
}

pack {
}
)");
}

TEST(PrintTest, WrongIdsAreShownAndDoNotCrash) {
  Program program = EmptyProgram();
  EXPECT_EQ(PrintExpr(program, VarRef(9) + VarRef(-1)), "<9> + <-1>");
  EXPECT_EQ(PrintExpr(program, Load(7, DType::kF32, {})), "<7>[]");
  EXPECT_EQ(PrintExpr(program, nullptr), "<null>");
}

}  // namespace
}  // namespace burnish
