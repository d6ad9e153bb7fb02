#include "compiler/ir/guard_loops.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

Program Lowered(const std::string& text) {
  absl::StatusOr<Program> program = ParseProgram(text);
  EXPECT_THAT(program, IsOk()) << text;
  EXPECT_THAT(Verify(*program), IsOk()) << text;
  absl::StatusOr<Program> lowered = Lower(*program);
  EXPECT_THAT(lowered, IsOk());
  return *std::move(lowered);
}

// Products of 12 rows with a matrix, in tiles of five rows and two steps of the reduction, between
// which partial sums lie in the output.
constexpr char kProduct[] = R"(program/1 "product"

input A: f32[12, 8]
input B: f32[8, 16]
output Y: f32[12, 16]
temp acc: f32[] register

var Y.m in 12 = t * 5 + i
var t in 3
var i in min(5, t * -5 + 12)
var Y.n in 16
var Y.k in 8 reduce = kb * 4 + q
var kb in 2 reduce
var q in 4 reduce

block Y(Y.m, Y.n; Y.k) {
  step Y[Y.m, Y.n] += A[Y.m, Y.k] * B[Y.k, Y.n]
}

kernel {
  for kb in 2 {
    for t in 3 {
      for i in min(5, t * -5 + 12) {
        stage Y in acc {
          for q in 4 {
            vectorize(16) Y.n in 16 {
              run Y
            }
          }
        }
      }
    }
  }
}
)";

TensorValue Numbers(const std::vector<int64_t>& shape) {
  TensorValue value{.shape = shape};
  for (int64_t i = 0; i < ElementCount(shape); ++i) {
    value.floats.push_back(static_cast<double>(i * 7 % 23) - 11);
  }
  return value;
}

constexpr double kUntouched = -12345;

// What no loop writes is known by its value.
void FillFirst(Program& program, const std::string& name = "Y") {
  const BufferId output = FindBuffer(program, name);
  NodeId at = program.root;
  std::vector<Expr> indices;
  for (const int64_t extent : program.buffers[output].shape) {
    const VarId var =
        AddVar(program, {.name = UniqueVarName(program, "fill"), .extent = Int(extent)});
    const NodeId loop = AddNode(program, {.kind = NodeKind::kLoop, .var = var});
    AppendChild(program, at, loop);
    indices.push_back(VarRef(var));
    at = loop;
  }
  AppendChild(program, at,
              AddNode(program, {.kind = NodeKind::kStore,
                                .buffer = output,
                                .indices = indices,
                                .value = Float(kUntouched)}));
  std::vector<NodeId>& nests = program.nodes[program.root].children;
  std::rotate(nests.begin(), nests.end() - 1, nests.end());
}

// Runs a product of 12 rows for each number of rows that a call may read: those are as they are
// without guards, and rows from `computed(rows)` on are left alone.
void ExpectRowsReadOnly(const Program& plain,
                        const std::function<int64_t(int64_t rows)>& computed) {
  Program program = plain;
  const GuardedLoops guarded = GuardLoops({.axes = {0}}, program);
  ASSERT_GE(guarded.live, 0);
  ASSERT_THAT(Verify(program), IsOk()) << Print(program);
  const auto read = ParseProgram(Print(program));
  ASSERT_THAT(read, IsOk()) << Print(program);
  EXPECT_EQ(Print(*read), Print(program));
  FillFirst(program);
  const int64_t flags = program.buffers[guarded.live].shape[0];
  const std::vector<TensorValue> inputs = {Numbers({12, 8}), Numbers({8, 16})};
  const auto want = Interpret(plain, inputs);
  ASSERT_THAT(want, IsOk());
  for (int64_t rows = 0; rows <= 12; ++rows) {
    TensorValue live{.dtype = DType::kBool, .shape = {flags}};
    live.integers.assign(static_cast<size_t>(flags), 1);
    for (const LoopGuard& guard : guarded.guards) {
      ASSERT_EQ(guard.written.size(), 1u);
      EXPECT_EQ(guard.written[0].axis, 0u);
      ASSERT_EQ(static_cast<int64_t>(guard.written[0].ranges.size()), guard.count);
      for (int64_t i = 0; i < guard.count; ++i) {
        if (guard.written[0].ranges[i].min < rows) continue;
        live.integers[guard.first + i] = 0;
      }
    }
    const auto got = Interpret(program, {inputs[0], inputs[1], live});
    ASSERT_THAT(got, IsOk());
    for (int64_t row = 0; row < 12; ++row) {
      for (int64_t n = 0; n < 16; ++n) {
        const double y = (*got)[0].floats[row * 16 + n];
        if (row < computed(rows)) {
          EXPECT_EQ(y, (*want)[0].floats[row * 16 + n]) << rows << ": " << row;
        } else {
          EXPECT_EQ(y, kUntouched) << rows << ": " << row;
        }
      }
    }
  }
}

