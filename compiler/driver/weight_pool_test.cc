#include "compiler/driver/weight_pool.h"

#include <vector>

#include "gtest/gtest.h"

namespace burnish {
namespace {

ConstantPtr Bytes(std::vector<uint8_t> bytes) { return MakeConstant(std::move(bytes)); }

TEST(WeightPoolTest, EqualBytesAreOneConstant) {
  WeightPool pool;
  const ConstantPtr first = pool.Shared(Bytes({1, 2, 3}));
  EXPECT_EQ(pool.Shared(first), first);
  EXPECT_EQ(pool.Shared(Bytes({1, 2, 3})), first);
  EXPECT_NE(pool.Shared(Bytes({1, 2, 4})), first);
  EXPECT_NE(pool.Shared(Bytes({1, 2})), first);
  EXPECT_EQ(pool.Shared(Bytes({})), pool.Shared(Bytes({})));
  // A new constant may lie where one that the pool did not take was.
  for (uint8_t i = 0; i < 100; ++i) {
    EXPECT_EQ(pool.Shared(Bytes({1, 2, 3})), first);
    EXPECT_EQ(pool.Shared(Bytes({9, i}))->bytes()[1], i);
  }
}

TEST(WeightPoolTest, WhatOneFunctionMakesOfEqualConstantsIsKnown) {
  WeightPool pool;
  const auto key = [&](const std::string& program, const std::string& storage, uint8_t byte) {
    return WeightPool::PackKey{.program_sha256 = program,
                               .inputs = {{pool.Shared(Bytes({byte})), storage}}};
  };
  EXPECT_EQ(pool.FindPacked(key("a", "1 0", 7)), nullptr);
  const std::vector<ConstantPtr> outputs = {Bytes({70}), Bytes({71})};
  pool.AddPacked(key("a", "1 0", 7), outputs);
  ASSERT_NE(pool.FindPacked(key("a", "1 0", 7)), nullptr);
  EXPECT_EQ(*pool.FindPacked(key("a", "1 0", 7)), outputs);
  EXPECT_EQ(pool.FindPacked(key("b", "1 0", 7)), nullptr);
  EXPECT_EQ(pool.FindPacked(key("a", "2 0", 7)), nullptr);
  EXPECT_EQ(pool.FindPacked(key("a", "1 0", 8)), nullptr);
}

}  // namespace
}  // namespace burnish
