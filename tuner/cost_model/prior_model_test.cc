#include "tuner/cost_model/prior_model.h"

#include <memory>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/cost_model/cost_model_conformance.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;

INSTANTIATE_TEST_SUITE_P(Prior, CostModelConformanceTest,
                         ::testing::Values(CostModelMaker{
                             "prior", 3,
                             [](uint64_t) { return std::make_unique<PriorModel>(3, 1); }}),
                         [](const auto& test) { return test.param.name; });

TEST(PriorModelTest, AFasterEstimateScoresHigherBeforeAndAfterMeasurements) {
  PriorModel model(2, 1);
  FeatureMatrix features(2);
  features.AddRow({9, -3});
  features.AddRow({8, -5});
  EXPECT_THAT(model.Predict(features), IsOkAndHolds(ElementsAre(3, 5)));
  // The first was faster.
  const auto measured = [](int64_t ns) {
    return Measurement{.outcome = Latencies{{ProcessLatencies{.latency_ns = {ns}}}}};
  };
  const std::vector<Measurement> results{measured(10), measured(1000)};
  ASSERT_THAT(model.Update("t", features, results), IsOk());
  EXPECT_THAT(model.Predict(features), IsOkAndHolds(ElementsAre(3, 5)));
}

}  // namespace
}  // namespace burnish
