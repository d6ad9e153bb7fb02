// What every strategy owes. A new one adds its name to SearchStrategyNames and gets all of these.
#include <algorithm>
#include <set>
#include <string>

#include "base/check.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/search/search_strategy.h"
#include "tuner/search/synthetic_task.h"

namespace burnish {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// One space that is enumerated, one that is not.
class SearchStrategyConformanceTest
    : public ::testing::TestWithParam<std::tuple<std::string, int64_t>> {
 protected:
  SearchStrategyConformanceTest()
      : task_({.sketch_count = 2, .decision_count = 3, .value_count = 4}),
        space_(task_.Space(std::get<1>(GetParam()))) {}

  std::unique_ptr<SearchStrategy> Make(uint64_t seed = 1) const {
    auto strategy =
        MakeSearchStrategy(std::get<0>(GetParam()), {.space = space_, .seed = seed, .task = "t0"});
    CHECK_OK(strategy);
    return *std::move(strategy);
  }

  std::vector<Observation> MeasureAll(absl::Span<const Proposal> proposals) const {
    std::vector<Observation> results;
    for (const Proposal& proposal : proposals) results.push_back(task_.Measure(proposal));
    return results;
  }

  const SyntheticTask task_;
  const std::shared_ptr<const SearchSpace> space_;
};

TEST_P(SearchStrategyConformanceTest, SuggestsEachValidCandidateOnceAndInvalidOnesNever) {
  const SyntheticScorer scorer(task_, {.invalid_one_in = 4});
  const std::unique_ptr<SearchStrategy> strategy = Make();
  std::set<std::string> seen;
  while (true) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Proposal> batch, strategy->Suggest(7, {}, scorer));
    ASSERT_LE(batch.size(), 7);
    if (batch.empty()) break;
    for (const Proposal& proposal : batch) {
      EXPECT_FALSE(scorer.IsInvalid(proposal.candidate_id));
      EXPECT_TRUE(seen.insert(proposal.candidate_id).second) << proposal.trace;
      EXPECT_THAT(space_->Propose(proposal.sketch_index, proposal.point), IsOkAndHolds(proposal));
    }
    strategy->Update(MeasureAll(batch));
  }
  const std::shared_ptr<const SearchSpace> all = task_.Space(4096);
  size_t valid_count = 0;
  for (const Proposal& proposal : *all->enumerated()) {
    valid_count += !scorer.IsInvalid(proposal.candidate_id);
  }
  if (space_->enumerated() != nullptr) {
    EXPECT_EQ(seen.size(), valid_count);
  } else {
    EXPECT_GT(seen.size(), valid_count * 9 / 10);  // Without a list the last few may be missed.
  }
}

TEST_P(SearchStrategyConformanceTest, PendingCandidatesAreNotSuggestedAgain) {
  const SyntheticScorer scorer(task_, {});
  const std::unique_ptr<SearchStrategy> strategy = Make();
  std::vector<Proposal> pending;
  for (int round = 0; round < 5; ++round) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Proposal> batch, strategy->Suggest(8, pending, scorer));
    ASSERT_THAT(batch, SizeIs(8));
    for (const Proposal& proposal : batch) {
      EXPECT_THAT(pending, Each(::testing::Ne(proposal)));
    }
    pending.insert(pending.end(), batch.begin(), batch.end());
  }
}

TEST_P(SearchStrategyConformanceTest, SuggestIsAPureFunction) {
  const SyntheticScorer scorer(task_, {.noise = 0.2});
  const std::unique_ptr<SearchStrategy> strategy = Make();
  ASSERT_OK_AND_ASSIGN(const std::vector<Proposal> first, strategy->Suggest(8, {}, scorer));
  strategy->Update(MeasureAll(absl::MakeConstSpan(first).subspan(0, 4)));
  std::vector<Proposal> pending(first.begin() + 4, first.end());
  ASSERT_OK_AND_ASSIGN(const std::vector<Proposal> once, strategy->Suggest(8, pending, scorer));
  std::reverse(pending.begin(), pending.end());
  EXPECT_THAT(strategy->Suggest(8, pending, scorer), IsOkAndHolds(once));
}

TEST_P(SearchStrategyConformanceTest, OneRebuiltFromItsLogGoesOnLikeTheLiveOne) {
  const SyntheticScorer scorer(task_, {.noise = 0.2});
  const std::unique_ptr<SearchStrategy> live = Make(9);
  std::vector<Observation> log;
  for (int round = 0; round < 6; ++round) {
    const std::unique_ptr<SearchStrategy> rebuilt = Make(9);
    rebuilt->Update(log);
    ASSERT_OK_AND_ASSIGN(const std::vector<Proposal> batch, live->Suggest(5, {}, scorer));
    EXPECT_THAT(rebuilt->Suggest(5, {}, scorer), IsOkAndHolds(batch)) << "round " << round;
    const std::vector<Observation> results = MeasureAll(batch);
    live->Update(results);
    log.insert(log.end(), results.begin(), results.end());
  }
}

// Remembers which candidates a strategy asked for.
class ScorerThatCounts : public SyntheticScorer {
 public:
  using SyntheticScorer::SyntheticScorer;

