#include "compiler/ir/verifier.h"

#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

// Y[i] = X[i], four elements: small enough to be broken in one place at a time.
Program Copy() {
  absl::StatusOr<Program> program = ParseProgram(R"(program/1 copy
    input X: f32[4]
    output Y: f32[4]
    block Y(i in 4) { step Y[i] = X[i] })");
  EXPECT_THAT(program, IsOk());
  return *std::move(program);
}

void ExpectBroken(const Program& program, const std::string& message) {
  EXPECT_THAT(Verify(program), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
}

// ---- What text cannot say: broken ids and trees.

TEST(VerifyTest, IdsOutOfRange) {
  Program p = Copy();
  p.blocks[0].step = Load(2, DType::kF32, {VarRef(0)});
  ExpectBroken(p, "block Y: step: got buffer 2, want one of 2");
  p = Copy();
  p.blocks[0].step = Load(0, DType::kF32, {VarRef(1)});
  ExpectBroken(p, "block Y: step: got variable 1, want one of 1");
  p = Copy();
  p.blocks[0].spatial = {7};
  ExpectBroken(p, "block Y: got axis 7, want one of 1 variables");
  p = Copy();
  p.blocks[0].output = -1;
  ExpectBroken(p, "block Y: got output -1, want one of 2");
  p = Copy();
  p.root = 9;
  ExpectBroken(p, "got root 9, want one of 3 nodes");
  p = Copy();
  p.nodes[1].children.push_back(50);
  ExpectBroken(p, "got child 50 of node 1, want one of 3");
  p = Copy();
  p.nodes[2].block = 4;
  ExpectBroken(p, "got block 4, want one of 1");
  p = Copy();
  p.nodes[1].var = 5;
  ExpectBroken(p, "got loop variable 5, want one of 1");
}

TEST(VerifyTest, TensorizedLoopNamesItsInstruction) {
  Program p = Copy();
  p.nodes[1].loop_kind = LoopKind::kTensorized;
  ExpectBroken(p, "loop Y.i names no instruction");
  p.nodes[1].intrinsic = "dot2_i8x4";
  EXPECT_THAT(Verify(p), IsOk());
}

TEST(VerifyTest, GraphThatIsNoTree) {
  Program p = Copy();
  p.nodes[1].children.push_back(2);
  ExpectBroken(p, "node 2 is in the tree twice");
  p = Copy();
  p.nodes[2].parent = 0;
  ExpectBroken(p, "node 2 has parent 0, want 1");
  p = Copy();
  p.nodes[2].children.push_back(1);
  ExpectBroken(p, "node 2 is a leaf and has children");
  p = Copy();
  p.root = 1;
  ExpectBroken(p, "the root is no kSeq without parent");
}

TEST(VerifyTest, TwoOfOneName) {
  Program p = Copy();
  p.buffers[1].name = "X";
  ExpectBroken(p, "two buffers are named X");
  p = Copy();
  AddVar(p, {.name = "Y.i", .extent = Int(1)});
  ExpectBroken(p, "two variables are named Y.i");
}

TEST(VerifyTest, TypesThatDoNotAgree) {
  Program p = Copy();
  p.blocks[0].step = Load(0, DType::kI32, {VarRef(0)});
  ExpectBroken(p, "block Y: step: a load of type i32, want f32");
  p = Copy();
  p.blocks[0].step = Self(DType::kF32);
  ExpectBroken(p, "block Y: step: self outside of a finish");
  p = Copy();
  p.blocks[0].step = std::make_shared<const ExprNode>(
      ExprNode{.kind = ExprKind::kAdd, .dtype = DType::kF32, .operands = {Float(1)}});
  ExpectBroken(p, "block Y: step: got 1 operands, want 2");
}

TEST(VerifyTest, StorageTypesAreNotComputedWith) {
  Program p = Copy();
  p.buffers[0].dtype = DType::kBf16;
  const Expr load = Load(0, DType::kBf16, {VarRef(p.blocks[0].spatial[0])});
  p.blocks[0].step = Cast(DType::kF32, load);
  EXPECT_THAT(Verify(p), IsOk());
  p.blocks[0].step = Cast(DType::kF32, load + load);
  ExpectBroken(p, "block Y: step: arithmetic on bf16, want it in f32");
  p.blocks[0].step = std::make_shared<const ExprNode>(
      ExprNode{.kind = ExprKind::kCast, .dtype = DType::kI64, .operands = {load}});
  ExpectBroken(p, "block Y: step: a cast from bf16 to i64, want one by way of f32");
  // The constructor goes by way of f32 itself, and back to the same type goes nowhere.
  EXPECT_EQ(Cast(DType::kI64, load)->operands[0]->dtype, DType::kF32);
  EXPECT_EQ(Cast(DType::kBf16, Cast(DType::kF32, load)), load);
  EXPECT_EQ(Cast(DType::kF16, Cast(DType::kF32, load))->dtype, DType::kF16);
}

// ---- One rule a line: a program in text, and what the verifier says.

struct BrokenProgram {
  const char* name;
  std::string text;
  std::string message;
};

class BrokenProgramTest : public ::testing::TestWithParam<BrokenProgram> {};

TEST_P(BrokenProgramTest, IsRefused) {
  EXPECT_THAT(ParseProgram("program/1 p\n" + GetParam().text),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(GetParam().message)))
      << GetParam().text;
}

