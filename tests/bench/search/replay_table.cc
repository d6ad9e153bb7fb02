#include "tests/bench/search/replay_table.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/codegen/codegen_epoch.h"
#include "compiler/ir/parser.h"
#include "proto/workload.h"
#include "tests/bench/search/table_space.h"
#include "tuner/cost_model/candidate_features.h"
#include "tuner/cost_model/features.h"
#include "tuner/cost_model/xgboost_model.h"
#include "tuner/search/search_strategy.h"
#include "tuner/search/training_rule.h"

namespace burnish {
namespace {

constexpr Arm kArms[] = {
    {"random", "random", Guidance::kNothing, /*uniform=*/true, 0},
    {"random again", "random", Guidance::kNothing, /*uniform=*/true, 1000},
    {"prior", "bayesian", Guidance::kPrior, /*uniform=*/false, 0},
    {"trees", "evolutionary", Guidance::kLearned, /*uniform=*/true, 0},
    {"prior and trees", "evolutionary", Guidance::kBoth, /*uniform=*/false, 0},
    {"learned", "bayesian", Guidance::kLearned, /*uniform=*/true, 0},
    {"all", "bayesian", Guidance::kBoth, /*uniform=*/false, 0},
    {"oracle", "bayesian", Guidance::kOracle, /*uniform=*/false, 0},
    // "all" on a part of the space: for tables that have both.
    {"templates alone", "bayesian", Guidance::kBoth, /*uniform=*/false, 0, kTemplates},
    {"generator alone", "bayesian", Guidance::kBoth, /*uniform=*/false, 0, kGenerator},
};

// As a study has them by default (tuner/study/study_runner.h); on one host that builds and runs
// side by side, so many candidates are asked for before the results of the first are there.
constexpr int kBatch = 8;
constexpr int kInFlight = 16;

// Knows the order of what it is asked for by the table, or nothing.
class TableScorer : public CandidateScorer {
 public:
  using Lookup = std::function<absl::StatusOr<Extraction>(const Proposal&)>;
  using Cost = std::function<float(const Proposal&)>;

  TableScorer(Lookup lookup, Cost cost) : lookup_(std::move(lookup)), cost_(std::move(cost)) {}

  absl::StatusOr<std::vector<CandidateScore>> Score(
      absl::Span<const Proposal> proposals) const override {
    std::vector<CandidateScore> scores;
    for (const Proposal& proposal : proposals) {
      const absl::StatusOr<Extraction> known = lookup_(proposal);
      if (!known.ok()) {
        scores.push_back({});
        continue;
      }
      scores.push_back(
          {.valid = true, .score = -cost_(proposal), .fingerprint = known->fingerprint});
    }
    return scores;
  }

  absl::StatusOr<std::string> Fingerprint(const Proposal& proposal) const override {
    const absl::StatusOr<Extraction> known = lookup_(proposal);
    return known.ok() ? known->fingerprint : "";
  }

 private:
  const Lookup lookup_;
  const Cost cost_;
};

std::shared_ptr<SharedModel> MakeModel(Guidance guidance, uint64_t seed) {
  auto shared = std::make_shared<SharedModel>();
  shared->model = std::make_unique<XgboostModel>(
      XgboostModelOptions{.columns = kFeatureCount,
                          .prior_column = kLogAnalyticSeconds,
                          .analytic_column_count = kAnalyticFeatureCount,
                          .use_prior = guidance != Guidance::kLearned,
                          .seed = seed});
  return shared;
}

std::optional<ProcessColumns> ColumnsFor(Guidance guidance) {
  if (guidance == Guidance::kPrior) return std::nullopt;  // By its score alone.
  if (guidance == Guidance::kBoth) return ProcessColumns{.prior = kLogAnalyticSeconds};
  return ProcessColumns{.hidden_begin = kLogAnalyticSeconds, .hidden_count = kAnalyticFeatureCount};
}

Measurement MeasurementOf(const TableRow& row) {
  Measurement measurement;
  if (row.failure.has_value()) {
    measurement.outcome = Failure{.kind = *row.failure};
  } else {
    measurement.outcome = Latencies{{ProcessLatencies{.latency_ns = {row.rank_ns()}}}};
  }
  return measurement;
}

}  // namespace

absl::Span<const Arm> Arms() { return kArms; }

absl::StatusOr<std::unique_ptr<ReplayedTable>> ReplayedTable::Create(SearchTable table) {
  ASSIGN_OR_RETURN(const TableSpace space, SpaceOfTable(table));
  std::unique_ptr<ReplayedTable> replayed(new ReplayedTable());
  replayed->dropped_count_ = MoveToSketches(space.whole->sketches(), table);
  ASSIGN_OR_RETURN(Program program, ParseProgram(table.workload));
  CandidateFeatureExtractor extractor(std::move(program), space.device, space.device.workers());
  const size_t sketch_count = space.whole->sketches().size();
  using Points = std::vector<std::vector<Point>>;
  std::map<std::pair<bool, uint32_t>, Points> points;
  for (const Arm& arm : Arms()) points.try_emplace({arm.uniform, arm.spaces}, Points(sketch_count));
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const TableRow& row = table.rows[i];
    ASSIGN_OR_RETURN(const Trace trace, Bind(space.whole->sketches()[row.sketch], row.point));
    absl::StatusOr<CandidateFeatures> features = extractor.Extract(trace);
    RETURN_IF_ERROR(features.status());
    replayed->extractions_.push_back(
        {std::move(features->features), std::move(features->fingerprint)});
    ASSIGN_OR_RETURN(const Proposal proposal, space.whole->Propose(row.sketch, row.point));
    replayed->row_of_.emplace(proposal.candidate_id, i);
    // The unscheduled program is in all of them.
    const uint32_t of = row.sketch + 1 == static_cast<int>(sketch_count) ? kTemplates | kGenerator
                        : row.sketch < static_cast<int>(space.template_count) ? kTemplates
                                                                              : kGenerator;
    for (auto& [key, listed] : points) {
      const auto& [uniform, spaces] = key;
      if ((row.uniform || !uniform) && (spaces & of) != 0) {
        listed[row.sketch].push_back(row.point);
      }
    }
    const int64_t ns = row.rank_ns();
    if (ns > 0 && (replayed->best_ns_ == 0 || ns < replayed->best_ns_)) replayed->best_ns_ = ns;
  }
  if (replayed->best_ns_ == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        table.name, ": no row of the table is a point of this commit's space that ran"));
  }
  SearchSpaceOptions options{
      .sketches = {space.whole->sketches().begin(), space.whole->sketches().end()},
      .workload_id = Sha256Bytes(table.workload),
      .target = table.target,
      .contract = table.contract,
      .codegen_epoch = kCodegenEpoch};
  for (auto& [key, listed] : points) {
    options.points = std::move(listed);
    ASSIGN_OR_RETURN(replayed->spaces_[key], SearchSpace::Create(options));
  }
  replayed->table_ = std::move(table);
  return replayed;
}

