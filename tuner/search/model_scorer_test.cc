#include "tuner/search/model_scorer.h"

#include <cmath>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/search/rank_latency.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;

// Predicts the mean log throughput of all rows, times the feature.
class MeanModel : public CostModel {
 public:
  absl::StatusOr<std::vector<float>> Predict(const FeatureMatrix& features) const override {
    std::vector<float> scores;
    for (int i = 0; i < features.rows(); ++i) scores.push_back(features.row(i)[0] * Mean());
    return scores;
  }
  absl::Status Update(absl::string_view, const FeatureMatrix&,
                      absl::Span<const Measurement> results) override {
    for (const Measurement& result : results) {
      sum_ += static_cast<float>(RankLatencyNs(result));
      ++count_;
    }
    return absl::OkStatus();
  }

 private:
  float Mean() const { return count_ == 0 ? 1 : sum_ / static_cast<float>(count_); }

  float sum_ = 0;
  int count_ = 0;
};

TrainingSample SampleOf(const std::string& trace, int64_t latency_ns) {
  TrainingSample sample{.proposal = {.trace = trace, .candidate_id = trace}};
  sample.measurement.outcome = Latencies{{ProcessLatencies{.latency_ns = {latency_ns}}}};
  return sample;
}

class ModelScorerTest : public ::testing::Test {
 protected:
  // The feature is the trace's length; "bad" does not apply.
  ModelScorer Make() { return Make(std::make_shared<SharedModel>(std::make_unique<MeanModel>())); }
  ModelScorer Make(std::shared_ptr<SharedModel> shared) {
    return ModelScorer(std::move(shared), "task", 1,
                       [this](const Proposal& proposal) -> absl::StatusOr<Extraction> {
                         ++extracted_count_;
                         if (proposal.trace == "bad") return absl::InvalidArgumentError("bad");
                         if (proposal.trace == "bug") return absl::InternalError("bug");
                         return Extraction{{static_cast<float>(proposal.trace.size())}, "hash"};
                       });
  }

  int extracted_count_ = 0;
};

TEST_F(ModelScorerTest, TraceThatDoesNotApplyIsInvalidAndTheOthersKeepTheirPlaces) {
  const ModelScorer scorer = Make();
  const std::vector<Proposal> proposals = {SampleOf("a", 1).proposal, SampleOf("bad", 1).proposal,
                                           SampleOf("ccc", 1).proposal};
  EXPECT_THAT(scorer.Score(proposals),
              IsOkAndHolds(ElementsAre(
                  AllOf(Field(&CandidateScore::valid, true), Field(&CandidateScore::score, 1),
                        Field(&CandidateScore::fingerprint, "hash")),
                  Field(&CandidateScore::valid, false),
                  AllOf(Field(&CandidateScore::valid, true), Field(&CandidateScore::score, 3)))));
}

TEST_F(ModelScorerTest, FeaturesAreExtractedOnceAndScoresFollowTheModel) {
  ModelScorer scorer = Make();
  const std::vector<Proposal> proposals = {SampleOf("ab", 1).proposal};
  ASSERT_THAT(scorer.Score(proposals), IsOk());
  ASSERT_THAT(scorer.Train({SampleOf("ab", 10), SampleOf("bad", 99)}), IsOk());
  EXPECT_THAT(scorer.Score(proposals),
              IsOkAndHolds(ElementsAre(Field(&CandidateScore::score, 20))));
  EXPECT_EQ(extracted_count_, 2);
}

TEST_F(ModelScorerTest, SnapshotNamesWhatWasLearnedNotHowItWasCut) {
  ModelScorer live = Make(), resumed = Make(), other = Make();
  ASSERT_THAT(live.Train({SampleOf("a", 1)}), IsOk());
  const std::string first = live.snapshot_id();
  ASSERT_THAT(live.Train({SampleOf("b", 2), SampleOf("bad", 3)}), IsOk());
  ASSERT_THAT(resumed.Train({SampleOf("a", 1), SampleOf("b", 2)}), IsOk());
  ASSERT_THAT(other.Train({SampleOf("a", 1), SampleOf("b", 3)}), IsOk());
  EXPECT_EQ(live.snapshot_id(), resumed.snapshot_id());
  EXPECT_NE(live.snapshot_id(), first);
  EXPECT_NE(live.snapshot_id(), other.snapshot_id());
}

