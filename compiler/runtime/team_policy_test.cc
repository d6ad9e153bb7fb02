#include "compiler/runtime/team_policy.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(TeamPolicyTest, OneStallIsNothingAndManyKeepAThreadOutForLonger) {
  TeamPolicy policy(3);
  constexpr int64_t kMs = 1'000'000;
  int64_t now_ns = 5'000 * kMs;
  uint32_t region = ~uint32_t{0} - 1;  // Wraps around.
  policy.OnStall(2, now_ns, region);
  EXPECT_FALSE(policy.IsOut(2));
  policy.OnStall(2, now_ns += kMs, ++region);
  EXPECT_TRUE(policy.IsOut(2));
  EXPECT_FALSE(policy.IsOut(1));
  for (int64_t out_ms : {4, 8, 16, 32, 64, 128, 256, 256, 256}) {
    SCOPED_TRACE(out_ms);
    EXPECT_EQ(policy.out_count(), 1);
    EXPECT_FALSE(policy.BringBack(now_ns + out_ms * kMs - 1, region));
    EXPECT_TRUE(policy.BringBack(now_ns += out_ms * kMs, ++region));
    EXPECT_FALSE(policy.IsOut(2));
    policy.OnStall(2, now_ns += kMs, region += 100);  // Soon, though many regions later.
  }
  EXPECT_TRUE(policy.BringBack(now_ns += 256 * kMs, region));
  policy.OnStall(2, now_ns += 200 * kMs, region += 2);  // Late, though few regions later.
  EXPECT_TRUE(policy.BringBack(now_ns += 256 * kMs, region));
  policy.OnStall(2, now_ns += 11 * kMs, region += 3);
  EXPECT_FALSE(policy.IsOut(2));
  EXPECT_EQ(policy.out_count(), 0);
}

}  // namespace
}  // namespace burnish