bool ReplayedTable::Suits(const Arm& arm) const {
  constexpr uint32_t kWhole = kTemplates | kGenerator;
  return arm.spaces == kWhole || table_.spaces == kWhole;
}

absl::StatusOr<Extraction> ReplayedTable::Extract(const Proposal& proposal) const {
  const auto row = row_of_.find(proposal.candidate_id);
  if (row == row_of_.end()) return absl::InvalidArgumentError("not in the table");
  return extractions_[row->second];
}

absl::StatusOr<std::vector<int64_t>> ReplayedTable::Replay(const Arm& arm, uint64_t seed,
                                                           int trials) const {
  const auto extract = [this](const Proposal& proposal) { return Extract(proposal); };
  const uint64_t own_seed = seed + arm.seed_offset;
  const bool is_model = arm.guidance != Guidance::kNothing && arm.guidance != Guidance::kOracle;
  const bool learns = arm.guidance == Guidance::kLearned || arm.guidance == Guidance::kBoth;
  std::unique_ptr<CandidateScorer> scorer;
  ModelScorer* model = nullptr;
  if (is_model) {
    auto made = std::make_unique<ModelScorer>(MakeModel(arm.guidance, own_seed), table_.name,
                                              kFeatureCount, extract, ColumnsFor(arm.guidance));
    model = made.get();
    scorer = std::move(made);
  } else {
    scorer = std::make_unique<TableScorer>(extract, [&](const Proposal& proposal) -> float {
      if (arm.guidance == Guidance::kNothing) return 0;
      const int64_t ns = table_.rows[row_of_.at(proposal.candidate_id)].rank_ns();
      return ns == 0 ? 1e30F : static_cast<float>(ns);
    });
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<SearchStrategy> strategy,
                   MakeSearchStrategy(arm.strategy, {.space = spaces_.at({arm.uniform, arm.spaces}),
                                                     .seed = own_seed,
                                                     .task = table_.name}));
  std::vector<int64_t> best;
  std::deque<std::vector<Proposal>> batches;  // In flight, the oldest first.
  std::vector<Proposal> pending;
  std::vector<TrainingSample> untrained;
  int64_t trained_count = 0, best_ns = 0;
  int begun = 0;
  bool exhausted = false;
  while (true) {
    while (!exhausted && begun < trials && static_cast<int>(pending.size()) < kInFlight) {
      ASSIGN_OR_RETURN(std::vector<Proposal> batch,
                       strategy->Suggest(std::min(kBatch, trials - begun), pending, *scorer));
      if (batch.empty()) {
        // With results that are still to come it may find more.
        exhausted = pending.empty();
        break;
      }
      begun += static_cast<int>(batch.size());
      pending.insert(pending.end(), batch.begin(), batch.end());
      batches.push_back(std::move(batch));
    }
    if (batches.empty()) break;
    const std::vector<Proposal> done = std::move(batches.front());
    batches.pop_front();
    pending.erase(pending.begin(), pending.begin() + static_cast<int64_t>(done.size()));
    std::vector<Observation> results;
    for (const Proposal& proposal : done) {
      const TableRow& row = table_.rows[row_of_.at(proposal.candidate_id)];
      const int64_t ns = row.rank_ns();
      if (ns > 0 && (best_ns == 0 || ns < best_ns)) best_ns = ns;
      best.push_back(best_ns);
      ASSIGN_OR_RETURN(std::string fingerprint, scorer->Fingerprint(proposal));
      results.push_back(
          {.proposal = proposal, .latency_ns = ns, .fingerprint = std::move(fingerprint)});
      if (learns) untrained.push_back({proposal, MeasurementOf(row)});
    }
    strategy->Update(results);
    if (IsTimeToTrain(static_cast<int64_t>(untrained.size()), trained_count)) {
      RETURN_IF_ERROR(model->Train(untrained));
      trained_count += static_cast<int64_t>(untrained.size());
      untrained.clear();
    }
  }
  return best;
}

}  // namespace burnish
