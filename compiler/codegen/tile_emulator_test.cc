#include "compiler/codegen/tile_emulator.h"

#include <bit>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"

namespace burnish {
namespace {

// Registers 0 and 1 with so many rows, register 2 with 16; all of 64 bytes.
std::vector<uint8_t> Configuration(int rows) {
  std::vector<uint8_t> bytes(64, 0);
  bytes[0] = 1;
  for (size_t tile = 0; tile < 3; ++tile) {
    bytes[16 + 2 * tile] = 64;
    bytes[48 + tile] = static_cast<uint8_t>(tile == 2 ? 16 : rows);
  }
  return bytes;
}

uint16_t Bf16(float value) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16); }

TEST(TileMachineTest, ConfigurationsThatThePaletteForbidsAreFaults) {
  const auto is_fault = [](size_t byte, uint8_t value) {
    std::vector<uint8_t> bytes = Configuration(5);
    bytes[byte] = value;
    return !TileMachine().Configure(bytes.data());
  };
  EXPECT_FALSE(is_fault(0, 1));
  EXPECT_FALSE(is_fault(0, 0));  // Releases.
  EXPECT_TRUE(is_fault(0, 2));
  EXPECT_TRUE(is_fault(2, 1));    // Reserved.
  EXPECT_TRUE(is_fault(16, 65));  // A row of more than 64 bytes.
  EXPECT_TRUE(is_fault(48, 17));  // More than 16 rows.
  EXPECT_TRUE(is_fault(49, 0));   // Columns without rows.
  EXPECT_TRUE(is_fault(56, 1));   // There are eight registers.
}

TEST(TileMachineTest, RegistersMustBeConfiguredAndFitEachOther) {
  TileMachine machine;
  EXPECT_FALSE(machine.Zero(0));
  ASSERT_TRUE(machine.Configure(Configuration(5).data()));
  EXPECT_TRUE(machine.Zero(0));
  EXPECT_FALSE(machine.Zero(3));
  EXPECT_TRUE(machine.MultiplyBf16(0, 1, 2));
  EXPECT_FALSE(machine.MultiplyBf16(0, 0, 2));  // One register twice.
  EXPECT_FALSE(machine.MultiplyBf16(0, 2, 1));  // 16 rows of the left one for 5 sums.
  machine.Release();
  EXPECT_FALSE(machine.MultiplyBf16(0, 1, 2));
}

TEST(TileMachineTest, ProductsOfBytesAreExactAndWrapAround) {
  TileMachine machine;
  ASSERT_TRUE(machine.Configure(Configuration(1).data()));
  const std::vector<uint8_t> left(64, 255), right(1024, 0x80);  // 255 * -128, 64 times.
  std::vector<int32_t> sums(16, INT32_MIN);
  auto* const bytes = reinterpret_cast<uint8_t*>(sums.data());
  ASSERT_TRUE(machine.Load(0, bytes, 64));
  ASSERT_TRUE(machine.Load(1, left.data(), 64));
  ASSERT_TRUE(machine.Load(2, right.data(), 64));
  ASSERT_TRUE(machine.MultiplyU8S8(0, 1, 2));
  ASSERT_TRUE(machine.Store(0, bytes, 64));
  for (int32_t sum : sums) {
    EXPECT_EQ(sum, static_cast<int32_t>(uint32_t{0x80000000u} - 64u * 255u * 128u));
  }
}

// Even and odd products are summed apart and added to the old sum last; subnormal numbers count 0.
TEST(TileMachineTest, FloatsAreAddedInTheInstructionsOrder) {
  TileMachine machine;
  ASSERT_TRUE(machine.Configure(Configuration(1).data()));
  std::vector<uint16_t> left(32, Bf16(1)), right(512, 0);
  // Of column 0. Even: 2^24 + 1 = 2^24 rounded to even. Odd: 1. Their sum: 2^24 + 1 = 2^24 again.
  right[0] = Bf16(16777216.0f), right[32] = Bf16(1), right[1] = Bf16(1);
  // Of column 1: a subnormal number.
  right[2] = 1;
  std::vector<float> sums(16, 0);
  sums[0] = -16777216.0f;
  auto* const bytes = reinterpret_cast<uint8_t*>(sums.data());
  ASSERT_TRUE(machine.Load(0, bytes, 64));
  ASSERT_TRUE(machine.Load(1, reinterpret_cast<uint8_t*>(left.data()), 64));
  ASSERT_TRUE(machine.Load(2, reinterpret_cast<uint8_t*>(right.data()), 64));
  ASSERT_TRUE(machine.MultiplyBf16(0, 1, 2));
  ASSERT_TRUE(machine.Store(0, bytes, 64));
  EXPECT_EQ(sums[0], 0);
  EXPECT_EQ(sums[1], 0);
}

TEST(TileMachineTest, RowsLieAStrideApartAndTheRestIsCleared) {
  TileMachine machine;
  ASSERT_TRUE(machine.Configure(Configuration(3).data()));
  std::vector<uint8_t> memory(300);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<uint8_t>(i);
  ASSERT_TRUE(machine.Load(0, memory.data() + 200, -100));
  std::vector<uint8_t> out(192);
  ASSERT_TRUE(machine.Store(0, out.data(), 64));
  for (size_t row = 0; row < 3; ++row) {
    EXPECT_EQ(std::memcmp(&out[64 * row], &memory[200 - 100 * row], 64), 0) << row;
  }
}

#if defined(__x86_64__)
TEST(TileEmulatorDeathTest, IllegalInstructionOfAnotherKindStillEndsTheProcess) {
  const ScopedTileEmulator emulator;
  EXPECT_DEATH(asm volatile("ud2"), "no processor does here");
}
#endif

}  // namespace
}  // namespace burnish
