#include "compiler/driver/precision_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Le;

constexpr DType kF32 = DType::kF32, kBf16 = DType::kBf16, kI8 = DType::kI8;

// Layers whose errors are these, ten times as large in 8 bits, and add up as squares.
struct Layers {
  std::vector<double> errors;
  int asked = 0;

  ErrorOfTypes ErrorOf() {
    return [this](const std::vector<DType>& types, bool fast) -> absl::StatusOr<double> {
      ++asked;
      double squares = 0;
      for (size_t l = 0; l < types.size(); ++l) {
        if (types[l] == kF32) continue;
        const double error = types[l] == kI8 ? 10 * errors[l] : errors[l];
        squares += error * error;
      }
      return std::sqrt(squares);
    };
  }
};

std::vector<LayerTypes> Narrow(const std::vector<double>& gains) {
  std::vector<LayerTypes> layers;
  for (const double gain : gains) layers.push_back({{kBf16, gain}});
  return layers;
}

TEST(PrecisionPlanTest, NothingIsTakenBackWithinTheBudget) {
  Layers layers{{3e-3, 4e-3}};
  EXPECT_THAT(TakeBack(Narrow({1, 1}), 5e-3, layers.ErrorOf(), nullptr),
              IsOkAndHolds(ElementsAre(kBf16, kBf16)));
  EXPECT_EQ(layers.asked, 1);
}

TEST(PrecisionPlanTest, MostErrorPerNanosecondGoesFirst) {
  // The second costs most and gains so much that the third goes before it.
  Layers layers{{1e-3, 2e-2, 1.9e-2, 1e-3}};
  EXPECT_THAT(TakeBack(Narrow({10, 1000, 10, 10}), 2.1e-2, layers.ErrorOf(), nullptr),
              IsOkAndHolds(ElementsAre(kBf16, kBf16, kF32, kBf16)));
}

TEST(PrecisionPlanTest, WhatGainsNothingGoesBeforeWhatGains) {
  Layers layers{{1e-2, 1e-3}};
  EXPECT_THAT(TakeBack(Narrow({5, -1}), 1e-2, layers.ErrorOf(), nullptr),
              IsOkAndHolds(ElementsAre(kBf16, kF32)));
}

// The only layer that gains, whose error alone is above the budget, would stay until all are gone.
TEST(PrecisionPlanTest, WhatGainsMostGoesBeforeAllOthersHaveTo) {
  Layers layers{{1e-3, 3e-3, 1e-3, 1e-3}};
  EXPECT_THAT(TakeBack(Narrow({0, 100, 0, 0}), 2e-3, layers.ErrorOf(), nullptr),
              IsOkAndHolds(ElementsAre(kBf16, kF32, kBf16, kBf16)));
}

// Of layers whose times nobody knows, the one that costs most goes first.
TEST(PrecisionPlanTest, WithoutTimesTheErrorDecides) {
  Layers layers{{1e-2, 2e-2, 1e-3}};
  EXPECT_THAT(TakeBack(Narrow({0, 0, 0}), 1.2e-2, layers.ErrorOf(), nullptr),
              IsOkAndHolds(ElementsAre(kBf16, kF32, kBf16)));
}

TEST(PrecisionPlanTest, LayersInF32StaySo) {
  Layers layers{{1e-2, 1e-2, 1e-2}};
  std::vector<LayerTypes> gains = Narrow({1, 1, 1});
  gains[1] = {};
  EXPECT_THAT(TakeBack(gains, 1e-2, layers.ErrorOf(), nullptr),
              IsOkAndHolds(ElementsAre(kF32, kF32, kBf16)));
}

// In 8 bits a layer gains a little more than in 16, for ten times the error: the step between the
// two is the first of each layer, and f32 is reached where that is not enough.
TEST(PrecisionPlanTest, LayersGoByWayOfTypesThatAreWorthIt) {
  Layers layers{{1e-3, 1e-3, 1e-3}};
  const std::vector<LayerTypes> types(3, {{kI8, 11}, {kBf16, 10}});
  const auto taken = [&](double budget) {
    return *TakeBack(types, budget, layers.ErrorOf(), nullptr);
  };
  EXPECT_THAT(taken(2e-2), ElementsAre(kI8, kI8, kI8));
  EXPECT_THAT(taken(1.5e-2), ElementsAre(kBf16, kI8, kI8));
  EXPECT_THAT(taken(1.8e-3), ElementsAre(kBf16, kBf16, kBf16));
  EXPECT_THAT(taken(1.1e-3), ElementsAre(kF32, kF32, kBf16));
  EXPECT_THAT(taken(1e-4), Each(kF32));
}

