#include "compiler/ir/lower.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_matchers.h"
#include "compiler/ir/fingerprint.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

Program Parsed(const std::string& text) {
  absl::StatusOr<Program> program = ParseProgram(text);
  EXPECT_THAT(program, IsOk()) << text;
  return program.ok() ? *std::move(program) : Program();
}

void ExpectRefused(const std::string& text, const std::string& reason) {
  const Program program = Parsed(text);
  ASSERT_THAT(Verify(program), IsOk()) << text;
  EXPECT_THAT(Lower(program), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(reason)));
}

// The lowered program, which must compute what the scheduled one does.
Program Lowered(const std::string& text) {
  const Program program = Parsed(text);
  EXPECT_THAT(Verify(program), IsOk());
  absl::StatusOr<Program> lowered = Lower(program);
  EXPECT_THAT(lowered, IsOk());
  if (!lowered.ok()) return {};
  EXPECT_THAT(Verify(*lowered), IsOk()) << Print(*lowered);
  std::vector<TensorValue> arguments;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.role != BufferRole::kInput) continue;
    TensorValue value{.shape = buffer.shape};
    for (int64_t i = 0; i < ElementCount(buffer.shape); ++i) {
      value.floats.push_back(static_cast<double>(i * 7 % 23) - 11);
    }
    arguments.push_back(value);
  }
  const auto want = Interpret(program, arguments);
  EXPECT_THAT(want, IsOk());
  for (int workers = 1; want.ok() && workers <= 2; ++workers) {
    const auto got = Interpret(*lowered, arguments, {.workers = workers});
    EXPECT_THAT(got, IsOk());
    if (got.ok()) EXPECT_EQ((*got)[0].floats, (*want)[0].floats) << Print(*lowered);
  }
  return *std::move(lowered);
}

// Y[i] = 2 * sum of row i; `kernel` is its schedule. `axes`: without an extent where `declarations`
// have the variable.
std::string RowSums(const std::string& declarations, const std::string& kernel,
                    const std::string& axes = "i in 4; k in 6") {
  return absl::StrCat(R"(program/1 p
    input X: f32[4, 6]
    output Y: f32[4]
    )",
                      declarations, R"(
    block Y()",
                      axes, R"() { step Y[Y.i] += X[Y.i, Y.k] finish self * 2.0 }
    kernel { )",
                      kernel, " }");
}

TEST(LowerTest, InitAndFinishStandAroundTheStepsOfTheOutputItself) {
  const Program lowered = Lowered(RowSums("", "for Y.k { for Y.i { run Y } }"));
  // Three nests: all values are initialised before the first step, finished after the last.
  EXPECT_EQ(lowered.nodes[lowered.root].children.size(), 3u) << Print(lowered);
}

TEST(LowerTest, WindowThatIsLeftBetweenStepsIsReloaded) {
  const Program lowered = Lowered(RowSums(R"(
    temp acc: f32[1] scratch
    var ko in 2 reduce
    var ki in 3 reduce
    var Y.k in 6 reduce = ko * 3 + ki)",
                                          R"(
    for ko { stage Y in acc { for ki { for Y.i { run Y } } } })",
                                          "i in 4; Y.k"));
  EXPECT_THAT(Print(lowered), HasSubstr("if ko == 0")) << Print(lowered);
}

