#include "tuner/cost_model/xgboost_model.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/cost_model/cost_model_conformance.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::Not;

std::unique_ptr<CostModel> Make(uint64_t seed, bool use_prior) {
  return std::make_unique<XgboostModel>(
      XgboostModelOptions{.columns = 3, .use_prior = use_prior, .seed = seed});
}

INSTANTIATE_TEST_SUITE_P(
    Xgboost, CostModelConformanceTest,
    ::testing::Values(
        CostModelMaker{"with_prior", 3, [](uint64_t seed) { return Make(seed, true); }},
        CostModelMaker{"without_prior", 3, [](uint64_t seed) { return Make(seed, false); }}),
    [](const auto& test) { return test.param.name; });

Measurement Ran(double seconds) {
  const int64_t latency_ns = std::llround(seconds * 1e9);
  Measurement measurement;
  measurement.outcome = Latencies{{ProcessLatencies{.latency_ns = {latency_ns}}}};
  return measurement;
}

Measurement Failed() {
  Measurement measurement;
  measurement.outcome = Failure{FailureKind::kRunTimeout, "slow"};
  return measurement;
}

constexpr int kColumns = 12;

// Candidates of a machine that the prior knows in part: true log latency is the prior plus what a
// few features say, steps and products among them, plus noise.
struct Synthetic {
  FeatureMatrix features{kColumns};
  std::vector<Measurement> results;
  std::vector<double> log_seconds;  // Without noise.
};

Synthetic Sample(int count, int seed, double scale = 1e-3) {
  Rng rng(static_cast<uint64_t>(seed));
  Synthetic all;
  for (int i = 0; i < count; ++i) {
    std::vector<float> row(kColumns);
    for (float& value : row) value = static_cast<float>(rng.Uniform());
    row[0] = static_cast<float>(std::log(scale) + 1.5 * row[1] + 0.5 * row[2]);
    const double truth = row[0] + (row[3] > 0.6 ? 1.0 : 0.0) + 1.2 * row[4] * row[5] -
                         (row[1] > 0.5 && row[6] > 0.5 ? 0.8 : 0.0);
    all.features.AddRow(row);
    all.log_seconds.push_back(truth);
    all.results.push_back(Ran(std::exp(truth + 0.02 * rng.Normal())));
  }
  return all;
}

// Of all pairs, the share that the scores order as the truth does.
double PairwiseAccuracy(const std::vector<float>& scores, const std::vector<double>& log_seconds) {
  double right = 0, all = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      right += (scores[i] > scores[j]) == (log_seconds[i] < log_seconds[j]);
      ++all;
    }
  }
  return right / all;
}

double AccuracyOf(const CostModel& model, const Synthetic& asked) {
  const auto scores = model.Predict(asked.features);
  EXPECT_THAT(scores, IsOk());
  return PairwiseAccuracy(*scores, asked.log_seconds);
}

TEST(XgboostModelTest, ScoreBeforeTheFirstUpdateIsThePrior) {
  const XgboostModel model({.columns = 2, .prior_column = 1});
  FeatureMatrix features(2);
  features.AddRow({9, -6.5});
  features.AddRow({0, -7.25});
  EXPECT_THAT(model.Predict(features), IsOkAndHolds(ElementsAre(6.5, 7.25)));
}

TEST(XgboostModelTest, LearnsWhatThePriorGetsWrong) {
  const Synthetic held_out = Sample(400, 1);
  XgboostModel model({.columns = kColumns});
  const double prior = AccuracyOf(model, held_out);
  const Synthetic few = Sample(64, 2), more = Sample(500, 3);
  ASSERT_THAT(model.Update("t", few.features, few.results), IsOk());
  const double after_few = AccuracyOf(model, held_out);
  ASSERT_THAT(model.Update("t", more.features, more.results), IsOk());
  const double after_more = AccuracyOf(model, held_out);
  RecordProperty("prior", std::to_string(prior));
  std::printf("pairwise accuracy: prior %.3f, 64 rows %.3f, 564 rows %.3f\n", prior, after_few,
              after_more);
  EXPECT_LT(prior, 0.80);
  EXPECT_GT(after_few, prior + 0.02);
  EXPECT_GT(after_more, 0.93);
}

