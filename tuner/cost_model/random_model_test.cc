#include "tuner/cost_model/random_model.h"

#include <memory>
#include <set>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/cost_model/cost_model_conformance.h"

namespace burnish {
namespace {

using ::testing::Each;

INSTANTIATE_TEST_SUITE_P(Random, CostModelConformanceTest,
                         ::testing::Values(CostModelMaker{
                             "random", 3,
                             [](uint64_t seed) { return std::make_unique<RandomModel>(seed, 3); }}),
                         [](const auto& test) { return test.param.name; });

TEST(RandomModelTest, ScoresAreZeroUntilItLearnsAndThenDifferByRow) {
  RandomModel model(1, 1);
  FeatureMatrix features(1);
  for (float i = 0; i < 100; ++i) features.AddRow({i});
  EXPECT_THAT(model.Predict(features), IsOkAndHolds(Each(0)));
  ASSERT_THAT(model.Update("t", features, std::vector<Measurement>(100)), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<float> scores, model.Predict(features));
  EXPECT_GT(std::set<float>(scores.begin(), scores.end()).size(), 90);
}

}  // namespace
}  // namespace burnish