// Sums in f32 that end in bfloat16, and in i32 that end in u8: no partial sum is ever narrow, with
// and without a window, whole and in parts.
TEST(LowerTest, SumsWiderThanTheirOutputAreKeptWide) {
  struct Types {
    const char *input, *output, *step, *finish;
    DType dtype, out;
  };
  for (const Types& types : {Types{"bf16", "bf16", "f32(X[i, $k]) * 1.5", "bf16(self * 0.5)",
                                   DType::kBf16, DType::kBf16},
                             Types{"i8", "u8", "i32(X[i, $k]) * 100_i32", "u8(self % 251_i32)",
                                   DType::kI8, DType::kU8}}) {
    const std::string head = absl::StrCat("program/1 p\ninput X: ", types.input,
                                          "[4, 6]\noutput Y: ", types.output, "[4]\n");
    const std::string block =
        absl::StrCat(") { step Y[i] += ", types.step, " finish ", types.finish, " }\nkernel { ");
    const std::string parts =
        "var ko in 2 reduce\nvar ki in 3 reduce\nvar Y.k in 6 reduce = ko * 3 + ki\n";
    const std::string acc =
        absl::StrCat("temp acc: ", types.dtype == DType::kI8 ? "i32" : "f32", "[1] scratch\n");
    TensorValue x{.dtype = types.dtype, .shape = {4, 6}};
    for (int i = 0; i < 24; ++i) {
      if (types.dtype == DType::kI8) x.integers.push_back(i * 37 % 256 - 128);
      x.floats.push_back(types.dtype == DType::kI8 ? 0 : 1 + i * 0x1p-7);
    }
    if (types.dtype == DType::kI8) x.floats.clear();
    const std::string k_inside = "block Y(i in 4; k in 6";
    for (const std::string& text :
         {head + k_inside + block + "for Y.i { for Y.k { run Y } } }",
          head + k_inside + block + "for Y.k { for Y.i { run Y } } }",
          head + acc + k_inside + block + "for Y.i { stage Y in acc { for Y.k { run Y } } } }",
          head + acc + parts + "block Y(i in 4; Y.k" + block +
              "for ko { stage Y in acc { for ki { for Y.i { run Y } } } } }",
          head + acc + parts + "block Y(i in 4; Y.k" + block +
              "for ko { for Y.i { stage Y in acc { for ki { run Y } } } } }"}) {
      SCOPED_TRACE(text);
      const char* const k = text.find("; Y.k") == std::string::npos ? "k" : "Y.k";
      ASSERT_OK_AND_ASSIGN(const Program program,
                           ParseProgram(absl::StrReplaceAll(text, {{"$k", k}})));
      ASSERT_OK_AND_ASSIGN(const Program lowered, Lower(program));
      EXPECT_THAT(Verify(lowered), IsOk()) << Print(lowered);
      ASSERT_OK_AND_ASSIGN(const auto want, Interpret(program, {x}));
      ASSERT_OK_AND_ASSIGN(const auto got, Interpret(lowered, {x}));
      EXPECT_EQ(got[0].floats, want[0].floats) << Print(lowered);
      EXPECT_EQ(got[0].integers, want[0].integers) << Print(lowered);
      for (size_t i = 0; i < 4; ++i) {
        double sum = 0;
        for (size_t k = 0; k < 6; ++k) {
          sum += types.dtype == DType::kI8 ? 100.0 * static_cast<double>(x.integers[i * 6 + k])
                                           : 1.5 * x.floats[i * 6 + k];
        }
        if (types.dtype == DType::kI8) {
          const int64_t rest = static_cast<int64_t>(sum) % 251;
          EXPECT_EQ(got[0].integers[i], rest < 0 ? rest + 251 : rest);
        } else {
          EXPECT_EQ(got[0].floats[i], RoundToStorage(DType::kBf16, sum / 2));
        }
      }
    }
  }
}

// Found by random traces: what a finish reads may be computed at the loops that the reduction is
// made of; init and finish stand outside of these.
TEST(LowerTest, FinishThatReadsWhatIsComputedInsideItsReductionIsRefused) {
  const std::string text = R"(program/1 p
    input X: f32[4, 6]
    output Y: f32[4]
    temp T: f32[4]
    temp acc: f32[1] scratch
    block T(t in 4) { step T[t] = X[t, 0] }
    block Y(i in 4; k in 6) { $init step Y[i] += X[i, k] $finish }
    kernel { for Y.i { $open for Y.k { for T.t { run T } run Y } $close } })";
  for (const bool staged : {false, true}) {
    for (const bool init : {false, true}) {
      SCOPED_TRACE(absl::StrCat("staged ", staged, ", init ", init));
      ExpectRefused(absl::StrReplaceAll(text, {{"$init", init ? "init T[i]" : ""},
                                               {"$finish", init ? "" : "finish self * T[i]"},
                                               {"$open", staged ? "stage Y in acc {" : ""},
                                               {"$close", staged ? "}" : ""}}),
                    "init or finish of Y reads T, which is computed inside the reduction");
    }
  }
}