// A type that is slower than another with less error, or no faster than f32, is left out.
TEST(PrecisionPlanTest, TypesThatAreNotWorthItAreLeftOut) {
  Layers layers{{1e-3, 1e-3}};
  EXPECT_THAT(
      TakeBack({{{kI8, 5}, {kBf16, 6}}, {{kI8, 5}, {kBf16, -1}}}, 9e-3, layers.ErrorOf(), nullptr),
      IsOkAndHolds(ElementsAre(kBf16, kF32)));
}

TEST(PrecisionPlanTest, WhereNoLayerIsWithinTheBudgetAllGo) {
  Layers layers{{1e-2, 1e-2}};
  EXPECT_THAT(TakeBack(Narrow({1, 1}), 1e-6, layers.ErrorOf(), nullptr), IsOkAndHolds(Each(kF32)));
}

TEST(PrecisionPlanTest, AsksOnceALayerAndHalves) {
  Layers layers{std::vector<double>(100, 1e-3)};
  std::vector<std::pair<int, int>> told;
  ASSERT_OK_AND_ASSIGN(const std::vector<DType> types,
                       TakeBack(Narrow(std::vector<double>(100, 1)), 5.01e-3, layers.ErrorOf(),
                                [&](int done, int total) { told.emplace_back(done, total); }));
  EXPECT_EQ(std::count(types.begin(), types.end(), kBf16), 25);
  EXPECT_THAT(layers.asked, Le(1 + 100 + 7));
  EXPECT_EQ(told.size(), static_cast<size_t>(layers.asked));
  for (const auto& [done, total] : told) EXPECT_LE(done, total);
}

TEST(PrecisionPlanTest, AnErrorOfTheProbeIsTheAnswer) {
  const ErrorOfTypes fails = [](const std::vector<DType>&, bool) -> absl::StatusOr<double> {
    return absl::InternalError("not finite");
  };
  EXPECT_THAT(TakeBack(Narrow({1}), 1, fails, nullptr),
              StatusIs(absl::StatusCode::kInternal, "not finite"));
}

TEST(NextAimTest, LeavesRoomForWhatTheProbeDoesNotSee) {
  // Unseen: 3e-3 of 5e-3; what is left of 4e-3 beside it.
  const double aim = NextAim(4e-3, 4e-3, 5e-3, 0);
  EXPECT_NEAR(aim, std::sqrt(16 - 9) * 1e-3, 1e-9);
  // If the unseen part stays, the next build is at the budget.
  EXPECT_NEAR(std::hypot(aim, 3e-3), 4e-3, 1e-9);
  // A build just over the budget takes back little: what was seen of a MobileNetV2 at 2e-2.
  EXPECT_NEAR(NextAim(2e-2, 1.992e-2, 2.102e-2, 0), 1.884e-2, 1e-5);
  EXPECT_EQ(NextAim(4e-3, 4e-3, 5e-3, 1), aim);
}

TEST(NextAimTest, ScalesAllWhereThatDoesNotHelp) {
  for (const int tries : {2, 3}) {
    EXPECT_NEAR(NextAim(4e-3, 4e-3, 5e-3, tries), 0.8 * 4e-3 * 4 / 5, 1e-9);
  }
  // The unseen part alone is over the budget.
  EXPECT_NEAR(NextAim(4e-3, 4e-3, 9e-3, 0), 0.8 * 4e-3 * 4 / 9, 1e-9);
}

// Each try asks for less than the one before saw, so that no choice is built twice.
TEST(NextAimTest, IsBelowWhatWasSeen) {
  for (const double measured : {1.0001e-2, 1.1e-2, 1.4e-2, 5e-2}) {
    for (const double seen : {1e-4, 5e-3, 9.9e-3, 1e-2}) {
      for (const int tries : {0, 1, 2}) {
        EXPECT_LT(NextAim(1e-2, seen, measured, tries), seen) << measured << " " << tries;
      }
    }
  }
}

}  // namespace
}  // namespace burnish
