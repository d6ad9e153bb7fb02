#include "tuner/cost_model/gaussian_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kFailed = std::numeric_limits<double>::infinity();

FeatureMatrix MatrixOf(const std::vector<std::vector<float>>& rows) {
  FeatureMatrix matrix(static_cast<int>(rows[0].size()));
  for (const std::vector<float>& row : rows) matrix.AddRow(row);
  return matrix;
}

TEST(GaussianChoiceTest, NothingKnownTakesWhatStandsForMostAndThenWhatIsFar) {
  // Of three that are alike the one that is nearest to the others.
  const FeatureMatrix features = MatrixOf({{9}, {0}, {0.1}, {0.2}, {5}});
  EXPECT_THAT(Choose({.features = features, .candidate_count = 5}, 3), ElementsAre(3, 0, 4));
  // One that is under way counts as taken.
  EXPECT_THAT(Choose({.features = MatrixOf({{0}, {0.1}, {9}, {0.1}}),
                      .candidate_count = 3,
                      .pending_count = 1},
                     1),
              ElementsAre(2));
  EXPECT_THAT(Choose({.features = features, .candidate_count = 5}, 9), SizeIs(5));
  EXPECT_THAT(Choose({.features = features, .candidate_count = 5}, 0), IsEmpty());
}

TEST(GaussianChoiceTest, PriorDecidesUntilMeasurementsContradictIt) {
  std::vector<std::vector<float>> rows;
  std::vector<double> prior;
  for (int i = 0; i < 20; ++i) {
    rows.push_back({static_cast<float>(i)});
    prior.push_back(-0.3 * i);  // The last is the best.
  }
  EXPECT_THAT(Choose({.features = MatrixOf(rows), .candidate_count = 20, .prior = prior}, 1),
              ElementsAre(19));
  // Twelve measured ones say the opposite.
  std::vector<double> log_latencies;
  for (int i = 4; i < 16; ++i) {
    rows.push_back({static_cast<float>(i)});
    prior.push_back(-0.3 * i);
    log_latencies.push_back(0.1 * i);
  }
  EXPECT_LT(Choose({.features = MatrixOf(rows),
                    .candidate_count = 20,
                    .log_latencies = log_latencies,
                    .prior = prior},
                   1)[0],
            4);
}

TEST(GaussianChoiceTest, FailuresAreKeptAwayFromAndMissingFeaturesDoNoHarm) {
  const float none = std::numeric_limits<float>::quiet_NaN();
  const FeatureMatrix features =
      MatrixOf({{1, none}, {8, none}, {1.1F, 3}, {0.9F, none}, {8.1F, 3}, {7.9F, none}});
  EXPECT_THAT(Choose({.features = features,
                      .candidate_count = 2,
                      .log_latencies = {kFailed, kFailed, 1.0, 1.01}},
                     1),
              ElementsAre(1));
  EXPECT_THAT(
      Choose({.features = MatrixOf({{1}, {2}}), .candidate_count = 1, .log_latencies = {kFailed}},
             1),
      ElementsAre(0));
  // Nothing varies.
  EXPECT_THAT(
      Choose({.features = MatrixOf({{1}, {1}, {1}}), .candidate_count = 2, .log_latencies = {0.5}},
             2),
      ElementsAre(0, 1));
}

// Searches 1,000 points of `dimensions`: how many are better than the best of 40 that were
// measured, in batches of eight. `cost`: what a value of each of the first four adds.
int BetterThanFound(int dimensions, double (*cost)(int dimension, double value)) {
  Rng rng(7);
  std::vector<std::vector<float>> points(1000);
  std::vector<double> costs;
  for (std::vector<float>& point : points) {
    double sum = 0;
    for (int d = 0; d < dimensions; ++d) {
      point.push_back(static_cast<float>(rng.Uniform()));
      if (d < 4) sum += cost(d, point.back());
    }
    costs.push_back(sum);
  }
  std::vector<int> measured;
  double best = kFailed;
  for (int batch = 0; batch < 5; ++batch) {
    const std::set<int> known(measured.begin(), measured.end());
    std::vector<std::vector<float>> rows;
    std::vector<int> places;
    for (int i = 0; i < 1000; ++i) {
      if (!known.contains(i)) rows.push_back(points[i]), places.push_back(i);
    }
    std::vector<double> log_latencies;
    for (const int i : measured) {
      rows.push_back(points[i]);
      log_latencies.push_back(costs[i]);
    }
    for (const int place : Choose({.features = MatrixOf(rows),
                                   .candidate_count = static_cast<int>(places.size()),
                                   .log_latencies = log_latencies},
                                  8)) {
      measured.push_back(places[place]);
      best = std::min(best, costs[places[place]]);
    }
  }
  return static_cast<int>(
      std::count_if(costs.begin(), costs.end(), [&](double other) { return other < best; }));
}

// Chance finds the best 1 % after about 70 tries at the median.
TEST(GaussianChoiceTest, FindsTheBottomOfABowlSooner) {
  EXPECT_LE(BetterThanFound(6, [](int d, double x) { return std::pow(x - 0.2 * d - 0.1, 2); }), 2);
}

// Nine of ten columns tell nothing: they must not make what is fast look far away.
TEST(GaussianChoiceTest, FindsOutWhichColumnsTellNothing) {
  EXPECT_LE(BetterThanFound(40, [](int d, double x) { return x / (1 + d); }), 2);
}

}  // namespace
}  // namespace burnish
