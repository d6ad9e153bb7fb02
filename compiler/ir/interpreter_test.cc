#include "compiler/ir/interpreter.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// Builds small programs by hand; the interpreter's tests depend on nothing above it.
struct Fixture {
  Program p;
  Fixture() { p.root = AddNode(p, {.kind = NodeKind::kSeq}); }

  BufferId Buf(const char* name, std::vector<int64_t> shape, BufferRole role,
               DType dtype = DType::kF32) {
    Storage storage = DenseStorage(shape);
    return AddBuffer(p, {name, dtype, std::move(shape), role, Scope::kGlobal, std::move(storage)});
  }
  VarId Axis(const char* name, int64_t extent) {
    return AddVar(p, {.name = name, .extent = Int(extent)});
  }
  Expr At(BufferId buffer, std::vector<Expr> indices) {
    return Load(buffer, p.buffers[buffer].dtype, std::move(indices));
  }
  BlockId Define(Block block) {
    p.blocks.push_back(std::move(block));
    return static_cast<BlockId>(p.blocks.size()) - 1;
  }
  // Loops over `vars` around one block, in a nest of its own under the root.
  void Nest(std::vector<VarId> vars, BlockId block) {
    NodeId parent = p.root;
    for (const VarId var : vars) {
      const NodeId loop = AddNode(p, {.kind = NodeKind::kLoop, .var = var});
      AppendChild(p, parent, loop);
      parent = loop;
    }
    AppendChild(p, parent, AddNode(p, {.kind = NodeKind::kBlock, .block = block}));
  }
};

TensorValue F32(std::vector<int64_t> shape, std::vector<double> values) {
  return {.dtype = DType::kF32, .shape = std::move(shape), .floats = std::move(values)};
}
TensorValue Ints(DType dtype, std::vector<int64_t> shape, std::vector<int64_t> values) {
  return {.dtype = dtype, .shape = std::move(shape), .integers = std::move(values)};
}

// Y[i,j] = max(bias[j] + sum_k A[i,k] * B[k,j], 0), 3 x 2 x 5.
struct MatmulFixture : Fixture {
  BufferId a = Buf("A", {3, 5}, BufferRole::kInput), b = Buf("B", {5, 2}, BufferRole::kConstant),
           bias = Buf("bias", {2}, BufferRole::kConstant),
           y = Buf("Y", {3, 2}, BufferRole::kOutput);
  VarId i = Axis("Y.i", 3), j = Axis("Y.j", 2), k = Axis("Y.k", 5);
  BlockId block;
  MatmulFixture() {
    p.vars[k].reduce = true;
    block = Define({.name = "Y",
                    .spatial = {i, j},
                    .reduction = {k},
                    .output = y,
                    .output_indices = {VarRef(i), VarRef(j)},
                    .combiner = Combiner::kSum,
                    .init = At(bias, {VarRef(j)}),
                    .step = At(a, {VarRef(i), VarRef(k)}) * At(b, {VarRef(k), VarRef(j)}),
                    .finish = Max(Self(DType::kF32), Float(0))});
  }
  static std::vector<TensorValue> Arguments() {
    return {F32({3, 5}, {1, 2, 3, 4, 5, -1, -2, -3, -4, -5, 0, 1, 0, -1, 0}),
            F32({5, 2}, {1, 0, 0, 1, 1, 1, 2, -1, 3, 0.5}), F32({2}, {0.5, -100})};
  }
  // A[0] * B = (27, 3.5); A[2] * B = (-2, 2).
  static std::vector<double> Want() { return {27.5, 0, 0, 0, 0, 0}; }
};

TEST(InterpreterTest, ReductionAppliesInitStepAndFinish) {
  MatmulFixture f;
  f.Nest({f.i, f.j, f.k}, f.block);
  ASSERT_OK_AND_ASSIGN(const auto got, Interpret(f.p, MatmulFixture::Arguments()));
  ASSERT_EQ(got.size(), 1u);
  EXPECT_THAT(got[0].floats, ElementsAreArray(MatmulFixture::Want()));
}

TEST(InterpreterTest, LoopOrderDoesNotChangeTheResult) {
  MatmulFixture f;
  f.Nest({f.k, f.j, f.i}, f.block);
  ASSERT_OK_AND_ASSIGN(const auto got, Interpret(f.p, MatmulFixture::Arguments()));
  EXPECT_THAT(got[0].floats, ElementsAreArray(MatmulFixture::Want()));
}