TEST(XgboostModelTest, WithoutThePriorItLearnsLatencyItself) {
  const Synthetic held_out = Sample(400, 1), taught = Sample(500, 3);
  XgboostModel model({.columns = kColumns, .use_prior = false});
  ASSERT_THAT(model.Update("t", taught.features, taught.results), IsOk());
  const double accuracy = AccuracyOf(model, held_out);
  std::printf("pairwise accuracy: %.3f\n", accuracy);
  EXPECT_GT(accuracy, 0.88);
}

TEST(XgboostModelTest, WithheldPriorDoesNotReachTheTrees) {
  XgboostModel model({.columns = kColumns, .use_prior = false});
  const Synthetic taught = Sample(200, 3);
  ASSERT_THAT(model.Update("t", taught.features, taught.results), IsOk());
  FeatureMatrix one(kColumns), other(kColumns);
  std::vector<float> row(taught.features.row(0).begin(), taught.features.row(0).end());
  one.AddRow(row);
  row[0] += 100;
  other.AddRow(row);
  ASSERT_OK_AND_ASSIGN(const std::vector<float> want, model.Predict(one));
  EXPECT_THAT(model.Predict(other), IsOkAndHolds(want));
}

// Tasks of other sizes train the same model: only the order within a task counts.
TEST(XgboostModelTest, AnotherTaskOfAThousandTimesTheLatencyWarmsTheStart) {
  const Synthetic held_out = Sample(400, 1), small = Sample(300, 2, 1e-6),
                  large = Sample(300, 3, 1);
  XgboostModel model({.columns = kColumns});
  const double prior = AccuracyOf(model, held_out);
  ASSERT_THAT(model.Update("small", small.features, small.results), IsOk());
  ASSERT_THAT(model.Update("large", large.features, large.results), IsOk());
  EXPECT_GT(AccuracyOf(model, held_out), prior + 0.08);
}

TEST(XgboostModelTest, CandidatesLikeThoseThatFailedScoreLow) {
  Synthetic taught = Sample(300, 2);
  for (int i = 0; i < 300; ++i) {
    if (taught.features.row(i)[7] > 0.8F) taught.results[i] = Failed();
  }
  XgboostModel model({.columns = kColumns});
  ASSERT_THAT(model.Update("t", taught.features, taught.results), IsOk());
  const Synthetic asked = Sample(300, 9);
  ASSERT_OK_AND_ASSIGN(const std::vector<float> scores, model.Predict(asked.features));
  double failing = 0, fine = 0;
  int failing_count = 0;
  for (int i = 0; i < 300; ++i) {
    const bool fails = asked.features.row(i)[7] > 0.8F;
    (fails ? failing : fine) += scores[i];
    failing_count += fails;
  }
  EXPECT_LT(failing / failing_count, fine / (300 - failing_count) - 0.5);
}

TEST(XgboostModelTest, TaskOfFailuresOnlyTrainsAndScores) {
  const Synthetic taught = Sample(20, 2);
  XgboostModel model({.columns = kColumns});
  ASSERT_THAT(model.Update("t", taught.features, std::vector<Measurement>(20, Failed())), IsOk());
  EXPECT_THAT(model.Predict(taught.features), IsOk());
}

TEST(XgboostModelTest, EqualRowsGiveEqualScoresAndIds) {
  const Synthetic taught = Sample(300, 2), asked = Sample(50, 3);
  XgboostModel one({.columns = kColumns, .seed = 7});
  XgboostModel same({.columns = kColumns, .seed = 7, .threads = 2});
  EXPECT_EQ(one.SnapshotId(), same.SnapshotId());
  const std::string untrained = one.SnapshotId();
  ASSERT_THAT(one.Update("t", taught.features, taught.results), IsOk());
  ASSERT_THAT(same.Update("t", taught.features, taught.results), IsOk());
  EXPECT_EQ(one.SnapshotId(), same.SnapshotId());
  EXPECT_NE(one.SnapshotId(), untrained);
  ASSERT_OK_AND_ASSIGN(const std::vector<float> want, one.Predict(asked.features));
  EXPECT_THAT(same.Predict(asked.features), IsOkAndHolds(want));
}