std::string NameOf(const ::testing::TestParamInfo<BrokenProgram>& info) { return info.param.name; }

// A copy of X[4] with this step or this kernel.
std::string CopyOf(const std::string& block, const std::string& kernel = "") {
  return absl::StrCat("input X: f32[4]\ninput I: i64[4]\nconst K: f32[4]\noutput Y: f32[4]\n",
                      "temp T: f32[4]\ntemp r: f32[4] register\npacked Kp: f32[4]\n", block, "\n",
                      kernel);
}

INSTANTIATE_TEST_SUITE_P(
    Blocks, BrokenProgramTest,
    ::testing::Values(
        BrokenProgram{"WrittenTwice",
                      CopyOf("block A(i in 4) { step Y[i] = X[i] } block B(i in 4) { step Y[i] = "
                             "X[i] }"),
                      "buffer Y is written twice: by blocks A and B"},
        BrokenProgram{"OutputNotWritten", CopyOf("block A(i in 4) { step T[i] = X[i] }"),
                      "output Y is written by no block"},
        BrokenProgram{"WritesAnInput", CopyOf("block A(i in 4) { step X[i] = K[i] }"),
                      "block A: writes X, which is an input"},
        BrokenProgram{
            "AnotherBlocksAxis",
            CopyOf("block A(i in 4) { step T[i] = X[i] } block B(i in 4) { step Y[i] = "
                   "T[A.i] }"),
            "block B: step uses A.i, which is no axis of the block and not in the map of one"},
        BrokenProgram{"AxisOfTwoBlocks",
                      CopyOf("block A(i in 4) { step T[i] = X[i] } block B(A.i) { step Y[A.i] = "
                             "T[A.i] }"),
                      "block B: axis A.i is an axis twice"},
        BrokenProgram{"ReductionAxisWithoutMark",
                      CopyOf("var i in 4 var k in 4 block Y(i; k) { step Y[i] += X[k] }"),
                      "block Y: axis k is not marked as reduction and is used as reduction"},
        BrokenProgram{"CombinerWithoutReduction", CopyOf("block Y(i in 4) { step Y[i] += X[i] }"),
                      "block Y: a combiner without reduction axes"},
        BrokenProgram{"ReductionWithoutCombiner",
                      CopyOf("block Y(i in 4; k in 4) { step Y[i] = X[k] }"),
                      "block Y: reduction axes without a combiner"},
        BrokenProgram{"InitUsesReductionAxis",
                      CopyOf("block Y(i in 4; k in 4) { init K[k] step Y[i] += X[k] }"),
                      "block Y: init uses reduction axis Y.k"},
        BrokenProgram{"FinishUsesReductionAxis",
                      CopyOf("block Y(i in 4; k in 4) { step Y[i] += X[k] finish self + K[k] }"),
                      "block Y: finish uses reduction axis Y.k"},
        BrokenProgram{"OutputIndexUsesReductionAxis",
                      CopyOf("block Y(i in 4; k in 4) { step Y[k] += X[k] }"),
                      "block Y: an index of the output uses reduction axis Y.k"},
        BrokenProgram{"StepOfAnotherType", CopyOf("block Y(i in 4) { step Y[i] = I[i] }"),
                      "block Y: step of type i64, want f32"},
        BrokenProgram{"FinishOfAnotherType",
                      CopyOf("block Y(i in 4) { step Y[i] = X[i] finish i8(self) }"),
                      "block Y: finish of type i8, want f32"},
        BrokenProgram{"OneElementFromTwoPoints",
                      CopyOf("block Y(i in 4, j in 2) { step Y[i] = X[i] }"),
                      "block Y: writes elements of its output twice: no index uses axis Y.j"},
        BrokenProgram{"OverlappingElements",
                      CopyOf("block Y(i in 2, j in 3) { step Y[i + j] = X[i] }"),
                      "block Y: writes elements of its output twice"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Bounds, BrokenProgramTest,
    ::testing::Values(
        BrokenProgram{"ReadAbove", CopyOf("block Y(i in 4) { step Y[i] = X[i + 1] }"),
                      "block Y: index 0 of X, Y.i + 1, takes values [4, 4], want [0, 3]"},
        BrokenProgram{"ReadBelow", CopyOf("block Y(i in 4) { step Y[i] = X[i - 1] }"),
                      "takes values [-1, -1], want [0, 3]"},
        BrokenProgram{"WriteAbove", CopyOf("block Y(i in 4) { step Y[i + 1] = X[i] }"),
                      "block Y: index 0 of Y, Y.i + 1, takes values [4, 4], want [0, 3]"},
        BrokenProgram{"GuardOneShort",
                      CopyOf("block Y(i in 4) { step Y[i] = i < 4 ? X[i + 1] : 0.0 }"),
                      "takes values [4, 4], want [0, 3]"},
        BrokenProgram{"GuardOfTheOtherBranch",
                      CopyOf("block Y(i in 4) { step Y[i] = i < 3 ? 0.0 : X[i + 1] }"),
                      "takes values [4, 4], want [0, 3]"},
        BrokenProgram{"IndexFromATensor", CopyOf("block Y(i in 4) { step Y[i] = X[I[i]] }"),
                      "index 0 of X, I[Y.i], takes values"},
        BrokenProgram{"BoundsCheckOfALargerExtent",
                      CopyOf("block Y(i in 4) { step Y[i] = X[bounds_check(I[i], 5)] }"),
                      "takes values [0, 4], want [0, 3]"},
        BrokenProgram{"DivisionByZero", CopyOf("block Y(i in 4) { step Y[i] = X[1 // i] }"),
                      "index 0 of X, 1 // Y.i, takes values"},
        // The product wraps to 0 for even i: no index may rest on that.
        BrokenProgram{"Overflow",
                      CopyOf("block Y(i in 4) { step Y[i] = X[i * 4611686018427387904 * 4] }"),
                      "index 0 of X"},
        BrokenProgram{"TooManyPoints",
                      "input X: f32[4]\noutput Y: f32[9999, 9999]\n"
                      "block Y(i in 9999, j in 9999) { step Y[i, j] = (i * i + j * j) % 5 < 4 ? "
                      "X[(i * i + j * j) % 5] : 0.0 }",
                      "cannot prove that index 0 of X"},
        // One element of six million.
        BrokenProgram{"GuardOneLateOfALongAxis",
                      "input X: f32[3000000]\noutput Y: f32[6000000]\nblock Y(i in 6000000) { "
                      "step Y[i] = i < 3000001 ? X[i] : X[i - 3000000] }",
                      "index 0 of X, Y.i, takes values [3000000, 3000000], want [0, 2999999]"},
        BrokenProgram{"MapBeyondItsExtent",
                      CopyOf("var a in 2 var b in 3 var i in 4 = a * 3 + b block Y(i) { step Y[i] "
                             "= X[i] }",
                             "kernel { for a { for b { run Y } } }"),
                      "variable i: its map a * 3 + b takes values [4, 4], want [0, 3]"},
        BrokenProgram{
            "GuardedMapBelowZero",
            CopyOf("var a in 5 var i in 4 guarded = a - 1 block Y(i) { step Y[i] = X[i] }",
                   "kernel { for a { run Y } }"),
            "variable i: its map a - 1 takes values [-1, -1]"},
        BrokenProgram{"LoweredStoreAbove",
                      "lowered input X: f32[4] output Y: f32[4]\n"
                      "kernel { for i in 2 { for j in 3 { Y[i * 3 + j] = X[j] } } }",
                      "store to Y: index 0 of Y, i * 3 + j, takes values [4, 4], want [0, 3]"},
        BrokenProgram{"LoweredElseBranch",
                      "lowered input X: f32[4] output Y: f32[4]\n"
                      "kernel { for i in 5 { if i < 4 { Y[i] = X[i] } else { Y[i] = X[0] } } }",
                      "store to Y: index 0 of Y, i, takes values [4, 4], want [0, 3]"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Trees, BrokenProgramTest,
    ::testing::Values(
        BrokenProgram{"BlockNotRun", CopyOf("block Y(i in 4) { step Y[i] = X[i] }", "kernel { }"),
                      "block Y is not in the tree"},
        BrokenProgram{
            "BlockRunTwice",
            CopyOf("block Y(i in 4) { step Y[i] = X[i] }", "kernel { for Y.i { run Y run Y } }"),
            "block Y is in the tree twice"},
        BrokenProgram{"AxisWithoutLoop",
                      CopyOf("block Y(i in 4) { step Y[i] = X[i] }", "kernel { run Y }"),
                      "block Y: axis Y.i needs variable Y.i, which is no loop around it"},
        BrokenProgram{"MapWithoutLoop",
                      CopyOf("var a in 2 var b in 2 var i in 4 = a * 2 + b block Y(i) { step Y[i] "
                             "= X[i] }",
                             "kernel { for a { run Y } }"),
                      "block Y: axis i needs variable b, which is no loop around it"},
        BrokenProgram{"LoopInsideItself",
                      CopyOf("block Y(i in 4) { step Y[i] = X[i] }",
                             "kernel { for Y.i { for Y.i { run Y } } }"),
                      "loop Y.i stands inside itself"},
        BrokenProgram{"LoopOverAMappedVariable",
                      CopyOf("var a in 4 var i in 4 = a block Y(i) { step Y[i] = X[i] }",
                             "kernel { for i { run Y } }"),
                      "loop i: its variable has a map"},
        BrokenProgram{"ExtentOverAnInnerLoop",
                      CopyOf("table $0: i64[2] {1, 3} var a in 2 var b in $0[a] block Y(i in 4) { "
                             "step Y[i] = X[i] }",
                             "kernel { for b { for a { for Y.i { run Y } } } }"),
                      "the extent of loop b uses a outside of its loop: "},
        BrokenProgram{"ExtentThatReachesZero",
                      CopyOf("block Y(i in 4) { step Y[i] = X[i] }",
                             "kernel { for a in 2 { for b in a { for Y.i { run Y } } } }"),
                      "loop b: got extent 0, want 1 to 2^31"},
        // Every caller of MaxExtent would have to look at two thousand million iterations.
        BrokenProgram{
            "ExtentThatDiffersInEachOfManyIterations",
            CopyOf("block Y(i in 4) { step Y[i] = X[i] }",
                   "kernel { for a in 2147483647 { for b in a + 1 { for Y.i { run Y } } } }"),
            "variable b: its extent depends on more iterations than can be looked at"},
        BrokenProgram{"ExtentWithADivisorThatMayBeZero",
                      CopyOf("var a in 3 var b in 1 + 8 // a block Y(i in 4) { step Y[i] = X[i] }",
                             "kernel { for a { for b { for Y.i { run Y } } } }"),
                      "variable b: got a divisor that is no constant >= 1"},
        BrokenProgram{"PrefetchOutsideOfItsLoop",
                      CopyOf("block Y(i in 4) { step Y[i] = X[i] }",
                             "kernel { prefetch(1) X[Y.i] for Y.i { run Y } }"),
                      "an index uses Y.i outside of its loop: Y.i"},
        BrokenProgram{"StoreInAProgramWithBlocks",
                      CopyOf("block Y(i in 4) { step Y[i] = X[i] }",
                             "kernel { for Y.i { run Y T[0] = 1.0 } }"),
                      "a store in a program that is not lowered"},
        BrokenProgram{"IfInAProgramWithBlocks",
                      CopyOf("block Y(i in 4) { step Y[i] = X[i] }",
                             "kernel { if true { for Y.i { run Y } } }"),
                      "an if in a program that is not lowered"},
        BrokenProgram{"BlockInALoweredProgram",
                      "lowered " + CopyOf("block Y(i in 4) { step Y[i] = X[i] }",
                                          "kernel { for Y.i { run Y } }"),
                      "a block in a lowered program"},
        BrokenProgram{"StoreToAnInput",
                      "lowered input X: f32[4] output Y: f32[4] kernel { X[0] = 1.0 }",
                      "a store to X, which is an input"},
        BrokenProgram{"StoreOfAnotherType",
                      "lowered input X: f32[4] output Y: f32[4] kernel { Y[0] = 1 }",
                      "a stored value of type i64, want f32"}),
    NameOf);

// A sum over k of X, with this kernel. r: a register.
std::string SumWith(const std::string& kernel, const std::string& vars = "") {
  return absl::StrCat("input X: f32[4, 6]\noutput Y: f32[4]\ntemp r: f32[4] register\n", vars,
                      "block Y(Y.i; Y.k) { step Y[Y.i] += X[Y.i, Y.k] }\n", kernel);
}
const char kPlainAxes[] = "var Y.i in 4 var Y.k in 6 reduce\n";

INSTANTIATE_TEST_SUITE_P(
    Reductions, BrokenProgramTest,
    ::testing::Values(
        BrokenProgram{"ParallelReduction",
                      SumWith("kernel { for Y.i { parallel Y.k { run Y } } }", kPlainAxes),
                      "block Y: reduction loop Y.k is parallel"},
        BrokenProgram{"BoundReduction",
                      SumWith("kernel { for Y.i { bind(thread.x) Y.k { run Y } } }", kPlainAxes),
                      "block Y: reduction loop Y.k is bound to a thread axis"},
        BrokenProgram{
            "ForeignLoopInsideAReduction",
            SumWith("kernel { for Y.i { for Y.k { for f in 2 { run Y } } } }", kPlainAxes),
            "block Y: loop f is no loop of the block and stands inside a reduction loop"},
        BrokenProgram{
            "LoopOfBothKinds",
            SumWith("kernel { for a in 4 { for b in 6 { run Y } } }",
                    "var a in 4 var b in 6 var Y.i in 4 = a var Y.k in 6 reduce guarded = "
                    "b + a\n"),
            "block Y: loop a feeds both spatial and reduction axes"},
        // Tiles {0,1,2} and {1,2,3}: elements 1 and 2 would be summed up twice.
        BrokenProgram{
            "RepeatsInsideAReduction",
            SumWith("kernel { for Y.k { for t in 2 { for u in 3 { run Y } } } }",
                    "var t in 2 var u in 3 var Y.k in 6 reduce var Y.i in 4 repeats = t + "
                    "u\n"),
            "block Y: variable Y.i repeats values inside a reduction loop"},
        BrokenProgram{
            "ReductionThatRepeats",
            SumWith("kernel { for Y.i { for t in 2 { for u in 5 { run Y } } } }",
                    "var t in 2 var u in 5 var Y.i in 4 var Y.k in 6 reduce repeats = t + "
                    "u\n"),
            "variable Y.k: a reduction variable that repeats counts terms twice"},
        BrokenProgram{
            "StageInGlobalMemory",
            SumWith("temp T: f32[4] kernel { stage Y in T { for Y.i { for Y.k { run Y } } "
                    "} }",
                    kPlainAxes),
            "stage of Y: T is no register, tile, scratch, shared or local buffer"},
        BrokenProgram{
            "StageBesideItsBlock",
            SumWith("kernel { stage Y in r { } for Y.i { for Y.k { run Y } } }", kPlainAxes),
            "block Y: is not inside its stage"},
        BrokenProgram{
            "TwoStagesInOneBuffer",
            SumWith("kernel { stage Y in r { for Y.i { stage Y in r { for Y.k { run Y } } "
                    "} } }",
                    kPlainAxes),
            "block Y: its stage's buffer r has two stages"}),
    NameOf);

// T = X shifted, Y reads a window of two of T.
std::string ChainWith(const std::string& kernel, const std::string& vars) {
  return absl::StrCat("input X: f32[9]\noutput Y: f32[8]\ntemp T: f32[9]\n", vars,
                      "block T(T.i) { step T[T.i] = X[T.i] }\n",
                      "block Y(Y.i; Y.k) { step Y[Y.i] += T[Y.i + Y.k] }\n", kernel);
}
const char kChainAxes[] = "var T.i in 9 var Y.i in 8 var Y.k in 2 reduce\n";

INSTANTIATE_TEST_SUITE_P(
    Order, BrokenProgramTest,
    ::testing::Values(
        BrokenProgram{
            "ReaderFirst",
            ChainWith("kernel { for Y.i { for Y.k { run Y } } for T.i { run T } }", kChainAxes),
            "block Y reads T before block T writes it"},
        BrokenProgram{"NoWriter", CopyOf("block Y(i in 4) { step Y[i] = T[i] }"),
                      "block Y reads T, which no block writes"},
        BrokenProgram{"ReadsItself", CopyOf("block Y(i in 4) { step Y[i] = Y[i] }"),
                      "block Y reads Y, which it writes itself"},
        // One element of T is computed for each of Y, which reads two.
        BrokenProgram{
            "WindowTooSmall",
            ChainWith("kernel { for y in 8 { run T for Y.k { run Y } } }",
                      "var y in 8 var T.i in 9 = y var Y.i in 8 = y var Y.k in 2 "
                      "reduce\n"),
            "block Y reads T: in an iteration of loop y, block T has not written all that "
            "it reads along dimension 0"},
        // T holds one window of two; Y reads it after the last one.
        BrokenProgram{"WindowReadOutsideOfItsLoop",
                      "input X: f32[8] temp T: f32[2] output Y: f32[2]\n"
                      "var a in 4 var b in 2 var T.i in 8 = a * 2 + b\n"
                      "block T(T.i) { step T[b] = X[T.i] }\n"
                      "block Y(i in 2) { step Y[i] = T[i] }\n"
                      "kernel { for a { for b { run T } } for Y.i { run Y } }",
                      "block Y reads T outside of loop a, whose iterations overwrite it"},
        BrokenProgram{"WindowOfAnOutput",
                      "input X: f32[8] output Y: f32[2]\n"
                      "var a in 4 var b in 2 var Y.i in 8 = a * 2 + b\n"
                      "block Y(Y.i) { step Y[b] = X[Y.i] } kernel { for a { for b { run Y } } }",
                      "only a temporary buffer may be a window"},
        BrokenProgram{"PartialSums",
                      "input X: f32[4, 6] temp S: f32[4] output Y: f32[4]\n"
                      "var i in 4 var S.i in 4 = i var k in 6 reduce var S.k in 6 reduce = k\n"
                      "var Y.i in 4 = i\n"
                      "block S(S.i; S.k) { step S[S.i] += X[S.i, S.k] }\n"
                      "block Y(Y.i) { step Y[Y.i] = S[Y.i] }\n"
                      "kernel { for i { for k { run S run Y } } }",
                      "block Y reads S inside reduction loop k of block S, before its sums are "
                      "complete"},
        BrokenProgram{"PackReadsAnInput",
                      CopyOf("block Kp(i in 4) { step Kp[i] = X[i] } block Y(i in 4) { step Y[i] = "
                             "Kp[i] }",
                             "kernel { for Y.i { run Y } } pack { for Kp.i { run Kp } }"),
                      "block Kp: is in the pack function and reads X, which depends on more"},
        BrokenProgram{"PackedInTheKernel",
                      CopyOf("block Kp(i in 4) { step Kp[i] = K[i] } block Y(i in 4) { step Y[i] = "
                             "Kp[i] }"),
                      "block Kp: writes Kp, which only the pack function may"},
        BrokenProgram{
            "PackWritesAnOutput",
            CopyOf("block Y(i in 4) { step Y[i] = K[i] }", "kernel { } pack { for Y.i { run Y } }"),
            "block Y: is in the pack function and writes Y"},
        BrokenProgram{"KernelReadsATempOfPack",
                      CopyOf("block T(i in 4) { step T[i] = K[i] } block Y(i in 4) { step Y[i] = "
                             "T[i] }",
                             "kernel { for Y.i { run Y } } pack { for T.i { run T } }"),
                      "block Y reads T of the pack function, which is not packed"}),
    NameOf);

// ---- What is right must pass.

class RightProgramTest : public ::testing::TestWithParam<BrokenProgram> {};

TEST_P(RightProgramTest, IsAccepted) {
  EXPECT_THAT(ParseProgram("program/1 p\n" + GetParam().text), IsOk()) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    Programs, RightProgramTest,
    ::testing::Values(
        BrokenProgram{"GuardedPadding",
                      CopyOf("block Y(i in 4) { step Y[i] = 1 <= i && i < 4 ? X[i - 1] : 0.0 }"),
                      ""},
        BrokenProgram{"PaddingTestInTheElse",
                      CopyOf("block Y(i in 4) { step Y[i] = i < 1 || i == 9 ? 0.0 : X[i - 1] }"),
                      ""},
        BrokenProgram{"ReadOfTheBorder",
                      "input X: f32[4] border [(1, 1)] 0.0\noutput Y: f32[6]\n"
                      "block Y(i in 6) { step Y[i] = X[i - 1] }",
                      ""},
        BrokenProgram{"GuardOnAnotherVariable",
                      "input X: f32[4]\noutput Y: f32[4, 3]\n"
                      "block Y(i in 4, j in 3) { step Y[i, j] = i + j < 4 ? X[i + j] : 0.0 }",
                      ""},
        // Too many elements to look at each.
        BrokenProgram{"PartsOfALongAxis",
                      "input X: f32[3000000]\noutput Y: f32[9000000]\n"
                      "block Y(i in 9000000) { step Y[i] = i < 3000000 ? X[i] : i < 6000000 ? "
                      "X[i - 3000000] : X[i - 6000000] }",
                      ""},
        BrokenProgram{"BoundsCheckedIndex",
                      CopyOf("block Y(i in 4) { step Y[i] = X[bounds_check(I[i], 4)] }"), ""},
        BrokenProgram{"ClampedIndex",
                      CopyOf("block Y(i in 4) { step Y[i] = X[min(max(I[i], 0), 3)] }"), ""},
        BrokenProgram{"PixelShuffle",
                      "input X: f32[8, 3]\noutput Y: f32[12, 2]\n"
                      "block Y(i in 3, j in 8) { step Y[i * 4 + j // 2, j % 2] = X[j, i] }",
                      ""},
        // Extents {2,2,1} at {0,2,4}.
        BrokenProgram{"RaggedSplit",
                      "input X: f32[5]\noutput Y: f32[5]\n"
                      "table $0: i64[3] {0, 2, 4} table $1: i64[3] {2, 2, 1}\n"
                      "var t in 3 var u in $1[t] var i in 5 = $0[t] + u\n"
                      "block Y(i) { step Y[i] = X[i] } kernel { for t { for u { run Y } } }",
                      ""},
        BrokenProgram{"GuardedSplit",
                      "input X: f32[5]\noutput Y: f32[5]\nvar t in 3 var u in 2\n"
                      "var i in 5 guarded = t * 2 + u\n"
                      "block Y(i) { step Y[i] = X[i] } kernel { for t { for u { run Y } } }",
                      ""},
        // Register tiles {0,1,2} and {1,2,3}: each tile is summed up whole.
        BrokenProgram{
            "ShiftedTilesAroundAReduction",
            SumWith("kernel { for t in 2 { stage Y in r { for Y.k { unroll u in 3 { run Y "
                    "} } } } }",
                    "var t in 2 var u in 3 var Y.k in 6 reduce var Y.i in 4 repeats = t + "
                    "u\n"),
            ""},
        BrokenProgram{"ProducerInTheConsumersLoop",
                      ChainWith("kernel { for y in 8 { for w in 2 { run T } for Y.k { run Y } } }",
                                "var y in 8 var w in 2 var T.i in 9 repeats = y + w\n"
                                "var Y.i in 8 = y var Y.k in 2 reduce\n"),
                      ""},
        // Rows of tiles of 6 over 3 x 3: a producer of whole rows, recomputed for each tile.
        BrokenProgram{"ProducerOfAFusedTile",
                      "input X: f32[3, 3]\noutput Y: f32[3, 3]\ntemp T: f32[3, 3] scratch\n"
                      "var t in 2 var u in 5 var m in 9 guarded = t * 5 + u\n"
                      "var Y.y in 3 = m // 3 var Y.x in 3 = m % 3\n"
                      "var w in 2 var T.y in 3 repeats = t + w var T.x in 3\n"
                      "block T(T.y, T.x) { step T[T.y, T.x] = X[T.y, T.x] }\n"
                      "block Y(Y.y, Y.x) { step Y[Y.y, Y.x] = T[Y.y, Y.x] }\n"
                      "kernel { for t { for w { for T.x { run T } } for u { run Y } } }",
                      ""},
        BrokenProgram{
            "LoweredIfAroundAStore",
            "lowered input X: f32[4] output Y: f32[4]\n"
            "kernel { for i in 2 { for j in 3 { if i * 3 + j < 4 { Y[i * 3 + j] = X[i * 3 "
            "+ j] } } } }",
            ""}),
    NameOf);

// Tiles of sums, of so many rows and columns each, filled from X and written to Y.
std::string Tiles(const std::string& shape, const std::string& loops, const std::string& end) {
  return absl::StrCat("program/1 tiles lowered input X: f32[20] output Y: f32[20]\n",
                      "temp acc: f32", shape, " tile\nvar i in 2 var j in 2\nkernel { ", loops, end,
                      " }");
}

TEST(VerifyTest, TilesAreInstructionsOwn) {
  // In one nest, as lowering leaves it.
  const std::string nest = "parallel p in 1 { tensorize(tile_load) i { for j { ";
  const std::string filled = "acc[i, j] = X[i * 2 + j] } } ";
  const std::string read = "tensorize(tile_store) i { for j { Y[i * 2 + j] = acc[i, j] } } }";
  ASSERT_OK_AND_ASSIGN(const Program good, ParseProgram(Tiles("[2, 2]", nest + filled, read)));
  EXPECT_THAT(Verify(good), IsOk());
  ASSERT_OK_AND_ASSIGN(const Program again, ParseProgram(Print(good)));
  EXPECT_EQ(again.buffers[2].scope, Scope::kTile);
  const auto expect_broken = [](const std::string& text, const std::string& message) {
    const absl::StatusOr<Program> program = ParseProgram(text);
    const absl::Status status = program.ok() ? Verify(*program) : program.status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  expect_broken(Tiles("[2, 2]", "parallel p in 1 { for i { for j { " + filled, read),
                "tile buffer acc is touched outside of an instruction's nest");
  expect_broken(Tiles("[2, 17]", nest + filled, read), "got 2 rows of 68 bytes");
  expect_broken(Tiles("[17, 2]", nest + filled, read), "got 17 rows of 8 bytes");
  expect_broken(Tiles("[7, 2, 2]", nest + "acc[0, i, j] = X[i * 2 + j] } } ",
                      "tensorize(tile_store) i { for j { Y[i * 2 + j] = acc[0, i, j] } } }"),
                "got 7 tiles of sums in one nest, want at most 6");
  expect_broken(Tiles("[2, 2]", nest + filled + "} parallel q in 1 { ", read),
                "tile buffer acc is touched in more than one nest");
}

// The whole of ResNet-50's first convolution: what each primitive's test pays each time.
TEST(VerifyTest, ConvolutionIsVerifiedInUnderAMillisecondOnAverage) {
  ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(R"(program/1 stem
    input X: f32[1, 224, 224, 3]
    const W: f32[64, 7, 7, 3]
    const B: f32[64]
    temp P: f32[1, 230, 230, 3]
    output Y: f32[1, 112, 112, 64]
    block P(n in 1, h in 230, w in 230, c in 3) {
      step P[n, h, w, c] = 0 <= h - 3 && h - 3 < 224 && 0 <= w - 3 && w - 3 < 224
                           ? X[n, h - 3, w - 3, c] : 0.0
    }
    block Y(n in 1, y in 112, x in 112, o in 64; ky in 7, kx in 7, c in 3) {
      init B[o]
      step Y[n, y, x, o] += P[n, y * 2 + ky, x * 2 + kx, c] * W[o, ky, kx, c]
      finish max(self, 0.0)
    })"));
  constexpr int kTimes = 20;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kTimes; ++i) ASSERT_THAT(Verify(program), IsOk());
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  RecordProperty("milliseconds", absl::StrCat(took.count() / kTimes));
  // Two orders of magnitude of room: a machine under load must not fail, a search that explodes
  // must.
  EXPECT_LT(took.count() / kTimes, 100);
}

// What Lower makes of a ragged, staged, packed convolution is a program too, and its text is its
// own inverse.
TEST(VerifyTest, LoweredConvolution) {
  ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(R"(program/1 conv
    input X: f32[1, 5, 5, 8] border [(0, 0), (1, 1), (1, 1), (0, 0)] 0.0
    const W: f32[16, 3, 3, 8]
    input R: f32[1, 5, 5, 16]
    output Y: f32[1, 5, 5, 16]
    packed Wp: f32[3, 24, 16]
    temp acc: f32[6, 16] register
    var mt in 5
    var mi in min(6, 25 - mt * 6)
    var oi in 16
    var ky in 3 reduce
    var q in 24 reduce
    var m in 25 = mt * 6 + mi
    var Y.n in 1 = m // 25
    var Y.y in 5 = m % 25 // 5
    var Y.x in 5 = m % 5
    var Y.o in 16 = oi
    var Y.ky in 3 reduce = ky
    var Y.kx in 3 reduce = q // 8
    var Y.c in 8 reduce = q % 8
    block Wp(ky in 3, q in 24, o in 16) { step Wp[ky, q, o] = W[o, ky, q // 8, q % 8] }
    block Y(Y.n, Y.y, Y.x, Y.o; Y.ky, Y.kx, Y.c) {
      step Y[Y.n, Y.y, Y.x, Y.o] += X[Y.n, Y.y + Y.ky - 1, Y.x + Y.kx - 1, Y.c] * Wp[ky, q, oi]
      finish max(self + R[Y.n, Y.y, Y.x, Y.o], 0.0)
    }
    kernel {
      parallel mt {
        stage Y in acc { for ky { for q { unroll mi { vectorize(8) oi { run Y } } } } }
      }
    }
    pack { for Wp.ky { for Wp.q { for Wp.o { run Wp } } } })"));
  ASSERT_OK_AND_ASSIGN(const Program lowered, Lower(program));
  EXPECT_THAT(Verify(lowered), IsOk());
  const std::string text = Print(lowered);
  ASSERT_OK_AND_ASSIGN(const Program again, ParseProgram(text));
  EXPECT_EQ(Print(again), text);
}

// The range of a table's entry is that of the rows that its indices reach, not of the whole table.
TEST(VerifyTest, EntryOfATableOfTwoDimensionsIsBoundedByItsRow) {
  const std::string text = R"(program/1 p
    input X: f32[3]
    output Y: f32[3]
    table $0: i64[2, 3] {100, -1, 100, 2, 0, 1}
    block Y(i in 3) { step Y[i] = X[$0[1, i]] })";
  EXPECT_THAT(ParseProgram(text), IsOk());
  std::string other = text;
  other.replace(other.find("[1, i]"), 6, "[0, i]");
  EXPECT_THAT(ParseProgram(other), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("takes values [100, 100], want [0, 2]")));
}

}  // namespace
}  // namespace burnish