TEST(InterpreterTest, MagnitudesAreSumsOfAbsoluteProducts) {
  MatmulFixture f;
  f.p.blocks[f.block].finish = nullptr;
  f.Nest({f.i, f.j, f.k}, f.block);
  ASSERT_OK_AND_ASSIGN(const auto got,
                       Interpret(f.p, MatmulFixture::Arguments(), {.magnitudes = true}));
  EXPECT_THAT(got[0].floats, ElementsAre(27.5, -96.5, -26.5, -103.5, -1.5, -98));
  EXPECT_THAT(got[0].magnitudes, ElementsAre(27.5, 111.5, 27.5, 111.5, 2.5, 102));
}

// i in tiles of 2 (guarded: 4 > 3), k in tiles of 3 (guarded: 6 > 5).
TEST(InterpreterTest, GuardsSkipInstancesOfSpatialAndStepsOfReductionAxes) {
  MatmulFixture f;
  const VarId io = f.Axis("io", 2), ii = f.Axis("ii", 2), ko = f.Axis("ko", 2),
              ki = f.Axis("ki", 3);
  f.p.vars[f.i].def = VarRef(io) * 2 + VarRef(ii);
  f.p.vars[f.i].guarded = true;
  f.p.vars[f.k].def = VarRef(ko) * 3 + VarRef(ki);
  f.p.vars[f.k].guarded = true;
  f.Nest({ko, io, f.j, ki, ii}, f.block);
  ASSERT_OK_AND_ASSIGN(const auto got, Interpret(f.p, MatmulFixture::Arguments()));
  EXPECT_THAT(got[0].floats, ElementsAreArray(MatmulFixture::Want()));
}

// k of 5 as two loops whose inner extent depends on the outer: sizes 3 and 2, from a table.
TEST(InterpreterTest, RaggedExtentsComeFromTables) {
  MatmulFixture f;
  const auto sizes = std::make_shared<ConstTable>(ConstTable{DType::kI64, {2}, {3, 2}});
  const auto starts = std::make_shared<ConstTable>(ConstTable{DType::kI64, {2}, {0, 3}});
  const VarId ko = f.Axis("ko", 2);
  const VarId ki =
      AddVar(f.p, {.name = "ki", .extent = TableLoad(sizes, {VarRef(ko)}), .reduce = true});
  f.p.vars[f.k].def = TableLoad(starts, {VarRef(ko)}) + VarRef(ki);
  f.Nest({f.i, ko, f.j, ki}, f.block);
  ASSERT_OK_AND_ASSIGN(const auto got, Interpret(f.p, MatmulFixture::Arguments()));
  EXPECT_THAT(got[0].floats, ElementsAreArray(MatmulFixture::Want()));
}

TEST(InterpreterTest, VisitingAReductionAgainStartsItAgain) {
  MatmulFixture f;
  const VarId io = f.Axis("io", 2), ii = f.Axis("ii", 2);
  f.p.vars[f.i].def = VarRef(io) + VarRef(ii);  // 0, 1, 1, 2
  f.p.vars[f.i].repeats = true;
  f.Nest({io, ii, f.j, f.k}, f.block);
  ASSERT_OK_AND_ASSIGN(const auto got, Interpret(f.p, MatmulFixture::Arguments()));
  EXPECT_THAT(got[0].floats, ElementsAreArray(MatmulFixture::Want()));
}

// Y = T + 1 where T[i] = 2 * X[i].
struct ChainFixture : Fixture {
  BufferId x = Buf("X", {4}, BufferRole::kInput), y = Buf("Y", {4}, BufferRole::kOutput),
           t = Buf("T", {4}, BufferRole::kTemp);
  VarId i = Axis("T.i", 4), j = Axis("Y.i", 4);
  BlockId produce = Define({.name = "T",
                            .spatial = {i},
                            .output = t,
                            .output_indices = {VarRef(i)},
                            .step = At(x, {VarRef(i)}) * Float(2)});
  BlockId consume = Define({.name = "Y",
                            .spatial = {j},
                            .output = y,
                            .output_indices = {VarRef(j)},
                            .step = At(t, {VarRef(j)}) + Float(1)});
};

TEST(InterpreterTest, ConsumerBeforeItsProducerReadsAnUnwrittenElement) {
  ChainFixture f;
  f.Nest({f.j}, f.consume);
  f.Nest({f.i}, f.produce);
  EXPECT_THAT(Interpret(f.p, {F32({4}, {1, 2, 3, 4})}),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("unwritten element: T[0]")));
}