TEST(GuardLoopsTest, WhatNobodyReadsIsLeftOutAndTheRestIsTheSame) {
  ExpectRowsReadOnly(Lowered(kProduct), [](int64_t rows) { return rows; });
}

// Tiles of four rows in registers.
constexpr char kTiles[] = R"(program/1 "tiles"

input A: f32[12, 8]
input B: f32[8, 16]
output Y: f32[12, 16]
temp acc: f32[] register

var Y.m in 12 = TILES
var Y.n in 16
var Y.k in 8 reduce

block Y(Y.m, Y.n; Y.k) {
  step Y[Y.m, Y.n] += A[Y.m, Y.k] * B[Y.k, Y.n]
  finish max(self, -1000000.0)
}

kernel {
  for t in 3 {
    stage Y in acc {
      for Y.k in 8 {
        unroll i in ROWS {
          vectorize(16) Y.n in 16 {
            run Y
          }
        }
      }
    }
  }
}
)";

Program Tiles(const std::string& index, const std::string& rows, int count = 3) {
  std::string text = kTiles;
  text.replace(text.find("TILES"), 5,
               absl::StrCat(index, "\nvar t in ", count, "\nvar i in ", rows));
  text.replace(text.find("ROWS"), 4, rows);
  text.replace(text.find("for t in 3"), 10, absl::StrCat("for t in ", count));
  return Lowered(text);
}

TEST(GuardLoopsTest, TilesOfWhichTheFirstRowsAreReadAreShorter) {
  // Of a tile of four there are copies with one, two and three rows.
  ExpectRowsReadOnly(Tiles("t * 4 + i", "4"), [](int64_t rows) { return rows; });
}

TEST(GuardLoopsTest, TilesOfTwoSizesHaveOneShorterCopyOfBoth) {
  // Five, five and two rows, of which there is a copy of two.
  const Program ragged = Tiles("t * 5 + i", "min(5, t * -5 + 12)");
  ExpectRowsReadOnly(ragged, [](int64_t rows) {
    const int64_t start = (rows - 1) / 5 * 5;
    return rows == 0 ? 0 : rows - start <= 2 ? start + 2 : std::min<int64_t>(start + 5, 12);
  });
  // Five, four and three rows, of which there is a copy of two.
  const Program three = Tiles("t * 5 - t // 2 + i", "5 - t");
  ExpectRowsReadOnly(three, [](int64_t rows) {
    const int64_t start = rows <= 5 ? 0 : rows <= 9 ? 5 : 9;
    const int64_t end = rows <= 5 ? 5 : rows <= 9 ? 9 : 12;
    return rows == 0 ? 0 : rows - start <= 2 ? start + 2 : end;
  });
  Program program = three;
  GuardLoops({.axes = {0}}, program);
  const std::string text = Print(program);
  size_t tiles = 0;
  for (size_t at = text.find("+="); at != std::string::npos; at = text.find("+=", at + 1)) ++tiles;
  EXPECT_EQ(tiles, 4u) << text;
}

// Of each of three heads, four rows of keys that hold up to some length, divided by their sums, and
// a product with values: rows in registers, and one after another.
constexpr char kHeads[] = R"(program/1 "heads"
lowered

