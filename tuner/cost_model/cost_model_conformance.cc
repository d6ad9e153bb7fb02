#include "tuner/cost_model/cost_model_conformance.h"

#include <cmath>
#include <vector>

#include "base/rng.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"

namespace burnish {
namespace {

using ::testing::Each;
using ::testing::ResultOf;
using ::testing::SizeIs;

struct Samples {
  FeatureMatrix features;
  std::vector<Measurement> results;
};

// Every fifth one failed; the others take longer the larger their first feature is.
Samples RandomSamples(int count, int columns, int seed) {
  Rng rng(seed);
  Samples samples{FeatureMatrix(columns), {}};
  for (int i = 0; i < count; ++i) {
    std::vector<float> row(columns);
    for (float& value : row) value = static_cast<float>(rng.Uniform());
    samples.features.AddRow(row);
    Measurement& result = samples.results.emplace_back();
    if (i % 5 == 4) {
      result.outcome = Failure{FailureKind::kRunTimeout, "slow"};
    } else {
      const int64_t latency_ns = 1000 + static_cast<int64_t>(100000 * row[0]);
      result.outcome = Latencies{{ProcessLatencies{.latency_ns = {latency_ns}}}};
    }
  }
  return samples;
}

FeatureMatrix Rows(const FeatureMatrix& all, int first, int count) {
  FeatureMatrix part(all.columns());
  for (int i = first; i < first + count; ++i) part.AddRow(all.row(i));
  return part;
}

TEST_P(CostModelConformanceTest, OneFiniteScorePerRowBeforeAndAfterTraining) {
  const int columns = GetParam().columns;
  const auto is_finite = ResultOf([](float score) { return std::isfinite(score); }, true);
  const std::unique_ptr<CostModel> model = GetParam().make(1);
  const Samples samples = RandomSamples(40, columns, 1);
  EXPECT_THAT(model->Predict(FeatureMatrix(columns)), IsOkAndHolds(SizeIs(0)));
  EXPECT_THAT(model->Predict(samples.features),
              IsOkAndHolds(::testing::AllOf(SizeIs(40), Each(is_finite))));
  ASSERT_THAT(model->Update("t", samples.features, samples.results), IsOk());
  EXPECT_THAT(model->Predict(samples.features),
              IsOkAndHolds(::testing::AllOf(SizeIs(40), Each(is_finite))));
}

TEST_P(CostModelConformanceTest, ScoreDoesNotDependOnTheRowsPlace) {
  const std::unique_ptr<CostModel> model = GetParam().make(1);
  const Samples samples = RandomSamples(40, GetParam().columns, 2);
  ASSERT_THAT(model->Update("t", samples.features, samples.results), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<float> all, model->Predict(samples.features));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> one, model->Predict(Rows(samples.features, 17, 1)));
  EXPECT_EQ(one[0], all[17]);
}

TEST_P(CostModelConformanceTest, ModelDoesNotDependOnHowTheRowsWereCutIntoCalls) {
  const Samples samples = RandomSamples(60, GetParam().columns, 3);
  const std::unique_ptr<CostModel> live = GetParam().make(5);
  for (const auto& [first, count] : {std::pair(0, 7), std::pair(7, 33), std::pair(40, 20)}) {
    ASSERT_THAT(live->Update("t", Rows(samples.features, first, count),
                             absl::MakeConstSpan(samples.results).subspan(first, count)),
                IsOk());
  }
  const std::unique_ptr<CostModel> resumed = GetParam().make(5);
  ASSERT_THAT(resumed->Update("t", samples.features, samples.results), IsOk());
  const FeatureMatrix asked = RandomSamples(30, GetParam().columns, 4).features;
  ASSERT_OK_AND_ASSIGN(const std::vector<float> want, live->Predict(asked));
  EXPECT_THAT(resumed->Predict(asked), IsOkAndHolds(want));
}

TEST_P(CostModelConformanceTest, SizesThatDoNotFitAreRefusedAndChangeNothing) {
  const int columns = GetParam().columns;
  const std::unique_ptr<CostModel> model = GetParam().make(1);
  const Samples samples = RandomSamples(20, columns, 5);
  ASSERT_OK_AND_ASSIGN(const std::vector<float> before, model->Predict(samples.features));
  const Samples wide = RandomSamples(3, columns + 1, 6);
  EXPECT_THAT(model->Predict(wide.features), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(model->Update("t", wide.features, wide.results),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(model->Update("t", samples.features, absl::MakeConstSpan(samples.results).subspan(1)),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(model->Predict(samples.features), IsOkAndHolds(before));
}

}  // namespace
}  // namespace burnish
