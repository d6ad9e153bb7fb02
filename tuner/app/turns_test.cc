#include "tuner/app/turns.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/status_matchers.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(TurnsTest, RatioIsTheFirstInTheSecondAndTheControlItsOwn) {
  const TurnTimes times = Judge({{.first = 1, .second = 2, .first_again = 1},
                                 {.first = 1, .second = 2, .first_again = 1.02},
                                 {.first = 1, .second = 2, .first_again = 0.98}});
  EXPECT_NEAR(times.ratio.median, 0.5, 1e-12);
  EXPECT_NEAR(times.ratio.spread, 0.005 / 2, 1e-12);
  EXPECT_NEAR(times.control.median, 1, 1e-12);
  EXPECT_NEAR(times.control.spread, 0.01, 1e-12);
  EXPECT_EQ(times.first_ns, 1);
  EXPECT_EQ(times.second_ns, 2);
  EXPECT_EQ(times.round_count, 3);
}

TEST(TurnsTest, DriftThroughARoundIsNoDifference) {
  const TurnTimes times = Judge({{.first = 100, .second = 110, .first_again = 120}});
  EXPECT_NEAR(times.ratio.median, 1, 1e-12);
  EXPECT_NEAR(times.control.median, 1.2, 1e-12);
}

// One round that somebody disturbed moves neither the ratio nor its spread.
TEST(TurnsTest, OneDisturbedRoundInNineIsPassedOver) {
  std::vector<Round> rounds(9, {.first = 1, .second = 4, .first_again = 1});
  rounds[4].second = 400;
  EXPECT_NEAR(Judge(rounds).ratio.median, 0.25, 1e-12);
  EXPECT_NEAR(Judge(rounds).ratio.spread, 0, 1e-12);
}

TEST(TurnsTest, TheFirstHasItsTurnBeforeAndAfterTheSecond) {
  std::string order;
  const auto turn = [&order](char name) {
    return [&order, name]() -> absl::StatusOr<double> {
      order += name;
      return 1.0;
    };
  };
  EXPECT_THAT(TakeTurns(turn('a'), turn('b'), 2), IsOk());
  EXPECT_EQ(order, "abaaba");
}

TEST(TurnsTest, AnErrorEndsTheTurns) {
  int calls = 0;
  const Turn fine = [&]() -> absl::StatusOr<double> { return ++calls; };
  const Turn broken = []() -> absl::StatusOr<double> { return absl::InternalError("broken"); };
  EXPECT_EQ(TakeTurns(fine, broken, 5).status(), absl::InternalError("broken"));
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace burnish
