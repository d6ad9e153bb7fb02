// How well a model that one study taught orders the candidates that another study measured.
// usage: study_accuracy DATABASE TAUGHT_STUDY ASKED_STUDY
//
// Without the prior: the analytic model's columns are withheld, as by `submit --no-default`. Pairs
// are of one task, their latencies differ by more than 5 %, and neither candidate was taught.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "compiler/ir/parser.h"
#include "db/open.h"
#include "db/record_store.h"
#include "db/stored_trace.h"
#include "proto/device_model.h"
#include "tuner/cost_model/candidate_features.h"
#include "tuner/cost_model/features.h"
#include "tuner/cost_model/xgboost_model.h"
#include "tuner/search/rank_latency.h"

namespace burnish {
namespace {

constexpr double kPairRatioMin = 1.05;
constexpr int kPairsMin = 10;  // A task with fewer says nothing.

struct Rows {
  FeatureMatrix features{kFeatureCount};
  std::vector<Measurement> results;
  std::set<std::string> candidate_ids;
};

using RowsByTask = std::map<std::string, Rows>;  // By workload text.

RowsByTask Read(const RecordStore& records, const std::string& study, const RowsByTask& except) {
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
        extractor =
            extractors
                .emplace(text, CandidateFeatureExtractor(*std::move(program), DeviceModelOf(target),
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

int Main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: study_accuracy DATABASE TAUGHT_STUDY ASKED_STUDY\n");
    return 64;
  }
  const auto database = OpenDatabase(argv[1]);
  CHECK_OK(database);
  const RowsByTask taught = Read(*database->records, argv[2], {});
  const RowsByTask asked = Read(*database->records, argv[3], taught);
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
    int right = 0, all = 0;
    for (size_t i = 0; i < rows.results.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        const auto a = static_cast<double>(RankLatencyNs(rows.results[i]));
        const auto b = static_cast<double>(RankLatencyNs(rows.results[j]));
        if (a <= 0 || b <= 0 || std::max(a, b) <= kPairRatioMin * std::min(a, b)) continue;
        ++all;
        right += ((*scores)[i] > (*scores)[j]) == (a < b);
      }
    }
    asked_count += rows.features.rows();
    if (all < kPairsMin) continue;
    ++task_count;
    pair_count += all;
    sum += static_cast<double>(right) / all;
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
