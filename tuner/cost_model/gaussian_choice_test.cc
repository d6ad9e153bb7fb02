#include "tuner/cost_model/gaussian_choice.h"

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

TEST(GaussianChoiceTest, NothingKnownTakesTheFirstAndThenWhatIsFarFromIt) {
  const FeatureMatrix features = MatrixOf({{0}, {0.1}, {9}, {0.2}, {5}});
  EXPECT_THAT(Choose({.features = features, .candidate_count = 5}, 3), ElementsAre(0, 2, 4));
  // One that is under way counts as taken.
  EXPECT_THAT(
      Choose(
          {.features = MatrixOf({{0}, {0.1}, {5}, {9}}), .candidate_count = 3, .pending_count = 1},
          1),
      ElementsAre(0));
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

// A bowl in four of six dimensions, in which chance finds the best 1 % of 1,000 points after about
// 70 tries at the median.
TEST(GaussianChoiceTest, FindsTheBottomOfABowlSooner) {
  Rng rng(7);
  std::vector<std::vector<float>> points(1000);
  std::vector<double> costs;
  for (std::vector<float>& point : points) {
    double cost = 0;
    for (int d = 0; d < 6; ++d) {
      point.push_back(static_cast<float>(rng.Uniform()));
      if (d < 4) cost += std::pow(point.back() - 0.2 * d - 0.1, 2);
    }
    costs.push_back(cost);
  }
  std::vector<double> sorted = costs;
  std::sort(sorted.begin(), sorted.end());
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
  EXPECT_LE(best, sorted[2]) << "of 1,000, after 40";
}

}  // namespace
}  // namespace burnish