TEST(InterpreterTest, OutputThatIsNotCompleteIsRefused) {
  ChainFixture f;
  f.Nest({f.i}, f.produce);
  f.p.vars[f.j].extent = Int(3);
  f.Nest({f.j}, f.consume);
  EXPECT_THAT(Interpret(f.p, {F32({4}, {1, 2, 3, 4})}),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("nothing wrote")));
}

TEST(InterpreterTest, ReadOfAnUnfinishedReductionIsRefused) {
  MatmulFixture f;
  f.p.buffers[f.y].role = BufferRole::kTemp;
  const BufferId z = f.Buf("Z", {3, 2}, BufferRole::kOutput);
  const BlockId copy = f.Define({.name = "Z",
                                 .spatial = {f.i, f.j},
                                 .output = z,
                                 .output_indices = {VarRef(f.i), VarRef(f.j)},
                                 .step = f.At(f.y, {VarRef(f.i), VarRef(f.j)})});
  f.Nest({f.i, f.j, f.k}, f.block);
  const NodeId k_loop = LoopOf(f.p, f.k);
  AppendChild(f.p, k_loop, AddNode(f.p, {.kind = NodeKind::kBlock, .block = copy}));
  EXPECT_THAT(Interpret(f.p, MatmulFixture::Arguments()),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("unfinished reduction: Y[0,0]")));
}

TEST(InterpreterTest, BorderOfAParameterHoldsItsValueAndBeyondIsAnError) {
  ChainFixture f;
  f.p.blocks[f.produce].step = f.At(f.x, {VarRef(f.i) - 1});
  f.Nest({f.i}, f.produce);
  f.Nest({f.j}, f.consume);
  EXPECT_THAT(Interpret(f.p, {F32({4}, {1, 2, 3, 4})}),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("outside of buffer X at [-1]")));
  f.p.buffers[f.x].storage = DenseStorage({4}, {{1, 0}}, /*border_value=*/-7);
  ASSERT_OK_AND_ASSIGN(const auto got, Interpret(f.p, {F32({4}, {1, 2, 3, 4})}));
  EXPECT_THAT(got[0].floats, ElementsAre(-6, 2, 3, 4));
}

TEST(InterpreterTest, ArgumentsAreChecked) {
  ChainFixture f;
  f.Nest({f.i}, f.produce);
  f.Nest({f.j}, f.consume);
  const auto invalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(Interpret(f.p, {}), StatusIs(invalid, HasSubstr("want one for X")));
  EXPECT_THAT(Interpret(f.p, {F32({3}, {1, 2, 3})}),
              StatusIs(invalid, HasSubstr("got f32[3], want f32[4], for X")));
  EXPECT_THAT(Interpret(f.p, {F32({4}, {1, 2, 3})}),
              StatusIs(invalid, HasSubstr("got 3 values, want 4, for X")));
  f.p.blocks[f.consume].output = f.x;
  EXPECT_THAT(Interpret(f.p, {F32({4}, {1, 2, 3, 4})}),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("writes its argument X")));
}

TEST(InterpreterTest, IndicesFromTensorsAreBoundsChecked) {
  ChainFixture f;
  const BufferId index = f.Buf("I", {4}, BufferRole::kInput, DType::kI64);
  f.p.blocks[f.produce].step = f.At(f.x, {BoundsCheck(f.At(index, {VarRef(f.i)}), Int(4))});
  f.Nest({f.i}, f.produce);
  f.Nest({f.j}, f.consume);
  const TensorValue x = F32({4}, {1, 2, 3, 4});
  ASSERT_OK_AND_ASSIGN(const auto got, Interpret(f.p, {x, Ints(DType::kI64, {4}, {3, -1, -4, 0})}));
  EXPECT_THAT(got[0].floats, ElementsAre(5, 5, 2, 2));
  EXPECT_THAT(Interpret(f.p, {x, Ints(DType::kI64, {4}, {0, 0, 0, 4})}),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("got index 4, want -4 to 3")));
}

TEST(InterpreterTest, OnlyTheChosenBranchOfASelectIsEvaluated) {
  ChainFixture f;
  f.p.blocks[f.produce].step =
      Select(Lt(VarRef(f.i), Int(1)), Float(9), f.At(f.x, {VarRef(f.i) - 1}));
  f.Nest({f.i}, f.produce);
  f.Nest({f.j}, f.consume);
  ASSERT_OK_AND_ASSIGN(const auto got, Interpret(f.p, {F32({4}, {1, 2, 3, 4})}));
  EXPECT_THAT(got[0].floats, ElementsAre(10, 2, 3, 4));
}