TEST(LowerTest, WindowOfNineLoopsIsRefused) {
  std::string declarations = "temp acc: f32[1] scratch\n", map = "0", open, close;
  for (int d = 0; d < 9; ++d) {
    absl::StrAppend(&declarations, "var v", d, " in ", d < 2 ? 2 : 1, "\n");
    map = absl::StrCat("(", map, ") * ", d < 2 ? 2 : 1, " + v", d);
    absl::StrAppend(&open, "for v", d, " { ");
    close += " }";
  }
  absl::StrAppend(&declarations, "var Y.i in 4 = ", map, "\n");
  ExpectRefused(RowSums(declarations,
                        absl::StrCat("stage Y in acc { for Y.k { ", open, "run Y", close, " } }"),
                        "Y.i; k in 6"),
                "window acc has 9 dimensions, want at most 8");
}

// Found by random traces: a producer that was moved into the lanes of its reader.
TEST(LowerTest, LanesThatWouldShareAnElementAreRefused) {
  ExpectRefused(R"(program/1 p
    input X: f32[4, 6]
    output Y: f32[4]
    temp T: f32[6]
    block T(t in 6) { step T[t] = X[0, t] }
    block Y(i in 4) { step Y[i] = X[i, 0] + T[5] }
    kernel { vectorize(4) Y.i { for T.t { run T } run Y } })",
                "lanes of Y.i would share elements of T");
}

TEST(LowerTest, RegisterWindowWhoseLoopIsNotWrittenOutIsRefused) {
  const std::string declarations = R"(
    temp acc: f32[2] register
    var io in 2
    var ii in 2
    var Y.i in 4 = io * 2 + ii)";
  ExpectRefused(RowSums(declarations, "for io { stage Y in acc { for Y.k { for ii { run Y } } } }",
                        "Y.i; k in 6"),
                "register window acc is indexed by ii, which is neither unrolled nor vectorized");
  Lowered(RowSums(declarations, "for io { stage Y in acc { for Y.k { unroll ii { run Y } } } }",
                  "Y.i; k in 6"));
}

// A nest must stay one: phases are counted by the root's children.
TEST(LowerTest, LoopOfOneIterationGoesButForTheOutermost) {
  const auto loops = [](const Program& program) {
    std::string names;
    for (const NodeId id : Subtree(program, program.root)) {
      const Node& node = program.nodes[id];
      if (node.kind == NodeKind::kLoop) absl::StrAppend(&names, program.vars[node.var].name, " ");
    }
    return names;
  };
  const std::string text = R"(program/1 p
    input X: f32[1, 4, 1, 3]
    output Y: f32[1, 4, 1, 3]
    block Y(a in 1, b in 4, c in 1, d in 3) { step Y[a, b, c, d] = X[a, b, c, d] })";
  EXPECT_EQ(loops(Lowered(text)), "Y.a Y.b Y.d ");
}

// 7 rows in tiles of 3, 2, 2: a body for each size of a tile.
TEST(LowerTest, EachSizeOfARaggedTileHasABodyOfItsOwn) {
  const std::string text = R"(program/1 p
    input X: f32[7, 5]
    output Y: f32[7]
    temp acc: f32[3] register
    table $0: i64[3] {3, 2, 2}
    table $1: i64[3] {0, 3, 5}
    var mt in 3
    var mi in $0[mt]
    var Y.i in 7 = $1[mt] + mi
    block Y(Y.i; k in 5) { step Y[Y.i] += X[Y.i, k] }
    kernel { parallel mt { stage Y in acc { for Y.k { unroll mi { run Y } } } } })";
  const Program lowered = Lowered(text);
  EXPECT_THAT(Print(lowered), HasSubstr("mi_3"));
  EXPECT_THAT(Print(lowered), HasSubstr("mi_2"));
  EXPECT_THAT(Lower(Parsed(text), {.max_bodies = 1}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("over 1 bodies for distinct tile sizes, the last of mi")));
}

