#include "proto/backoff.h"

#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(BackoffTest, DoublesUpToTheMaximumWithJitterInTheUpperHalf) {
  Backoff backoff(absl::Milliseconds(50), absl::Milliseconds(300), /*seed=*/1);
  for (const int base_ms : {50, 100, 200, 300, 300}) {
    const absl::Duration pause = backoff.Next();
    EXPECT_GE(pause, absl::Milliseconds(base_ms) / 2);
    EXPECT_LE(pause, absl::Milliseconds(base_ms));
  }
  backoff.Reset();
  EXPECT_LE(backoff.Next(), absl::Milliseconds(50));
}

TEST(BackoffTest, TwoSeedsDoNotMoveInStep) {
  Backoff a(absl::Seconds(1), absl::Seconds(1), /*seed=*/1);
  Backoff b(absl::Seconds(1), absl::Seconds(1), /*seed=*/2);
  EXPECT_NE(a.Next(), b.Next());
}

}  // namespace
}  // namespace burnish