input scores: f32[3, 4, 32]
input values: f32[3, 32, 16]
input holds: bool[1, 32]
const least: f32[]
output y: f32[3, 4, 16]
temp e: f32[4, 32] scratch
temp sums: f32[4] scratch
temp panel: f32[32, 16] scratch
temp sum: f32[] register
temp acc: f32[4, 16] register

var h in 3
var pk in 32
var pn in 16
var em in 4
var ek in 2
var el in 16
var sm in 4
var sk in 32 reduce
var ym in 4
var yn in 16
var yk in 16 reduce
var yq in 2 reduce

kernel {
  for h in 3 {
    for pk in 32 {
      vectorize(16) pn in 16 {
        panel[pk, pn] = values[h, pk, pn]
      }
    }
    for em in 4 {
      for ek in 2 {
        vectorize(16) el in 16 {
          e[em, ek * 16 + el] = exp(holds[0, ek * 16 + el] ? scores[h, em, ek * 16 + el] : least[])
        }
      }
    }
    for sm in 4 {
      sum[] = 0.0
      for sk in 32 {
        sum[] += e[sm, sk]
      }
      sums[sm] = sum[]
    }
    unroll ym in 4 {
      vectorize(16) yn in 16 {
        acc[ym, yn] = 0.0
      }
    }
    for yk in 16 {
      unroll yq in 2 {
        unroll ym in 4 {
          vectorize(16) yn in 16 {
            acc[ym, yn] += e[ym, yk * 2 + yq] / sums[ym] * panel[yk * 2 + yq, yn]
          }
        }
      }
    }
    unroll ym in 4 {
      vectorize(16) yn in 16 {
        y[h, ym, yn] = acc[ym, yn]
      }
    }
  }
}
)";

Program Heads() {
  absl::StatusOr<Program> program = ParseProgram(kHeads);
  EXPECT_THAT(program, IsOk());
  EXPECT_THAT(Verify(*program), IsOk());
  return *std::move(program);
}

// What is set where of each axis so many of `shape` are read.
TensorValue Flags(const GuardedLoops& guarded, int64_t flags, const std::vector<int64_t>& shape,
                  const std::vector<int64_t>& read) {
  TensorValue live{.dtype = DType::kBool, .shape = {flags}};
  live.integers.assign(static_cast<size_t>(flags), 1);
  for (const LoopGuard& guard : guarded.guards) {
    for (const LoopGuard::Written& written : guard.written) {
      for (int64_t i = 0; i < guard.count; ++i) {
        bool is_read = false;
        for (int64_t at = written.ranges[i].min; at <= written.ranges[i].max; ++at) {
          int64_t left = at;
          bool is_inside = true;
          for (size_t d = written.axis + written.count; d-- > written.axis;) {
            const int64_t index = d == written.axis ? left : left % shape[d];
            is_inside = is_inside && index < read[d];
            left /= shape[d];
          }
          is_read = is_read || is_inside;
        }
        if (!is_read) live.integers[guard.first + i] = 0;
      }
    }
  }
  return live;
}

TEST(GuardLoopsTest, RowsOfWhichEachIterationHasAllAreShorter) {
  const Program plain = Heads();
  Program program = plain;
  const GuardedLoops guarded = GuardLoops({.axes = {0, 1}}, program);
  ASSERT_GE(guarded.live, 0);
  ASSERT_THAT(Verify(program), IsOk()) << Print(program);
  FillFirst(program, "y");
  TensorValue holds{.dtype = DType::kBool, .shape = {1, 32}};
  holds.integers.assign(32, 1);
  const std::vector<TensorValue> inputs = {Numbers({3, 4, 32}), Numbers({3, 32, 16}), holds,
                                           Numbers({})};
  const auto want = Interpret(plain, inputs);
  ASSERT_THAT(want, IsOk());
  for (const int64_t heads : {0, 2, 3}) {
    for (const int64_t rows : {1, 2, 3, 4}) {
      const int64_t flags = program.buffers[guarded.live].shape[0];
      const TensorValue live = Flags(guarded, flags, {3, 4}, {heads, rows});
      const auto got = Interpret(program, {inputs[0], inputs[1], inputs[2], inputs[3], live});
      ASSERT_THAT(got, IsOk());
      for (int64_t i = 0; i < 3 * 4 * 16; ++i) {
        const bool is_read = i / 64 < heads && i / 16 % 4 < rows;
        EXPECT_EQ((*got)[0].floats[i], is_read ? (*want)[0].floats[i] : kUntouched)
            << heads << " heads, " << rows << " rows: " << i;
      }
    }
  }
}