TEST(LowerTest, GuardedTailStoresNothingBeyondTheEnd) {
  Lowered(RowSums(R"(
    var io in 2
    var ii in 3
    var Y.i in 4 guarded = io * 3 + ii)",
                  "for io { for ii { for Y.k { run Y } } }", "Y.i; k in 6"));
  ExpectRefused(RowSums(R"(
    var io in 2
    var ii in 3
    var Y.i in 4 guarded = io * 3 + ii)",
                        "for io { for Y.k { vectorize(3) ii { run Y } } }", "Y.i; k in 6"),
                "a guard would differ between lanes of a vector");
}

// ---- Memories of temporaries. T has a row of X, which Y reads backwards.

std::string Rows(const std::string& scope, const std::string& kernel) {
  return absl::StrCat(R"(program/1 p
    input X: f32[4, 6]
    output Y: f32[4, 6]
    temp T: f32[4, 6])",
                      scope, R"(
    var i in 4
    var T.i in 4 = i
    var Y.i in 4 = i
    block T(T.i, t in 6) { step T[T.i, t] = X[T.i, t] }
    block Y(Y.i, j in 6) { step Y[Y.i, j] = T[Y.i, 5 - j] }
    kernel { )",
                      kernel, " }");
}

constexpr char kFused[] = "parallel i { for T.t { run T } for Y.j { run Y } }";
constexpr char kInBlocks[] =
    "bind(block.x) i { bind(thread.x) T.t { run T } bind(thread.x) Y.j { run Y } }";

// Of T, after lowering.
Scope ScopeOf(const Program& lowered) { return lowered.buffers[FindBuffer(lowered, "T")].scope; }

int Count(absl::string_view text, absl::string_view word) {
  int count = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++count;
  return count;
}

// What the verifier says of `lowered` with the barrier of this number left out.
absl::Status WithoutBarrier(const Program& lowered, int number) {
  std::string text = Print(lowered);
  size_t at = text.find("barrier\n");
  for (; number > 0; --number) at = text.find("barrier\n", at + 1);
  return ParseProgram(text.erase(at, absl::string_view("barrier").size())).status();
}

TEST(LowerTest, TemporaryWithoutScopeLivesWhereAllItsUsersMeet) {
  EXPECT_EQ(ScopeOf(Lowered(Rows("", kFused))), Scope::kScratch);
  EXPECT_EQ(ScopeOf(Lowered(Rows("", "for i { for T.t { run T } for Y.j { run Y } }"))),
            Scope::kGlobal);
  EXPECT_EQ(ScopeOf(Lowered(Rows("", kInBlocks))), Scope::kShared);
  EXPECT_EQ(ScopeOf(Lowered(Rows("", "bind(block.x) i { for T.t { run T } for Y.j { run Y } }"))),
            Scope::kShared);
  EXPECT_EQ(ScopeOf(Lowered(Rows("", "bind(thread.x) i { for T.t { run T } for Y.j { run Y } }"))),
            Scope::kLocal);
}

TEST(LowerTest, ScopeThatWasAskedForIsKept) {
  EXPECT_EQ(ScopeOf(Lowered(Rows(" scratch", kFused))), Scope::kScratch);
  // One worker's nest: nobody else could see its scratch.
  const std::string serial = "for i { for T.t { run T } for Y.j { run Y } }";
  EXPECT_EQ(ScopeOf(Lowered(Rows(" scratch", serial))), Scope::kGlobal);
  EXPECT_EQ(ScopeOf(Lowered(Rows(" global", serial))), Scope::kGlobal);
  EXPECT_EQ(ScopeOf(Lowered(Rows(" shared", kInBlocks))), Scope::kShared);
}

