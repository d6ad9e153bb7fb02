#include "tuner/study/task_history.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/status_macros.h"

namespace burnish {
namespace {

constexpr int kPageRecords = 1000;

HistoryRecord KnownOf(const Record& record) {
  HistoryRecord known{.trace = record.trace, .candidate_id = record.candidate_id};
  known.measurement.candidate_id = record.candidate_id;
  known.measurement.environment.method_version = record.method_version;
  known.measurement.numerics = record.numerics;
  known.measurement.build.lowered_sha256 = record.lowered_sha256;
  known.measurement.build.code_sha256 = record.code_sha256;
  if (record.successful()) {
    known.measurement.outcome =
        Latencies{{ProcessLatencies{.latency_ns = {record.isolated_rank_ns()}}}};
  } else {
    known.measurement.outcome = record.failure.value_or(Failure{});
  }
  return known;
}

}  // namespace

absl::StatusOr<TaskHistory> ReadTaskHistory(const RecordStore& records, const StudyTaskSpec& task,
                                            const TaskHistoryQuery& query) {
  TaskHistory history;
  std::vector<std::pair<int64_t, std::string>> seeds;  // Latency, trace.
  RecordQuery page_query = {
      .anchor_id = task.workload.anchor_id, .target = query.target.ToText(), .limit = kPageRecords};
  int left = query.record_count_max;
  while (left > 0) {
    ASSIGN_OR_RETURN(const std::vector<Record> page, records.Scan(page_query));
    for (const Record& record : page) {
      if (record.row_id > query.row_id_max || left == 0) {
        left = 0;
        break;
      }
      --left;
      history.last_row_id = record.row_id;
      const bool same = record.workload_id == task.workload.id &&
                        record.contract == task.contract &&
                        record.codegen_epoch == query.codegen_epoch &&
                        record.method_version == query.method_version;
      if (same) {
        history.known.push_back(KnownOf(record));
      } else if (record.successful()) {
        seeds.emplace_back(record.isolated_rank_ns(), record.trace);
        history.related.push_back(KnownOf(record));
      }
    }
    if (static_cast<int>(page.size()) < kPageRecords) break;
    page_query.after_row_id = page.back().row_id;
  }
  std::sort(seeds.begin(), seeds.end());
  std::set<std::string> seen;
  for (auto& [latency_ns, trace] : seeds) {
    if (static_cast<int>(history.seed_traces.size()) == query.seed_count_max) break;
    if (seen.insert(trace).second) history.seed_traces.push_back(std::move(trace));
  }
  return history;
}

}  // namespace burnish
