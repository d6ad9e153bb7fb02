// How well a model orders the candidates that a study measured.
// usage: study_accuracy DATABASE TAUGHT_STUDY ASKED_STUDY [DATABASE_OF_ASKED]
//        study_accuracy DATABASE analytic ASKED_STUDY [ROW]
//
// A model that another study taught: without the prior, the analytic model's columns are withheld,
// as by `submit --no-default`, and no candidate that was taught is asked for. Or the analytic model
// alone, by the table or by a calibration row's file: then also what it says over what was
// measured, task by task. Pairs are of one task, and their latencies differ by more than 5 %.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/check.h"
#include "base/file.h"
#include "compiler/ir/parser.h"
#include "compiler/target/device_model.h"
#include "db/open.h"
#include "db/record_store.h"
#include "db/stored_trace.h"
#include "proto/calibrated.h"
#include "proto/calibration_row.h"
#include "tests/bench/estimate_accuracy.h"
#include "tuner/cost_model/candidate_features.h"
#include "tuner/cost_model/features.h"
#include "tuner/cost_model/xgboost_model.h"
#include "tuner/search/rank_latency.h"

namespace burnish {
namespace {

constexpr int kPairsMin = 10;  // A task with fewer says nothing.
constexpr int64_t kRowBytesMax = 64 << 10;

struct Rows {
  FeatureMatrix features{kFeatureCount};
  std::vector<Measurement> results;
  std::set<std::string> candidate_ids;
};

using RowsByTask = std::map<std::string, Rows>;  // By workload text.

RowsByTask Read(const RecordStore& records, const std::string& study, const RowsByTask& except,
                const std::optional<CalibrationRow>& calibration = std::nullopt) {
  RowsByTask rows;
  std::map<std::string, CandidateFeatureExtractor> extractors;
  EntryQuery query{.study_id = study};
  while (true) {
    const auto page = records.ScanEntries(query);
    CHECK_OK(page);
    if (page->entries.empty()) return rows;
    for (const MeasurementEntry& entry : page->entries) {
      if (entry.purpose != Purpose::kTrial) continue;
      const std::string& text = entry.candidate.workload.text;
      const std::string id = entry.candidate.Id();
      const auto other = except.find(text);
      if (other != except.end() && other->second.candidate_ids.contains(id)) continue;
      auto extractor = extractors.find(text);
      if (extractor == extractors.end()) {
        auto program = ParseProgram(text);
        CHECK_OK(program);
        const Target& target = entry.candidate.target;
        extractor = extractors
                        .emplace(text, CandidateFeatureExtractor(*std::move(program),
                                                                 DeviceModelOf(target, calibration),
                                                                 target.threads))
                        .first;
      }
      const auto trace = ParseStoredTrace(entry.candidate.trace);
      if (!trace.ok()) continue;
      const auto features = extractor->second.Extract(*trace);
      if (!features.ok()) continue;
      Rows& task = rows[text];
      task.features.AddRow(features->features);
      task.results.push_back(entry.measurement);
      task.candidate_ids.insert(id);
    }
    query.after_row_id = page->last_row_id;
  }
}

// Of one task. `scores`: greater is faster.
OrderedPairs CountPairsOf(const std::vector<Measurement>& results,
                          const std::vector<float>& scores) {
  std::vector<double> latencies, costs;
  for (const Measurement& result : results) {
    latencies.push_back(static_cast<double>(RankLatencyNs(result)));
  }
  for (const float score : scores) costs.push_back(-static_cast<double>(score));
  return CountPairs(latencies, costs);
}

// The analytic model, task by task, the one that takes longest at its best first.
int AskAnalytic(const RowsByTask& asked) {
  struct Line {
    double best_ns = 0;
    std::string text;
  };
  std::vector<Line> lines;
  double accuracy_sum = 0;
  int task_count = 0;
  for (const auto& [text, rows] : asked) {
    std::vector<float> scores;
    std::vector<double> ratios;
    double best_ns = 0, best_ratio = 0;
    for (int i = 0; i < rows.features.rows(); ++i) {
      const double seconds = std::exp(rows.features.row(i)[kLogAnalyticSeconds]);
      scores.push_back(static_cast<float>(-std::log(seconds)));
      const auto ns = static_cast<double>(RankLatencyNs(rows.results[i]));
      if (ns <= 0) continue;
      ratios.push_back(1e9 * seconds / ns);
      if (best_ns == 0 || ns < best_ns) best_ns = ns, best_ratio = ratios.back();
    }
    if (ratios.empty()) continue;
    const OrderedPairs pairs = CountPairsOf(rows.results, scores);
    const int64_t within = CountWithin(ratios);
    std::sort(ratios.begin(), ratios.end());
    if (pairs.all >= kPairsMin) ++task_count, accuracy_sum += pairs.share();
    lines.push_back(
        {best_ns,
         absl::StrFormat("%9.1f us  best %.2f  least %.2f  median %.2f  most %.2f  within "
                         "0.8-1.25: %3d of %3d  pairs %.2f of %d",
                         1e-3 * best_ns, best_ratio, ratios.front(), ratios[ratios.size() / 2],
                         ratios.back(), within, ratios.size(), pairs.share(), pairs.all)});
  }
  std::sort(lines.begin(), lines.end(),
            [](const Line& a, const Line& b) { return a.best_ns > b.best_ns; });
  std::printf("analytic over measured, a task a line\n");
  for (const Line& line : lines) std::printf("%s\n", line.text.c_str());
  if (task_count > 0) {
    std::printf("pairwise accuracy %.3f: mean over %d tasks\n", accuracy_sum / task_count,
                task_count);
  }
  return task_count > 0 ? 0 : 65;
}

int Main(int argc, char** argv) {
  const bool analytic = argc >= 3 && std::string(argv[2]) == "analytic";
  if (argc != 4 && argc != 5) {
    std::fprintf(stderr,
                 "usage: study_accuracy DATABASE TAUGHT_STUDY ASKED_STUDY [DATABASE_OF_ASKED]\n"
                 "       study_accuracy DATABASE analytic ASKED_STUDY [ROW]\n");
    return 64;
  }
  const auto database = OpenDatabase(argv[1]);
  CHECK_OK(database);
  if (analytic) {
    std::optional<CalibrationRow> row;
    if (argc == 5) {
      const auto text = ReadFile(argv[4], kRowBytesMax);
      CHECK_OK(text);
      const auto parsed = ParseCalibrationRow(*text);
      CHECK_OK(parsed);
      row = *parsed;
    }
    return AskAnalytic(Read(*database->records, argv[3], {}, row));
  }
  const auto other = OpenDatabase(argv[argc == 5 ? 4 : 1]);
  CHECK_OK(other);
  const RowsByTask taught = Read(*database->records, argv[2], {});
  const RowsByTask asked = Read(*other->records, argv[3], taught);
  XgboostModel model({.columns = kFeatureCount,
                      .prior_column = kLogAnalyticSeconds,
                      .analytic_column_count = kAnalyticFeatureCount,
                      .use_prior = false});
  int taught_count = 0, asked_count = 0;
  for (const auto& [text, rows] : taught) {
    CHECK_OK(model.Update(text, rows.features, rows.results));
    taught_count += rows.features.rows();
  }
  double sum = 0;
  int task_count = 0, pair_count = 0;
  for (const auto& [text, rows] : asked) {
    const auto scores = model.Predict(rows.features);
    CHECK_OK(scores);
    const OrderedPairs pairs = CountPairsOf(rows.results, *scores);
    asked_count += rows.features.rows();
    if (pairs.all < kPairsMin) continue;
    ++task_count;
    pair_count += pairs.all;
    sum += pairs.share();
  }
  if (task_count == 0) {
    std::fprintf(stderr, "study_accuracy: no task of %s has enough pairs\n", argv[3]);
    return 65;
  }
  std::printf("pairwise accuracy %.3f: mean over %d tasks, %d pairs of %d candidates; %d taught\n",
              sum / task_count, task_count, pair_count, asked_count, taught_count);
  return 0;
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) { return burnish::Main(argc, argv); }
