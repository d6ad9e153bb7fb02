#include "compiler/ir/space_rows.h"

#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

// x by way of a temporary of [POINTS, TILES, 16]: stored and read as indices say.
Program Copy(int points, int tiles, const std::string& stored, const std::string& read) {
  std::string text = R"(program/1 "copy"
lowered

input x: f32[POINTS, TILES, 16]
output y: f32[POINTS, TILES, 16]
temp t: f32[POINTS, TILES, 16] global

var p in POINTS
var tile in TILES
var n in 16
var q in POINTS
var i in TILES
var m in 16

kernel {
  for p in POINTS {
    for tile in TILES {
      vectorize(16) n in 16 {
        t[STORED] = x[p, tile, n]
      }
    }
  }
  for q in POINTS {
    for i in TILES {
      vectorize(16) m in 16 {
        y[q, i, m] = t[READ]
      }
    }
  }
}
)";
  const auto replace = [&](const std::string& what, const std::string& with) {
    for (size_t at; (at = text.find(what)) != std::string::npos;) {
      text.replace(at, what.size(), with);
    }
  };
  replace("POINTS", std::to_string(points));
  replace("TILES", std::to_string(tiles));
  replace("STORED", stored);
  replace("READ", read);
  absl::StatusOr<Program> program = ParseProgram(text);
  EXPECT_THAT(program, IsOk()) << text;
  return *std::move(program);
}

std::vector<int64_t> Spaced(Program program) {
  SpaceRows(program);
  return program.buffers[FindBuffer(program, "t")].storage.strides;
}

TEST(SpaceRowsTest, PointsThatShareASetTakeALineMore) {
  using Strides = std::vector<int64_t>;
  // 4 KiB apart, 2 KiB, 1 KiB, and nothing near it.
  EXPECT_EQ(Spaced(Copy(36, 64, "p, tile, n", "q, i, m")), (Strides{64 * 16 + 16, 16, 1}));
  EXPECT_EQ(Spaced(Copy(36, 32, "p, tile, n", "q, i, m")), (Strides{32 * 16 + 16, 16, 1}));
  EXPECT_EQ(Spaced(Copy(36, 16, "p, tile, n", "q, i, m")), (Strides{16 * 16, 16, 1}));
  EXPECT_EQ(Spaced(Copy(36, 60, "p, tile, n", "q, i, m")), (Strides{60 * 16, 16, 1}));
  // As many as a set holds.
  EXPECT_EQ(Spaced(Copy(8, 64, "p, tile, n", "q, i, m")), (Strides{64 * 16, 16, 1}));
}

TEST(SpaceRowsTest, RowsThatALoopGoesOnFromStayTogether) {
  const std::string from_row_to_row = "q, (i * 16 + m) // 16, (i * 16 + m) % 16";
  EXPECT_EQ(Spaced(Copy(36, 64, "p, tile, n", from_row_to_row)),
            (std::vector<int64_t>{64 * 16, 16, 1}));
}

TEST(SpaceRowsTest, NoValueChangesAndNoParameterMoves) {
  const Program plain = Copy(36, 64, "p, tile, n", "q, i, m");
  Program program = plain;
  SpaceRows(program);
  ASSERT_THAT(Verify(program), IsOk()) << Print(program);
  EXPECT_NE(Print(program), Print(plain));
  EXPECT_EQ(program.buffers[0].storage.strides, plain.buffers[0].storage.strides);
  EXPECT_EQ(program.buffers[1].storage.strides, plain.buffers[1].storage.strides);
  TensorValue x{.shape = {36, 64, 16}};
  for (int i = 0; i < 36 * 64 * 16; ++i) x.floats.push_back(i);
  const auto got = Interpret(program, {x});
  ASSERT_THAT(got, IsOk());
  EXPECT_EQ((*got)[0].floats, x.floats);
  // Text holds it.
  const auto again = ParseProgram(Print(program));
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(Print(*again), Print(program));
}

}  // namespace
}  // namespace burnish