TEST(InterpreterTest, IntegersWrapToTheirType) {
  Fixture f;
  const BufferId x = f.Buf("X", {3}, BufferRole::kInput, DType::kI8);
  const BufferId y = f.Buf("Y", {3}, BufferRole::kOutput, DType::kI8);
  const VarId i = f.Axis("i", 3);
  const Expr v = f.At(x, {VarRef(i)});
  f.Nest({i}, f.Define({.name = "Y",
                        .spatial = {i},
                        .output = y,
                        .output_indices = {VarRef(i)},
                        .step = FloorDiv(v + v, Int(3, DType::kI8))}));
  ASSERT_OK_AND_ASSIGN(const auto got, Interpret(f.p, {Ints(DType::kI8, {3}, {100, -1, -128})}));
  // 200 wraps to -56, -256 to 0; division rounds toward minus infinity.
  EXPECT_THAT(got[0].integers, ElementsAre(-19, -1, 0));
}

TEST(InterpreterTest, MaximumKeepsNan) {
  ChainFixture f;
  f.p.blocks[f.produce].step = Max(f.At(f.x, {VarRef(f.i)}), Float(0));
  f.Nest({f.i}, f.produce);
  f.Nest({f.j}, f.consume);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ASSERT_OK_AND_ASSIGN(const auto got, Interpret(f.p, {F32({4}, {nan, -1, 2, -INFINITY})}));
  EXPECT_TRUE(std::isnan(got[0].floats[0]));
  EXPECT_EQ(got[0].floats[1], 1);
  EXPECT_EQ(got[0].floats[3], 1);
}

// A lowered program: for i (parallel) { S[0] = X[i]; if (i < 2) S[0] *= 3; Y[i] = S[0] }.
struct LoweredFixture : Fixture {
  BufferId x = Buf("X", {5}, BufferRole::kInput), y = Buf("Y", {5}, BufferRole::kOutput),
           s = Buf("S", {1}, BufferRole::kTemp);
  VarId i = Axis("i", 5);
  NodeId loop, then;
  LoweredFixture() {
    p.lowered = true;
    p.buffers[s].scope = Scope::kScratch;
    loop = AddNode(p, {.kind = NodeKind::kLoop, .var = i, .loop_kind = LoopKind::kParallel});
    AppendChild(p, p.root, loop);
    Store(loop, s, {Int(0)}, At(x, {VarRef(i)}));
    const NodeId test = AddNode(p, {.kind = NodeKind::kIf, .cond = Lt(VarRef(i), Int(2))});
    AppendChild(p, loop, test);
    then = AddNode(p, {.kind = NodeKind::kSeq});
    AppendChild(p, test, then);
    p.nodes[Store(then, s, {Int(0)}, Float(3))].combiner = Combiner::kProd;
    Store(loop, y, {VarRef(i)}, At(s, {Int(0)}));
  }
  NodeId Store(NodeId parent, BufferId buffer, std::vector<Expr> indices, Expr value) {
    const NodeId node = AddNode(p, {.kind = NodeKind::kStore,
                                    .buffer = buffer,
                                    .indices = std::move(indices),
                                    .value = std::move(value)});
    AppendChild(p, parent, node);
    return node;
  }
};

TEST(InterpreterTest, LoweredProgramGivesTheSameForAnyNumberOfWorkers) {
  const LoweredFixture f;
  for (const int workers : {1, 2, 3, 5, 8}) {
    ASSERT_OK_AND_ASSIGN(const auto got, Interpret(f.p, {F32({5}, {1, 2, 3, 4, 5})},
                                                   {.magnitudes = true, .workers = workers}));
    EXPECT_THAT(got[0].floats, ElementsAre(3, 6, 3, 4, 5)) << workers << " workers";
    EXPECT_THAT(got[0].magnitudes, ElementsAre(3, 6, 3, 4, 5));
  }
}

