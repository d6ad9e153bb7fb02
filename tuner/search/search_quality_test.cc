// That evolution is worth having: on costs with a known optimum it beats random search.
#include <cmath>
#include <string>

#include "base/check.h"
#include "gtest/gtest.h"
#include "tuner/search/search_strategy.h"
#include "tuner/search/synthetic_task.h"

namespace burnish {
namespace {

constexpr int kSeeds = 20;
constexpr int kTrials = 128;
constexpr int kBatch = 16;

// Best latency after kTrials, relative to the optimum.
double Search(const std::string& name, const SyntheticTask& task,
              const std::shared_ptr<const SearchSpace>& space, const CandidateScorer& scorer,
              uint64_t seed) {
  auto strategy = MakeSearchStrategy(name, {.space = space, .seed = seed, .task = "t"});
  CHECK_OK(strategy);
  int64_t best_ns = INT64_MAX;
  for (int done = 0; done < kTrials; done += kBatch) {
    auto batch = (*strategy)->Suggest(kBatch, {}, scorer);
    CHECK_OK(batch);
    std::vector<Observation> results;
    for (const Proposal& proposal : *batch) {
      results.push_back(task.Measure(proposal));
      best_ns = std::min(best_ns, results.back().latency_ns);
    }
    (*strategy)->Update(results);
  }
  return static_cast<double>(best_ns) / static_cast<double>(SyntheticTask::kBestNs);
}

struct Case {
  std::string name;
  SyntheticTaskOptions task;
  SyntheticScorerOptions scorer;
  double optimum_ratio_max;  // Of the geometric mean over the seeds.
};

class SearchQualityTest : public ::testing::TestWithParam<Case> {};

TEST_P(SearchQualityTest, EvolutionBeatsRandomOverTwentySeeds) {
  double log_evolved = 0, log_random = 0;
  int win_count = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    SyntheticTaskOptions options = GetParam().task;
    options.seed = seed;
    const SyntheticTask task(options);
    const std::shared_ptr<const SearchSpace> space = task.Space();
    const SyntheticScorer scorer(task, GetParam().scorer);
    const double evolved = Search("evolutionary", task, space, scorer, seed);
    const double random = Search("random", task, space, scorer, seed);
    win_count += evolved < random;
    log_evolved += std::log(evolved) / kSeeds;
    log_random += std::log(random) / kSeeds;
  }
  RecordProperty("evolved_percent", static_cast<int>(100 * std::exp(log_evolved)));
  RecordProperty("random_percent", static_cast<int>(100 * std::exp(log_random)));
  EXPECT_LT(log_evolved, log_random);
  EXPECT_GE(win_count, 17);
  EXPECT_LT(std::exp(log_evolved), GetParam().optimum_ratio_max)
      << "random: " << std::exp(log_random);
}

constexpr SyntheticTaskOptions kLarge = {.sketch_count = 3, .decision_count = 7, .value_count = 8};
constexpr SyntheticTaskOptions kSmall = {.sketch_count = 2, .decision_count = 4, .value_count = 6};

INSTANTIATE_TEST_SUITE_P(
    Costs, SearchQualityTest,
    ::testing::Values(
        Case{"LargeNoModel", kLarge, {.knows_cost = false}, 1.5},
        Case{"LargeNoisyModel", kLarge, {.noise = 0.3}, 1.15},
        Case{"LargeNoisyModelWithInvalidTraces", kLarge, {.noise = 0.3, .invalid_one_in = 3}, 1.25},
        Case{"SmallNoModel", kSmall, {.knows_cost = false}, 1.05},
        Case{"SmallNoisyModel", kSmall, {.noise = 0.3}, 1.02}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace burnish
