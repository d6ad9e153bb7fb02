#include "compiler/graph/split_pools_pass.h"

#include <vector>

#include "base/status_matchers.h"
#include "compiler/graph/graph_testing.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;

struct PoolSpec {
  Shape input;  // Spatial.
  Shape kernel, strides, pads, dilations;
  int64_t channels_last = 0, ceil_mode = 0;
  DType dtype = DType::kF32;
  const char* op = "max_pool";
};

// Pools after the pass, which must not change a bit of the outputs.
size_t PoolsAfter(const PoolSpec& spec) {
  Graph before;
  Shape x = {2};
  if (spec.channels_last == 0) x.push_back(3);
  x.insert(x.end(), spec.input.begin(), spec.input.end());
  if (spec.channels_last != 0) x.push_back(3);
  const ValueId input = AddInput(before, "x", {spec.dtype, x});
  before.outputs = {Op(before, spec.op, {input},
                       {{"kernel_shape", spec.kernel},
                        {"strides", spec.strides},
                        {"pads", spec.pads},
                        {"dilations", spec.dilations},
                        {"ceil_mode", spec.ceil_mode},
                        {"channels_last", spec.channels_last}})};
  Graph after = before;
  EXPECT_THAT(SplitPools(after), IsOk());
  EXPECT_EQ(Difference(before, after, 0), "");
  return after.nodes.size();
}

TEST(SplitPoolsTest, LargeWindowsGoOneDimensionAfterTheOther) {
  for (const int64_t last : {0, 1}) {
    EXPECT_EQ(PoolsAfter({{9, 11}, {5, 5}, {1, 1}, {2, 2, 2, 2}, {1, 1}, last}), 2U);
  }
  EXPECT_EQ(PoolsAfter({{19, 19}, {13, 13}, {1, 1}, {6, 6, 6, 6}, {1, 1}}), 2U);
  EXPECT_EQ(PoolsAfter({{5, 6, 7}, {3, 3, 3}, {2, 1, 2}, {1, 1, 1, 0, 1, 1}, {1, 1, 1}}), 3U);
}

TEST(SplitPoolsTest, StepsRestsAndHolesStay) {
  EXPECT_EQ(PoolsAfter({{12, 13}, {5, 7}, {2, 3}, {2, 0, 1, 3}, {1, 1}}), 2U);
  EXPECT_EQ(PoolsAfter({{12, 13}, {5, 5}, {2, 3}, {2, 2, 2, 2}, {1, 1}, 0, 1}), 2U);
  EXPECT_EQ(PoolsAfter({{14, 13}, {5, 5}, {1, 2}, {2, 4, 2, 4}, {1, 2}}), 2U);
  EXPECT_EQ(PoolsAfter({{9, 11}, {5, 5}, {1, 1}, {2, 2, 2, 2}, {1, 1}, 1, 0, DType::kU8}), 2U);
}

TEST(SplitPoolsTest, SmallWindowsAndAveragesStayWhole) {
  EXPECT_EQ(PoolsAfter({{9, 11}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}}), 1U);
  EXPECT_EQ(PoolsAfter({{9, 80}, {1, 64}, {1, 1}, {0, 0, 0, 0}, {1, 1}}), 1U);
  EXPECT_EQ(PoolsAfter({.input = {9, 11},
                        .kernel = {5, 5},
                        .strides = {1, 1},
                        .pads = {2, 2, 2, 2},
                        .dilations = {1, 1},
                        .op = "average_pool"}),
            1U);
}

}  // namespace
}  // namespace burnish