// The first `length` of 32 keys hold, behind which scores are as little as they get; weights of the
// values there are 0, whatever those are.
TEST(GuardLoopsTest, KeysThatDoNotHoldAreNotSummed) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Program plain = Heads();
  const GuardRequest request = {.axes = {0, 1},
                                .rests = {{.parameter = 2, .axis = 1, .value = 0, .extent = 0},
                                          {.parameter = 3, .axis = -1, .value = -kInfinity}}};
  ASSERT_THAT(CheckRequest(request, plain), IsOk());
  Program program = plain;
  const GuardedLoops guarded = GuardLoops(request, program);
  ASSERT_GE(guarded.live, 0);
  ASSERT_THAT(Verify(program), IsOk()) << Print(program);
  FillFirst(program, "y");
  // The sum of a row has too short iterations; the product, the values that it packs, and the keys'
  // weights are asked about, these by the sum as well, which reads all.
  std::set<size_t> axes;
  for (const LoopGuard& guard : guarded.guards) {
    for (const LoopGuard::Written& written : guard.written) axes.insert(written.axis);
  }
  EXPECT_THAT(axes, ::testing::Contains(3u));
  const int64_t flags = program.buffers[guarded.live].shape[0];
  for (const int64_t length : {1, 2, 15, 16, 17, 31, 32}) {
    TensorValue holds{.dtype = DType::kBool, .shape = {1, 32}};
    for (int64_t key = 0; key < 32; ++key) holds.integers.push_back(key < length ? 1 : 0);
    TensorValue least{.shape = {}, .floats = {-kInfinity}};
    TensorValue scores = Numbers({3, 4, 32}), values = Numbers({3, 32, 16});
    const auto want = Interpret(plain, {scores, values, holds, least});
    ASSERT_THAT(want, IsOk());
    // An iteration in which some keys hold reads all of its keys.
    for (int64_t i = 0; i < ElementCount(values.shape); ++i) {
      if (i / 16 % 32 >= (length + 1) / 2 * 2) values.floats[i] = std::nan("");
    }
    const TensorValue live = Flags(guarded, flags, {3, 4, 16, 32}, {3, 3, 16, length});
    const auto got = Interpret(program, {scores, values, holds, least, live});
    ASSERT_THAT(got, IsOk());
    for (int64_t i = 0; i < 3 * 4 * 16; ++i) {
      EXPECT_EQ((*got)[0].floats[i], i / 16 % 4 < 3 ? (*want)[0].floats[i] : kUntouched)
          << length << " keys: " << i;
    }
  }
}

// Rows that are masked: behind those that hold nothing is computed, and all is stored.
constexpr char kMasked[] = R"(program/1 "masked"
lowered

input x: f32[12, 16]
input holds: bool[12]
const none: f32[]
output y: f32[12, 16]
temp t: f32[4, 16] register

var tile in 3
var row in 4
var n in 16

kernel {
  for tile in 3 {
    unroll row in 4 {
      vectorize(16) n in 16 {
        t[row, n] = exp(x[tile * 4 + row, n])
      }
    }
    unroll row in 4 {
      vectorize(16) n in 16 {
        y[tile * 4 + row, n] = holds[tile * 4 + row] ? t[row, n] : none[]
      }
    }
  }
}
)";