TEST(InterpreterTest, ScratchOfAnotherWorkerIsUnwritten) {
  LoweredFixture f;
  // Only iteration 0 fills the scratch: right for one worker, wrong for two.
  const NodeId fill = f.p.nodes[f.loop].children[0];
  const NodeId test = AddNode(f.p, {.kind = NodeKind::kIf, .cond = Eq(VarRef(f.i), Int(0))});
  ReplaceChild(f.p, fill, test);
  const NodeId seq = AddNode(f.p, {.kind = NodeKind::kSeq});
  AppendChild(f.p, test, seq);
  AppendChild(f.p, seq, fill);
  const std::vector<TensorValue> arguments = {F32({5}, {1, 2, 3, 4, 5})};
  EXPECT_THAT(Interpret(f.p, arguments), IsOk());
  EXPECT_THAT(Interpret(f.p, arguments, {.workers = 2}),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("S[0]")));
}

// for b (block.x) { for t (thread.x) S = X[b]; for u (thread.x) Y[b] = S }
TEST(InterpreterTest, MemoryOfAnotherBlockOrThreadIsUnwritten) {
  LoweredFixture f;
  const VarId t = f.Axis("t", 2), u = f.Axis("u", 2);
  f.p.nodes[f.loop].loop_kind = LoopKind::kBound;
  f.p.nodes[f.loop].thread_tag = "block.x";
  const std::vector<NodeId> children = f.p.nodes[f.loop].children;
  f.p.nodes[f.loop].children.clear();
  const auto under_threads = [&](VarId var, NodeId child) {
    const NodeId loop = AddNode(f.p, {.kind = NodeKind::kLoop,
                                      .var = var,
                                      .loop_kind = LoopKind::kBound,
                                      .thread_tag = "thread.x"});
    AppendChild(f.p, f.loop, loop);
    AppendChild(f.p, loop, child);
  };
  under_threads(t, children[0]);
  AppendChild(f.p, f.loop, AddNode(f.p, {.kind = NodeKind::kBarrier}));
  under_threads(u, children[2]);
  const std::vector<TensorValue> arguments = {F32({5}, {1, 2, 3, 4, 5})};
  f.p.buffers[f.s].scope = Scope::kShared;
  ASSERT_OK_AND_ASSIGN(const auto got, Interpret(f.p, arguments));
  EXPECT_THAT(got[0].floats, ElementsAre(1, 2, 3, 4, 5));
  // A thread's own memory is gone when another loop over threads begins.
  f.p.buffers[f.s].scope = Scope::kLocal;
  EXPECT_THAT(Interpret(f.p, arguments),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("unwritten element: S[0]")));
  // Only block 0 fills what each block has of its own.
  f.p.buffers[f.s].scope = Scope::kShared;
  const NodeId fill = children[0];
  const NodeId test = AddNode(f.p, {.kind = NodeKind::kIf, .cond = Eq(VarRef(f.i), Int(0))});
  ReplaceChild(f.p, fill, test);
  const NodeId seq = AddNode(f.p, {.kind = NodeKind::kSeq});
  AppendChild(f.p, test, seq);
  AppendChild(f.p, seq, fill);
  EXPECT_THAT(Interpret(f.p, arguments),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("unwritten element: S[0]")));
}

TEST(InterpreterTest, ParallelIterationsThatNeedEachOtherAreFoundOut) {
  LoweredFixture f;
  // Y[i] = Y[i-1] for i > 0.
  f.p.nodes[f.p.nodes[f.loop].children[2]].value =
      Select(Lt(VarRef(f.i), Int(1)), f.At(f.s, {Int(0)}), f.At(f.y, {VarRef(f.i) - 1}));
  EXPECT_THAT(Interpret(f.p, {F32({5}, {1, 2, 3, 4, 5})}, {.workers = 2}),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("unwritten element: Y[")));
}

TEST(InterpreterTest, PackFunctionReadsConstantsOnly) {
  ChainFixture f;
  f.p.buffers[f.t].role = BufferRole::kPacked;
  f.p.buffers[f.x].role = BufferRole::kConstant;
  f.p.pack_root = AddNode(f.p, {.kind = NodeKind::kSeq});
  f.Nest({f.j}, f.consume);
  std::swap(f.p.root, f.p.pack_root);
  f.Nest({f.i}, f.produce);
  std::swap(f.p.root, f.p.pack_root);
  const std::vector<TensorValue> arguments = {F32({4}, {1, 2, 3, 4})};
  ASSERT_OK_AND_ASSIGN(const auto got, Interpret(f.p, arguments));
  EXPECT_THAT(got[0].floats, ElementsAre(3, 5, 7, 9));
  f.p.buffers[f.x].role = BufferRole::kInput;
  EXPECT_THAT(Interpret(f.p, arguments),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("unwritten element: X[0]")));
}

}  // namespace
}  // namespace burnish
