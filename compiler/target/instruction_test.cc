#include "compiler/target/instruction.h"

#include <set>
#include <string>

#include "base/unit_loops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::AnyOf;

TEST(InstructionTest, RowsAreWhole) {
  std::set<absl::string_view> names;
  for (const Instruction* row : AllInstructions()) {
    SCOPED_TRACE(row->name);
    EXPECT_TRUE(names.insert(row->name).second) << "a name of its own";
    EXPECT_EQ(row->k % row->packed_k, 0);
    EXPECT_EQ(FindNest(row->name), row->is_nest() ? row : nullptr);
    EXPECT_EQ(row->tiles != nullptr, row->sums_in == Residence::kTileRegister);
    if (row->tiles == nullptr) {
      EXPECT_EQ(row->m, 1);
      EXPECT_THAT(row->vector_bytes(), AnyOf(16, 32, 64));
      continue;
    }
    EXPECT_EQ(row->m, row->tiles->rows);
    EXPECT_EQ(row->n * NumberBytes(row->sum), row->tiles->row_bytes);
    EXPECT_EQ(row->k * NumberBytes(row->left), row->tiles->row_bytes);
  }
  EXPECT_EQ(FindNest(""), nullptr);
}

TEST(InstructionTest, ALoopMeasuresEachRow) {
  for (const Instruction* row : AllInstructions()) {
    const UnitLoop* const loop = FindUnitLoop(std::string(row->name));
    ASSERT_NE(loop, nullptr) << row->name;
    EXPECT_EQ(loop->operations / loop->instructions, 2 * row->m * row->n * row->k) << row->name;
    EXPECT_EQ(std::string(loop->feature), row->feature) << row->name;
  }
}

TEST(InstructionTest, NestOfADotHasItsLanesAndProducts) {
  EXPECT_EQ(NestText(*FindNest("vnni_u8s8x8")), R"(program/1 vnni_u8s8x8
      input A: u8[4]
      input B: i8[8, 4]
      output C: i32[8]
      block C(i in 8; j in 4) { step C[i] += i32(A[j]) * i32(B[i, j]) })");
}

TEST(InstructionTest, NestOfTilesHasTheShapeThatIsAskedFor) {
  EXPECT_EQ(NestText(*FindNest("amx_bf16"), {.rows = 3, .columns = 5, .groups = 7}),
            R"(program/1 amx_bf16
      input A: bf16[3, 14]
      input B: bf16[7, 5, 2]
      output C: f32[3, 5]
      block C(i in 3, j in 5; k in 7, v in 2) {
        step C[i, j] += f32(A[i, k * 2 + v]) * f32(B[k, j, v])
      })");
}

}  // namespace
}  // namespace burnish