TEST(GuardLoopsTest, WhatAMaskLeavesIsStoredWithoutWork) {
  absl::StatusOr<Program> parsed = ParseProgram(kMasked);
  ASSERT_THAT(parsed, IsOk());
  const Program plain = *std::move(parsed);
  const GuardRequest request = {.axes = {},
                                .rests = {{.parameter = 1, .axis = 0, .value = 0, .extent = 0},
                                          {.parameter = 2, .axis = -1, .value = 0, .extent = -1}}};
  Program program = plain;
  const GuardedLoops guarded = GuardLoops(request, program);
  ASSERT_GE(guarded.live, 0);
  ASSERT_THAT(Verify(program), IsOk()) << Print(program);
  ASSERT_EQ(guarded.guards.size(), 1u);
  EXPECT_EQ(guarded.guards[0].count, 3);
  const int64_t flags = program.buffers[guarded.live].shape[0];
  FillFirst(program, "y");
  for (int64_t rows = 0; rows <= 12; ++rows) {
    TensorValue x = Numbers({12, 16}), holds{.dtype = DType::kBool, .shape = {12}};
    for (int64_t row = 0; row < 12; ++row) holds.integers.push_back(row < rows ? 1 : 0);
    const TensorValue none{.shape = {}, .floats = {0}};
    const auto want = Interpret(plain, {x, holds, none});
    ASSERT_THAT(want, IsOk());
    // Of tiles behind those with rows that hold not even the mask is read.
    for (int64_t row = (rows + 3) / 4 * 4; row < 12; ++row) holds.integers[row] = 1;
    const TensorValue live = Flags(guarded, flags, {12, 16, 12}, {12, 16, rows});
    const auto got = Interpret(program, {x, holds, none, live});
    ASSERT_THAT(got, IsOk());
    EXPECT_EQ((*got)[0].floats, (*want)[0].floats) << rows;
  }
}

