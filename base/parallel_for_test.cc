#include "base/parallel_for.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::Each;

TEST(ParallelForTest, EachPieceIsDoneOnce) {
  for (const int threads : {-1, 0, 1, 3, 100}) {
    for (const size_t count : {0, 1, 2, 57}) {
      std::vector<int> calls(count, 0);
      ParallelFor(count, threads, [&](size_t i) { ++calls[i]; });
      EXPECT_THAT(calls, Each(1)) << count << " pieces on " << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace burnish
