#include "tuner/cost_model/loop_digits.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(LoopDigitsTest, QuotientsAndRestsAreDigits) {
  const Expr v = VarRef(0), u = VarRef(1);
  const std::vector<int64_t> units = {1, 2, 224};
  const auto steps = [&](const Expr& e, VarId var) {
    std::map<int64_t, int64_t> all;
    const bool apart =
        VisitDigits(*e, var, units, 448, [&](int64_t unit, int64_t step) { all[unit] = step; });
    return std::pair(apart, all);
  };
  using Steps = std::map<int64_t, int64_t>;
  EXPECT_EQ(steps(v, 0), std::pair(true, Steps({{1, 1}, {2, 2}, {224, 224}})));
  EXPECT_EQ(steps(FloorDiv(v, 224), 0), std::pair(true, Steps({{224, 1}})));
  EXPECT_EQ(steps(Mod(FloorDiv(v, 2), 112), 0), std::pair(true, Steps({{2, 1}})));
  EXPECT_EQ(steps(Mod(v, 2), 0), std::pair(true, Steps({{1, 1}})));
  EXPECT_EQ(steps(Mod(v, 500), 0), steps(v, 0));
  // No digits of it, another variable, a sum.
  EXPECT_FALSE(steps(FloorDiv(v, 3), 0).first);
  EXPECT_FALSE(steps(FloorDiv(v, 300), 0).first);
  EXPECT_FALSE(steps(v, 1).first);
  EXPECT_FALSE(steps(FloorDiv(v + u, 2), 0).first);
}

}  // namespace
}  // namespace burnish