  absl::StatusOr<std::vector<CandidateScore>> Score(
      absl::Span<const Proposal> proposals) const override {
    for (const Proposal& proposal : proposals) asked_.insert(proposal.candidate_id);
    return SyntheticScorer::Score(proposals);
  }
  absl::StatusOr<std::string> Fingerprint(const Proposal& proposal) const override {
    asked_.insert(proposal.candidate_id);
    return SyntheticScorer::Fingerprint(proposal);
  }
  size_t asked_count() const { return asked_.size(); }

 private:
  mutable std::set<std::string> asked_;
};

// Each costs a millisecond of lowering.
TEST_P(SearchStrategyConformanceTest,
       OneMoreObservationMakesItLookAtFewerNewPointsThanTheFirstTime) {
  const SyntheticTask large({.sketch_count = 2, .decision_count = 6, .value_count = 8});
  ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<SearchStrategy> strategy,
      MakeSearchStrategy(std::get<0>(GetParam()), {.space = large.Space(16), .task = "t0"}));
  const ScorerThatCounts scorer(large, {});
  ASSERT_OK_AND_ASSIGN(const std::vector<Proposal> first, strategy->Suggest(8, {}, scorer));
  const size_t before = scorer.asked_count();
  strategy->Update({large.Measure(first[0])});
  ASSERT_OK_AND_ASSIGN(const std::vector<Proposal> second,
                       strategy->Suggest(8, absl::MakeConstSpan(first).subspan(1), scorer));
  EXPECT_THAT(second, SizeIs(8));
  EXPECT_LE(scorer.asked_count() - before, std::max<size_t>(16, before * 6 / 10));
}

TEST_P(SearchStrategyConformanceTest, AnotherSeedSearchesElsewhere) {
  const SyntheticScorer scorer(task_, {.knows_cost = false});
  ASSERT_OK_AND_ASSIGN(const std::vector<Proposal> one, Make(1)->Suggest(16, {}, scorer));
  ASSERT_OK_AND_ASSIGN(const std::vector<Proposal> other, Make(2)->Suggest(16, {}, scorer));
  EXPECT_NE(one, other);
}

TEST_P(SearchStrategyConformanceTest, TwinsAreMeasuredOnce) {
  const SyntheticScorer scorer(task_, {.twin_groups = 12});
  const std::unique_ptr<SearchStrategy> strategy = Make();
  std::set<std::string> lowered;
  std::vector<Proposal> pending;  // The batch before.
  for (int round = 0; round < 10; ++round) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Proposal> batch, strategy->Suggest(4, pending, scorer));
    for (const Proposal& proposal : batch) {
      ASSERT_OK_AND_ASSIGN(const std::string hash, scorer.Fingerprint(proposal));
      EXPECT_TRUE(lowered.insert(hash).second);
    }
    std::vector<Observation> results = MeasureAll(pending);
    for (Observation& result : results) {
      ASSERT_OK_AND_ASSIGN(result.fingerprint, scorer.Fingerprint(result.proposal));
    }
    strategy->Update(results);
    pending = batch;
  }
  EXPECT_LE(lowered.size(), 12);
  EXPECT_GT(lowered.size(), 9);
}

TEST_P(SearchStrategyConformanceTest, FailuresAndForeignTracesAreTakenIn) {
  const SyntheticScorer scorer(task_, {});
  const std::unique_ptr<SearchStrategy> strategy = Make();
  const Proposal foreign = space_->Recognize("fuse@1 (n,y)->m\n");
  EXPECT_EQ(foreign.sketch_index, Proposal::kNoSketch);
  ASSERT_OK_AND_ASSIGN(const std::vector<Proposal> batch, strategy->Suggest(4, {}, scorer));
  std::vector<Observation> results = {{.proposal = foreign, .latency_ns = 5}};
  for (const Proposal& proposal : batch) results.push_back({.proposal = proposal});
  strategy->Update(results);
  ASSERT_OK_AND_ASSIGN(const std::vector<Proposal> next, strategy->Suggest(4, {}, scorer));
  EXPECT_THAT(next, SizeIs(4));
  for (const Proposal& proposal : batch) {
    EXPECT_THAT(next, Each(::testing::Ne(proposal)));
  }
}

TEST_P(SearchStrategyConformanceTest, ScorerThatFailsFailsTheSuggestion) {
  class BrokenScorer : public CandidateScorer {
    absl::StatusOr<std::vector<CandidateScore>> Score(absl::Span<const Proposal>) const override {
      return absl::InternalError("no features");
    }
    absl::StatusOr<std::string> Fingerprint(const Proposal&) const override {
      return absl::InternalError("no features");
    }
  };
  EXPECT_THAT(Make()->Suggest(4, {}, BrokenScorer()),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("no features")));
}

INSTANTIATE_TEST_SUITE_P(Strategies, SearchStrategyConformanceTest,
                         ::testing::Combine(::testing::ValuesIn(SearchStrategyNames()),
                                            ::testing::Values(int64_t{4096}, int64_t{0})),
                         [](const auto& test) {
                           return std::get<0>(test.param) +
                                  (std::get<1>(test.param) == 0 ? "Evolved" : "Enumerated");
                         });

TEST(MakeSearchStrategyTest, UnknownNameIsRefusedWithTheKnownOnes) {
  EXPECT_THAT(MakeSearchStrategy("luck", {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("evolutionary, random")));
}

}  // namespace
}  // namespace burnish
