#include "base/entropy.h"

#include <set>

#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(EntropyTest, NumbersArePositiveWithRoomAboveAndDiffer) {
  std::set<int64_t> numbers;
  for (int i = 0; i < 1000; ++i) {
    const int64_t number = EntropyNumber();
    EXPECT_GT(number, 0);
    EXPECT_LT(number, int64_t{1} << 61);
    EXPECT_TRUE(numbers.insert(number).second);
  }
  EXPECT_EQ(EntropyBytes(16).size(), 16u);
  EXPECT_NE(EntropyBytes(16), EntropyBytes(16));
}

}  // namespace
}  // namespace burnish