TEST(XgboostModelTest, LoadedModelScoresAndLearnsOnLikeTheSavedOne) {
  const Synthetic taught = Sample(100, 2), more = Sample(30, 4), asked = Sample(50, 3);
  XgboostModel saved({.columns = kColumns}), loaded({.columns = kColumns});
  ASSERT_THAT(saved.Update("other", taught.features, taught.results), IsOk());
  ASSERT_THAT(loaded.Load(saved.Save()), IsOk());
  for (XgboostModel* model : {&saved, &loaded}) {
    ASSERT_THAT(model->Update("t", more.features, more.results), IsOk());
  }
  EXPECT_EQ(loaded.SnapshotId(), saved.SnapshotId());
  ASSERT_OK_AND_ASSIGN(const std::vector<float> want, saved.Predict(asked.features));
  EXPECT_THAT(loaded.Predict(asked.features), IsOkAndHolds(want));
}

TEST(XgboostModelTest, HostileBytesAreRefusedAndChangeNothing) {
  const Synthetic taught = Sample(40, 2), asked = Sample(50, 3);
  XgboostModel model({.columns = kColumns});
  ASSERT_THAT(model.Update("t", taught.features, taught.results), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<float> before, model.Predict(asked.features));
  const std::string good = model.Save(), id = model.SnapshotId();
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(model.Load(""), refused);
  EXPECT_THAT(model.Load("burnish rows 1"), refused);
  EXPECT_THAT(model.Load(good + "x"), refused);
  for (size_t size = 0; size < good.size(); size += 7) {
    EXPECT_THAT(model.Load(absl::string_view(good).substr(0, size)), refused) << size;
  }
  EXPECT_THAT(XgboostModel({.columns = kColumns + 1}).Load(good), refused);
  // Any byte may lie: sizes and tasks too. What is accepted must still be a model.
  Rng rng(5);
  for (int i = 0; i < 300; ++i) {
    std::string bad = good;
    bad[rng.Below(i < 200 ? 100 : bad.size())] = static_cast<char>(rng.Next());
    XgboostModel other({.columns = kColumns});
    const absl::Status status = other.Load(bad);
    if (!status.ok()) {
      EXPECT_THAT(status, refused);
    }
  }
  EXPECT_EQ(model.SnapshotId(), id);
  EXPECT_THAT(model.Predict(asked.features), IsOkAndHolds(before));
}

TEST(XgboostModelTest, InfiniteFeaturesAndPriorsThatAreUnknownAreRefused) {
  XgboostModel model({.columns = 2});
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument);
  for (const std::vector<float>& row : {std::vector<float>{NAN, 0}, {0, INFINITY}}) {
    FeatureMatrix features(2);
    features.AddRow(row);
    EXPECT_THAT(model.Predict(features), refused);
    EXPECT_THAT(model.Update("t", features, {Ran(1e-3)}), refused);
  }
  FeatureMatrix unknown(2);
  unknown.AddRow({-1, NAN});
  EXPECT_THAT(model.Predict(unknown), IsOkAndHolds(ElementsAre(1)));
}

TEST(XgboostModelTest, OldRowsBeyondTheLimitAreForgottenByTheTreesOnly) {
  const Synthetic old = Sample(XgboostModel::kRowsMax, 2), fresh = Sample(100, 3);
  XgboostModel model({.columns = kColumns});
  ASSERT_THAT(model.Update("t", old.features, old.results), IsOk());
  const std::string id = model.SnapshotId();
  ASSERT_THAT(model.Update("t", fresh.features, fresh.results), IsOk());
  EXPECT_THAT(model.SnapshotId(), Not(id));
  EXPECT_GT(AccuracyOf(model, Sample(200, 4)), 0.93);
}

}  // namespace
}  // namespace burnish