TEST(GuardLoopsTest, RequestsOfWhatThereIsNotAreRefused) {
  const Program program = Heads();
  for (const GuardRequest& request : std::vector<GuardRequest>{
           {.axes = {3}},
           {.axes = {-1}},
           {.rests = {{.parameter = 5, .axis = 0, .value = 0, .extent = 0}}},
           {.rests = {{.parameter = -1, .axis = 0, .value = 0, .extent = 0}}},
           {.rests = {{.parameter = 2, .axis = 2, .value = 0, .extent = 0}}},
           {.rests = {{.parameter = 2, .axis = 1, .value = 0, .extent = 1}}},
           {.rests = {{.parameter = 2, .axis = 1, .value = 0, .extent = -1}}},
           {.rests = {{.parameter = 2, .axis = -2, .value = 0, .extent = -1}}}}) {
    EXPECT_EQ(CheckRequest(request, program).code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(GuardLoopsTest, ATileOfAllRowsIsShorter) {
  ExpectRowsReadOnly(Tiles("t * 12 + i", "12", /*count=*/1),
                     [](int64_t rows) { return std::max<int64_t>((rows + 1) / 2 * 2, 2); });
}

// What an instruction computes has no iterations that could be left out.
TEST(GuardLoopsTest, LoopsOfAnInstructionAskNothing) {
  absl::StatusOr<Program> program = ParseProgram(R"(program/1 "tiles"
lowered

input A: f32[12, 16]
output Y: f32[12, 16]

var t in 3
var i in 4
var j in 16

kernel {
  for t in 3 {
    tensorize(tile_store) i in 4 {
      for j in 16 {
        Y[t * 4 + i, j] = A[t * 4 + i, j]
      }
    }
  }
}
)");
  ASSERT_THAT(program, IsOk());
  const GuardedLoops guarded = GuardLoops({.axes = {0}}, *program);
  ASSERT_EQ(guarded.guards.size(), 1u) << Print(*program);
  EXPECT_EQ(guarded.guards[0].count, 3);
}

TEST(GuardLoopsTest, AxesThatAllIterationsWriteAskNothing) {
  Program program = Lowered(kProduct);
  EXPECT_EQ(GuardLoops({}, program).live, -1);
  EXPECT_EQ(GuardLoops({.axes = {1}}, program).live, -1);
  EXPECT_EQ(Print(program), Print(Lowered(kProduct)));
}

// Rows of [3, 8] in tiles of five: the second tile is the end of one row and the start of the next.
TEST(GuardLoopsTest, TilesThatGoOnInTheNextRowAreRangesOfBothAxes) {
  Program program = Lowered(R"(program/1 "rows"

input A: f32[3, 8, 16]
output Y: f32[3, 8, 16]

var Y.b in 3 = r // 8
var Y.s in 8 = r % 8
var r in 24 = t * 5 + i
var t in 5
var i in min(5, t * -5 + 24)
var Y.n in 16

block Y(Y.b, Y.s, Y.n) {
  step Y[Y.b, Y.s, Y.n] = exp(A[Y.b, Y.s, Y.n])
}

kernel {
  for t in 5 {
    for i in min(5, t * -5 + 24) {
      vectorize(16) Y.n in 16 {
        run Y
      }
    }
  }
}
)");
  const GuardedLoops guarded = GuardLoops({.axes = {0, 1}}, program);
  ASSERT_EQ(guarded.guards.size(), 2u);
  const auto& written = guarded.guards[0].written;
  const auto both = std::find_if(written.begin(), written.end(),
                                 [](const LoopGuard::Written& each) { return each.count == 2; });
  ASSERT_NE(both, written.end()) << Print(program);
  EXPECT_EQ(both->axis, 0u);
  for (int64_t t = 0; t < 5; ++t) {
    EXPECT_EQ(both->ranges[t].min, 5 * t);
    EXPECT_EQ(both->ranges[t].max, 5 * t + 4);  // Of the last one, by the greatest extent.
  }
}

// Columns in two loops that use the same registers.
constexpr char kShared[] = R"(program/1 "shared"
lowered

input A: f32[6, 20]
output Y: f32[6, 20]
temp acc: f32[16] register

var m in 6
var n in 16
var n1 in 16
var n2 in 16
var o in 6
var p in 4
var p1 in 4
var p2 in 4

kernel {
  for m in 6 {
    vectorize(16) n in 16 {
      acc[n] = A[m, n]
    }
    vectorize(16) n2 in 16 {
      acc[n2] += A[m, n2]
    }
    vectorize(16) n1 in 16 {
      Y[m, n1] = acc[n1]
    }
  }
  for o in 6 {
    vectorize(4) p in 4 {
      FIRST
    }
    vectorize(4) p1 in 4 {
      Y[o, p1 + 16] = acc[p1]
    }
  }
}
)";

TEST(GuardLoopsTest, LoopsMayShareRegistersThatEachOverwrites) {
  for (const bool overwrites : {true, false}) {
    std::string text = kShared;
    text.replace(text.find("FIRST"), 5,
                 overwrites ? "acc[p] = A[o, p + 16]" : "acc[p] += A[o, p + 16]");
    absl::StatusOr<Program> program = ParseProgram(text);
    ASSERT_THAT(program, IsOk());
    const GuardedLoops guarded = GuardLoops({.axes = {0}}, *program);
    // The second loop is too short to be worth a question.
    EXPECT_EQ(guarded.guards.size(), overwrites ? 1u : 0u) << Print(*program);
  }
}

// As a session sets flags where `rows` of the output's first axis are read.
TensorValue FlagsOf(const GuardedLoops& guarded, int64_t count, int64_t rows) {
  TensorValue live{.dtype = DType::kBool, .shape = {count}};
  live.integers.assign(static_cast<size_t>(count), 1);
  for (const LoopGuard& guard : guarded.guards) {
    for (const LoopGuard::Written& written : guard.written) {
      for (int64_t i = 0; i < guard.count; ++i) {
        if (written.ranges[i].min >= rows) live.integers[guard.first + i] = 0;
      }
    }
  }
  return live;
}

// T is filled in pieces and read by tiles of two rows, from the last; U lies between T and Y in an
// outer loop, whose iterations each write all of it. The interpreter refuses what nobody wrote.
constexpr char kChain[] = R"(program/1 "chain"
lowered

input A: f32[12, 16]
output Y: f32[12, 2, 16]
temp T: f32[12, 16] global
temp U: f32[3, 16] global

var p in 4
var pi in 3
var pn in 16
var o in 2
var u in 3
var un in 16
var t in 6
var ti in 2
var tn in 16

kernel {
  for p in 4 {
    for pi in 3 {
      vectorize(16) pn in 16 {
        T[p * 3 + pi, pn] = A[p * 3 + pi, pn] * 2.0
      }
    }
  }
  for o in 2 {
    for u in 3 {
      vectorize(16) un in 16 {
        U[u, un] = A[o * 4 + u, un]
      }
    }
    for t in 6 {
      for ti in 2 {
        vectorize(16) tn in 16 {
          Y[t * 2 + ti, o, tn] = T[11 - (t * 2 + ti), tn] + U[t // 2, tn]
        }
      }
    }
  }
}
)";

TEST(GuardLoopsTest, IterationsThatLeaveSomethingAreNeededWhereItIsRead) {
  absl::StatusOr<Program> plain = ParseProgram(kChain);
  ASSERT_THAT(plain, IsOk());
  ASSERT_THAT(Verify(*plain), IsOk());
  Program program = *plain;
  const GuardedLoops guarded = GuardLoops({.axes = {0}}, program);
  // Tiles and rows of Y, pieces and rows of T, rows of U.
  ASSERT_EQ(guarded.guards.size(), 5u) << Print(program);
  ASSERT_THAT(Verify(program), IsOk());
  const int64_t flags = program.buffers[guarded.live].shape[0];
  const TensorValue a = Numbers({12, 16});
  const auto want = Interpret(*plain, {a});
  ASSERT_THAT(want, IsOk());
  int64_t least = flags;
  FillFirst(program);
  for (int64_t rows = 0; rows <= 12; ++rows) {
    SCOPED_TRACE(rows);
    const TensorValue live = FlagsOf(guarded, flags, rows);
    const auto got = Interpret(program, {a, live});
    ASSERT_THAT(got, IsOk());
    for (int64_t i = 0; i < rows * 32; ++i) {
      ASSERT_EQ((*got)[0].floats[i], (*want)[0].floats[i]) << i;
    }
    least = std::min(least, std::count(live.integers.begin(), live.integers.end(), 1));
  }
  EXPECT_EQ(least, 0);
}

// U is written in the first iteration of o alone, or read before it is written again.
TEST(GuardLoopsTest, WhatAnEarlierIterationHasLeftIsWhole) {
  const auto guards = [](const std::string& text) {
    absl::StatusOr<Program> program = ParseProgram(text);
    EXPECT_THAT(program, IsOk()) << text;
    return GuardLoops({.axes = {0}}, *program).guards.size();
  };
  const std::string text = kChain, fill = "    for u in 3 {";
  const size_t begin = text.find(fill), end = text.find("    for t in 6");
  const std::string nest = text.substr(begin, end - begin);
  const std::string before = text.substr(0, begin), behind = text.substr(end);
  EXPECT_EQ(guards(before + nest + behind), 5u);
  EXPECT_EQ(guards(before + "if o == 0 {\n" + nest + "}\n" + behind), 4u);
  std::string last = behind;
  last.insert(last.rfind("  }\n}"), nest);
  EXPECT_EQ(guards(before + last), 4u);
}

// Each row but the first is a copy of what the iteration before has left.
TEST(GuardLoopsTest, IterationsThatReadOthersRunAll) {
  const std::string text = R"(program/1 "carried"
lowered

input A: f32[6, 16]
output Y: f32[6, 16]
temp T: f32[7, 16] global

var m in 6
var n in 16
var o in 16

kernel {
  for m in 6 {
    vectorize(16) n in 16 {
      T[m + 1, n] = A[m, n]
    }
    vectorize(16) o in 16 {
      Y[m, o] = T[m, o]
    }
  }
}
)";
  absl::StatusOr<Program> program = ParseProgram(text);
  ASSERT_THAT(program, IsOk());
  EXPECT_EQ(GuardLoops({.axes = {0}}, *program).live, -1) << Print(*program);
}

// Three elements an iteration, in two phases.
constexpr char kShares[] = R"(program/1 "shares"

input A: f32[2, 512, 3]
output Y: f32[2, 512, 3]
temp S: f32[2, 512]

var S.b in 2
var S.m in 512
var S.k in 3 reduce
var Y.b in 2
var Y.m in 512
var Y.n in 3

block S(S.b, S.m; S.k) {
  step S[S.b, S.m] += A[S.b, S.m, S.k]
}

block Y(Y.b, Y.m, Y.n) {
  step Y[Y.b, Y.m, Y.n] = A[Y.b, Y.m, Y.n] * S[Y.b, Y.m]
}

kernel {
  for S.b in 2 {
    for S.m in 512 {
      for S.k in 3 {
        run S
      }
    }
  }
  for Y.b in 2 {
    for Y.m in 512 {
      for Y.n in 3 {
        run Y
      }
    }
  }
}
)";

