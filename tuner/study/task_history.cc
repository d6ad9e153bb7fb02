#include "tuner/study/task_history.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/status_macros.h"
#include "tuner/study/near_workloads.h"

namespace burnish {
namespace {

// Bounds one read; not tuned. How many are read in all is the query's.
constexpr int kPageRecords = 1000;
// Of seeds at other extents. Each may cost a trial, and what a tile's size is worth at another
// extent is a guess: the best trace of each of the nearest few shapes is what history knows best.
constexpr int kNearSeedsMax = 4;

HistoryRecord KnownOf(const Record& record) {
  HistoryRecord known{.trace = record.trace, .candidate_id = record.candidate_id};
  known.measurement.candidate_id = record.candidate_id;
  known.measurement.environment.method_version = record.method_version;
  known.measurement.numerics = record.numerics;
  known.measurement.build.lowered_sha256 = record.lowered_sha256;
  known.measurement.build.code_sha256 = record.code_sha256;
  if (record.successful()) {
    known.measurement.outcome =
        // Alone, without the factor of a refine: search compares it with times that are alone too.
        Latencies{{ProcessLatencies{.latency_ns = {record.isolated_rank_ns()}}}};
  } else {
    known.measurement.outcome = record.failure.value_or(Failure{});
  }
  return known;
}

// Calls `take` with the records that `query` finds, by row id, until it returns false or they end.
template <typename Take>
absl::Status ForEachRecord(const RecordStore& records, RecordQuery query, const Take& take) {
  query.limit = kPageRecords;
  while (true) {
    ASSIGN_OR_RETURN(const std::vector<Record> page, records.Scan(query));
    for (const Record& record : page) {
      if (!take(record)) return absl::OkStatus();
    }
    if (static_cast<int>(page.size()) < kPageRecords) return absl::OkStatus();
    query.after_row_id = page.back().row_id;
  }
}

// On other targets: of another number of threads or another microarchitecture.
absl::Status AddElsewhere(const RecordStore& records, const Workload& workload,
                          const TaskHistoryQuery& query, TaskHistory& history) {
  std::map<std::string, double> distances;  // By target's text.
  std::vector<std::tuple<double, std::string, int64_t, std::string>> found;
  const RecordQuery of_anchor = {.anchor_id = workload.anchor_id, .with_failures = false};
  int left = query.record_count_max;
  RETURN_IF_ERROR(ForEachRecord(records, of_anchor, [&](const Record& record) {
    if (record.row_id > query.row_id_max || left == 0) return false;
    --left;
    const auto [distance, is_new] = distances.emplace(record.target, -1);
    if (is_new) {
      const absl::StatusOr<Target> target = ParseTarget(record.target);
      if (target.ok()) distance->second = TargetDistance(query.target, *target);
    }
    // One that cannot be read, such as a later version's.
    if (distance->second < 0) return true;
    history.last_row_id = std::max(history.last_row_id, record.row_id);
    found.emplace_back(distance->second, record.target, record.isolated_rank_ns(), record.trace);
    return true;
  }));
  std::sort(found.begin(), found.end());
  std::set<std::string> seen;
  for (auto& [distance, target, latency_ns, trace] : found) {
    if (static_cast<int>(history.elsewhere_traces.size()) == query.seed_count_max) break;
    if (seen.insert(trace).second) history.elsewhere_traces.push_back(std::move(trace));
  }
  return absl::OkStatus();
}

// The fastest trace of each of the nearest workloads that were measured by then.
absl::Status AddNearSeeds(const RecordStore& records, const Workload& workload,
                          const TaskHistoryQuery& query, TaskHistory& history) {
  ASSIGN_OR_RETURN(const std::vector<std::string> near,
                   NearWorkloads(records, workload, query.target));
  const size_t count = std::min(kNearSeedsMax, query.seed_count_max);
  for (const std::string& workload_id : near) {
    if (history.seed_traces.size() >= count) break;
    const RecordQuery of_workload = {
        .workload_id = workload_id, .target = query.target.ToText(), .with_failures = false};
    int64_t best_ns = 0;
    std::string best_trace;
    RETURN_IF_ERROR(ForEachRecord(records, of_workload, [&](const Record& record) {
      if (record.row_id > query.row_id_max) return false;
      history.last_row_id = std::max(history.last_row_id, record.row_id);
      if (best_ns == 0 || record.isolated_rank_ns() < best_ns) {
        best_ns = record.isolated_rank_ns();
        best_trace = record.trace;
      }
      return true;
    }));
    if (best_ns > 0) history.seed_traces.push_back(std::move(best_trace));
  }
  return absl::OkStatus();
}

}  // namespace

double TargetDistance(const Target& here, const Target& there) {
  return std::abs(std::log2(static_cast<double>(here.threads) / there.threads)) +
         (here.arch == there.arch ? 0 : 1);
}

absl::StatusOr<TaskHistory> ReadTaskHistory(const RecordStore& records, const StudyTaskSpec& task,
                                            const TaskHistoryQuery& query) {
  TaskHistory history;
  std::vector<std::pair<int64_t, std::string>> seeds;  // Latency, trace.
  const RecordQuery of_anchor = {.anchor_id = task.workload.anchor_id,
                                 .target = query.target.ToText()};
  int left = query.record_count_max;
  RETURN_IF_ERROR(ForEachRecord(records, of_anchor, [&](const Record& record) {
    // A study that goes on must start from the rows that it saw the first time. What was recorded
    // since would change its first suggestions.
    if (record.row_id > query.row_id_max || left == 0) return false;
    --left;
    history.last_row_id = record.row_id;
    // All: a latency of another contract, of code by another generator, or by another method
    // of measuring is a hint and no result.
    const bool same = record.workload_id == task.workload.id && record.contract == task.contract &&
                      record.codegen_epoch == query.codegen_epoch &&
                      record.method_version == query.method_version;
    if (same) {
      history.known.push_back(KnownOf(record));
      // Failures of others stay out: another contract or epoch may have been the reason.
    } else if (record.successful()) {
      seeds.emplace_back(record.isolated_rank_ns(), record.trace);
      history.related.push_back(KnownOf(record));
    }
    return true;
  }));
  // By latency although the workloads may differ: within one anchor they differ in what a `finish`
  // does, which leaves the order of schedules mostly as it is.
  std::sort(seeds.begin(), seeds.end());
  std::set<std::string> seen;
  for (auto& [latency_ns, trace] : seeds) {
    if (static_cast<int>(history.seed_traces.size()) == query.seed_count_max) break;
    if (seen.insert(trace).second) history.seed_traces.push_back(std::move(trace));
  }
  // What was measured of this anchor says more than any other target or shape.
  if (history.known.empty() && history.related.empty()) {
    RETURN_IF_ERROR(AddElsewhere(records, task.workload, query, history));
    RETURN_IF_ERROR(AddNearSeeds(records, task.workload, query, history));
  }
  return history;
}

}  // namespace burnish