TEST(LowerTest, ScopeThatItsUsersDoNotShareIsRefused) {
  ExpectRefused(Rows(" global", kFused), "T is global and is written and read within one parallel");
  ExpectRefused(Rows(" global", kInBlocks), "T is global and is written and read within one");
  ExpectRefused(Rows(" shared", kFused), "T is shared by a block and is touched outside of one");
  ExpectRefused(Rows(" scratch", kInBlocks), "T is scratch of a worker and is touched by a GPU's");
  ExpectRefused(Rows(" local", kInBlocks), "T is local to a thread and is touched outside of one");
  const std::string two_nests = R"(program/1 p
    input X: f32[4]
    output Y: f32[4]
    temp T: f32[4] $scope
    block T(t in 4) { step T[t] = X[t] }
    block Y(i in 4) { step Y[i] = T[3 - i] }
    kernel { $kind T.t { run T } $kind Y.i { run Y } })";
  const auto with = [&](const char* scope, const char* kind) {
    return absl::StrReplaceAll(two_nests, {{"$scope", scope}, {"$kind", kind}});
  };
  ExpectRefused(with("scratch", "parallel"),
                "T is scratch of a worker and is touched in more than");
  ExpectRefused(with("shared", "bind(block.x)"), "T is shared by a block and is touched outside");
  EXPECT_EQ(ScopeOf(Lowered(with("", "parallel"))), Scope::kGlobal);
  EXPECT_EQ(ScopeOf(Lowered(with("global", "parallel"))), Scope::kGlobal);
}

TEST(LowerTest, BarrierStandsBetweenLoopsOverThreadsThatShareMemory) {
  const Program lowered = Lowered(Rows("", kInBlocks));
  EXPECT_EQ(Count(Print(lowered), "barrier\n"), 1) << Print(lowered);
  EXPECT_THAT(WithoutBarrier(lowered, 0),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no barrier between loops over threads that touch T")));
  // What is not shared needs none.
  EXPECT_EQ(Count(Print(Lowered(Rows("", kFused))), "barrier\n"), 0);
}

// A window in shared memory: filled, combined into in each iteration of k, read, each element by
// one thread.
TEST(LowerTest, ElementOfOneThreadNeedsNoBarrier) {
  const Program lowered = Lowered(RowSums(R"(
    temp acc: f32[2] shared
    var io in 2
    var ii in 2
    var Y.i in 4 = io * 2 + ii)",
                                          R"(
    bind(block.x) io { stage Y in acc { for Y.k { bind(thread.x) ii { run Y } } } })",
                                          "Y.i; k in 6"));
  EXPECT_EQ(lowered.buffers[FindBuffer(lowered, "acc")].scope, Scope::kShared);
  EXPECT_EQ(Count(Print(lowered), "barrier\n"), 0) << Print(lowered);
}

TEST(LowerTest, ForAnEstimateTheKernelIsTheSame) {
  const Program program = Parsed(RowSums(R"(
    temp acc: f32[1] scratch
    temp unused: f32[1] scratch
    var ko in 2 reduce
    var ki in 3 reduce
    var Y.k in 6 reduce = ko * 3 + ki)",
                                         R"(
    for ko { stage Y in acc { for ki { for Y.i { run Y } } } })",
                                         "i in 4; Y.k"));
  ASSERT_OK_AND_ASSIGN(const Program lowered, Lower(program));
  ASSERT_OK_AND_ASSIGN(Program estimated, Lower(program, {.for_estimate = true}));
  EXPECT_GT(estimated.vars.size(), lowered.vars.size());
  EXPECT_EQ(FingerprintOf(estimated), FingerprintOf(lowered));
  Prune(estimated);
  EXPECT_EQ(Print(estimated), Print(lowered));
}

TEST(LowerTest, LoweredProgramIsNotLoweredAgain) {
  const Program lowered = Lowered(RowSums("", "for Y.i { for Y.k { run Y } }"));
  EXPECT_THAT(Lower(lowered), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("already")));
}

}  // namespace
}  // namespace burnish