TEST_F(ModelScorerTest, TasksThatShareAModelShareWhatItLearnedAndItsSnapshot) {
  const auto shared = std::make_shared<SharedModel>(std::make_unique<MeanModel>());
  ModelScorer one = Make(shared), other = Make(shared);
  ASSERT_THAT(one.Train({SampleOf("ab", 10)}), IsOk());
  EXPECT_EQ(other.snapshot_id(), one.snapshot_id());
  EXPECT_THAT(other.Score({SampleOf("abc", 1).proposal}),
              IsOkAndHolds(ElementsAre(Field(&CandidateScore::score, 30))));
}

TEST_F(ModelScorerTest, LoweredHashIsKnownWithoutAModelAndEmptyWhereTheTraceDoesNotApply) {
  const ModelScorer scorer = Make();
  EXPECT_THAT(scorer.Fingerprint(SampleOf("a", 1).proposal), IsOkAndHolds("hash"));
  EXPECT_THAT(scorer.Fingerprint(SampleOf("bad", 1).proposal), IsOkAndHolds(""));
}

TEST_F(ModelScorerTest, OurOwnFaultFailsTheCall) {
  const ModelScorer scorer = Make();
  EXPECT_THAT(scorer.Score({SampleOf("bug", 1).proposal}), StatusIs(absl::StatusCode::kInternal));
}

TEST(RankLatencyTest, LowQuantileOverProcessesAndZeroForAFailure) {
  Measurement measurement;
  measurement.outcome = Latencies{
      {ProcessLatencies{.latency_ns = {50, 30, 40}}, ProcessLatencies{.latency_ns = {20, 90, 90}}}};
  EXPECT_EQ(RankLatencyNs(measurement), 20);
  measurement.outcome = Failure{FailureKind::kOutOfMemory, "too big"};
  EXPECT_EQ(RankLatencyNs(measurement), 0);
}

TEST_F(ModelScorerTest, ProcessChoosesByWhatWasMeasuredAndByThePriorAlone) {
  // Column 0: the prior; column 1: where the candidate lies.
  const auto extract = [](const Proposal& proposal) -> absl::StatusOr<Extraction> {
    if (proposal.trace == "bad") return absl::InvalidArgumentError("bad");
    const auto length = static_cast<float>(proposal.trace.size());
    return Extraction{{-length, length}, proposal.trace};
  };
  const auto make = [&](ProcessColumns columns) {
    return ModelScorer(std::make_shared<SharedModel>(std::make_unique<MeanModel>()), "task", 2,
                       extract, columns);
  };
  std::vector<Proposal> candidates;
  for (const char* trace : {"bad", "1", "22", "333", "4444"}) {
    candidates.push_back({.trace = trace, .candidate_id = trace});
  }
  // The prior says that the longest is the fastest.
  EXPECT_THAT(make({.prior = 0}).Choose(candidates, {}, {}, 1), IsOkAndHolds(ElementsAre(4)));
  std::vector<Observation> measured;
  for (const char* trace : {"+", "22222", "333333", "4444444", "55555555", "++", "-", "--"}) {
    const auto length = static_cast<int64_t>(std::string(trace).size());
    measured.push_back(
        {.proposal = {.trace = trace, .candidate_id = trace}, .latency_ns = 1000 + 700 * length});
  }
  // Measurements say that the shortest is. The prior, which says the opposite, is withheld.
  EXPECT_THAT(make({.hidden_begin = 0, .hidden_count = 1}).Choose(candidates, {}, measured, 1),
              IsOkAndHolds(ElementsAre(1)));
  EXPECT_THAT(make({}).Choose(candidates, {candidates[1]}, measured, 9),
              IsOkAndHolds(::testing::SizeIs(4)));
}

TEST_F(ModelScorerTest, WithoutAProcessTheScoreChooses) {
  ModelScorer scorer = Make();
  const std::vector<Proposal> candidates = {{.trace = "aa", .candidate_id = "aa"},
                                            {.trace = "bad", .candidate_id = "bad"},
                                            {.trace = "bbbb", .candidate_id = "bbbb"},
                                            {.trace = "cc", .candidate_id = "cc"}};
  EXPECT_THAT(scorer.Choose(candidates, {}, {}, 3), IsOkAndHolds(ElementsAre(2, 0, 3)));
  EXPECT_THAT(scorer.Choose(candidates, {}, {}, 1), IsOkAndHolds(ElementsAre(2)));
}

}  // namespace
}  // namespace burnish