TEST(GuardLoopsTest, ShortIterationsAreAskedAboutInBlocks) {
  const Program plain = Lowered(kShares);
  Program program = plain;
  const GuardedLoops guarded = GuardLoops({.axes = {1}}, program);
  ASSERT_GE(guarded.live, 0);
  ASSERT_THAT(Verify(program), IsOk()) << Print(program);
  const auto read = ParseProgram(Print(program));
  ASSERT_THAT(read, IsOk()) << Print(program);
  EXPECT_EQ(Print(*read), Print(program));
  // Of each phase a loop; 32 rows are 96 elements, 16 would be less than four cache lines. What the
  // first leaves lies elsewhere for each b.
  ASSERT_EQ(guarded.guards.size(), 2u);
  EXPECT_EQ(guarded.guards[0].count + guarded.guards[1].count, 16 + 32);
  for (const LoopGuard& guard : guarded.guards) {
    ASSERT_EQ(guard.count % 16, 0);
    ASSERT_EQ(guard.written.size(), 1u);
    for (int64_t i = 0; i < guard.count; ++i) {
      EXPECT_EQ(guard.written[0].ranges[i].min, 32 * (i % 16));
      EXPECT_EQ(guard.written[0].ranges[i].max, 32 * (i % 16) + 31);
    }
  }
  FillFirst(program);
  const TensorValue a = Numbers({2, 512, 3});
  const auto want = Interpret(plain, {a});
  ASSERT_THAT(want, IsOk());
  for (const int64_t rows : {0, 1, 32, 33, 100, 511, 512}) {
    TensorValue live{.dtype = DType::kBool, .shape = {48}};
    for (int64_t i = 0; i < 48; ++i) live.integers.push_back(32 * (i % 16) < rows);
    const auto got = Interpret(program, {a, live});
    ASSERT_THAT(got, IsOk());
    for (int64_t i = 0; i < 2 * 512 * 3; ++i) {
      const int64_t row = i / 3 % 512;
      const double y = (*got)[0].floats[i];
      if (row < (rows + 31) / 32 * 32) {
        ASSERT_EQ(y, (*want)[0].floats[i]) << rows << ": " << i;
      } else {
        ASSERT_EQ(y, kUntouched) << rows << ": " << i;
      }
    }
  }
}

// A loop whose blocks cannot be asked about stays as it is, and so does one of what no call cuts.
TEST(GuardLoopsTest, LoopsAreCutOnlyWhereThatHelps) {
  const Program plain = Lowered(kShares);
  for (const std::vector<int>& axes : {std::vector<int>{}, std::vector<int>{2}}) {
    Program program = plain;
    EXPECT_LT(GuardLoops({.axes = axes}, program).live, 0);
    EXPECT_EQ(Print(program), Print(plain));
  }
}

}  // namespace
}  // namespace burnish
