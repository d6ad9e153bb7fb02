#include "db/memory/memory_record_store.h"

#include <algorithm>

#include "base/status_macros.h"
#include "db/record_summary.h"

namespace burnish {
namespace {

bool PassesFilters(const BestQuery& query, const Record& record) {
  if (!record.successful()) return false;
  if (query.contract.has_value() && record.contract != *query.contract) return false;
  if (query.accuracy.has_value() && !query.accuracy->Accepts(record.numerics)) return false;
  if (query.method_version.has_value() && record.method_version != *query.method_version) {
    return false;
  }
  return !query.codegen_epoch.has_value() || record.codegen_epoch == *query.codegen_epoch;
}

}  // namespace

absl::StatusOr<std::vector<AppendOutcome>> MemoryRecordStore::AppendBatch(
    absl::Span<const MeasurementEntry> entries) {
  for (const MeasurementEntry& entry : entries) RETURN_IF_ERROR(ValidateEntry(entry));
  const std::lock_guard lock(mutex_);
  std::vector<AppendOutcome> outcomes;
  for (const MeasurementEntry& entry : entries) {
    const bool added = keys_.insert({entry.trial_id, entry.purpose, entry.number}).second;
    if (added) Add(entry);
    outcomes.push_back(added ? AppendOutcome::kRecorded : AppendOutcome::kDuplicate);
  }
  return outcomes;
}

void MemoryRecordStore::Add(const MeasurementEntry& entry) {
  MeasurementEntry& stored = entries_.emplace_back(entry);
  stored.measurement.candidate_id = entry.candidate.Id();
  workloads_.emplace(entry.candidate.workload.id, entry.candidate.workload);
  const RecordKey key = {stored.measurement.candidate_id,
                         entry.measurement.environment.method_version};
  const auto [found, is_new] = row_of_.emplace(key, rows_.size());
  if (is_new) {
    rows_.push_back({.record = {.row_id = static_cast<int64_t>(rows_.size()) + 1,
                                .candidate_id = key.first,
                                .method_version = key.second,
                                .workload_id = entry.candidate.workload.id,
                                .anchor_id = entry.candidate.workload.anchor_id,
                                .target = entry.candidate.target.ToText(),
                                .contract = entry.candidate.contract,
                                .trace = entry.candidate.trace,
                                .codegen_epoch = entry.candidate.codegen_epoch,
                                .first_recorded_ns = entry.recorded_ns,
                                .first_trial_id = entry.trial_id,
                                .host = entry.measurement.environment.host},
                     .isa_key = entry.candidate.target.IsaKey()});
  }
  Row& row = rows_[found->second];
  row.measurements.push_back(stored.measurement);
  Summarize(row.measurements, row.record);
}

// Of `workload_id`, or where that is empty of any workload of `anchor_id`.
std::vector<Record> MemoryRecordStore::BestOf(const BestQuery& query,
                                              const std::string& workload_id,
                                              const std::string& anchor_id,
                                              bool exact_target) const {
  std::vector<Record> records;
  for (const Row& row : rows_) {
    const Record& record = row.record;
    if (!workload_id.empty() && record.workload_id != workload_id) continue;
    if (!anchor_id.empty() && record.anchor_id != anchor_id) continue;
    if (exact_target ? record.target != query.target
                     : query.isa_key.empty() || row.isa_key != query.isa_key) {
      continue;
    }
    if (PassesFilters(query, record)) records.push_back(record);
  }
  std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
    return std::tie(a.rank_ns, a.row_id) < std::tie(b.rank_ns, b.row_id);
  });
  if (records.size() > static_cast<size_t>(query.limit)) records.resize(query.limit);
  return records;
}

absl::StatusOr<BestAnswer> MemoryRecordStore::Best(const BestQuery& query) const {
  RETURN_IF_ERROR(ValidateQuery(query));
  const std::lock_guard lock(mutex_);
  BestAnswer answer;
  const auto look_up = [&](WorkloadMatch match, const std::string& workload_id,
                           const std::string& anchor_id) {
    for (const bool exact_target : {true, false}) {
      std::vector<Record> records = BestOf(query, workload_id, anchor_id, exact_target);
      if (records.empty()) continue;
      answer = {match, exact_target, std::move(records)};
      return true;
    }
    return false;
  };
  if (look_up(WorkloadMatch::kExact, query.workload_id, "")) return answer;
  if (!query.anchor_id.empty()) look_up(WorkloadMatch::kSameAnchor, "", query.anchor_id);
  return answer;
}

absl::StatusOr<std::vector<Record>> MemoryRecordStore::FindCandidate(
    absl::string_view candidate_id) const {
  const std::lock_guard lock(mutex_);
  std::vector<Record> records;
  for (auto found = row_of_.lower_bound({std::string(candidate_id), INT32_MIN});
       found != row_of_.end() && found->first.first == candidate_id; ++found) {
    records.push_back(rows_[found->second].record);
  }
  return records;
}

absl::StatusOr<std::vector<Record>> MemoryRecordStore::Scan(const RecordQuery& query) const {
  RETURN_IF_ERROR(ValidateLimit(query.limit));
  const std::lock_guard lock(mutex_);
  std::vector<Record> records;
  for (size_t i = std::max<int64_t>(0, query.after_row_id);
       i < rows_.size() && records.size() < static_cast<size_t>(query.limit); ++i) {
    const Record& record = rows_[i].record;
    if (query.workload_id.has_value() && record.workload_id != *query.workload_id) continue;
    if (query.anchor_id.has_value() && record.anchor_id != *query.anchor_id) continue;
    if (query.target.has_value() && record.target != *query.target) continue;
    if (query.with_failures || record.successful()) records.push_back(record);
  }
  return records;
}

absl::StatusOr<EntryPage> MemoryRecordStore::ScanEntries(const EntryQuery& query) const {
  RETURN_IF_ERROR(ValidateLimit(query.limit));
  const std::lock_guard lock(mutex_);
  EntryPage page = {.last_row_id = query.after_row_id};
  for (size_t i = std::max<int64_t>(0, query.after_row_id);
       i < entries_.size() && page.entries.size() < static_cast<size_t>(query.limit); ++i) {
    if (entries_[i].study_id != query.study_id) continue;
    page.entries.push_back(entries_[i]);
    page.last_row_id = static_cast<int64_t>(i) + 1;
  }
  return page;
}

absl::StatusOr<TrialCounts> MemoryRecordStore::CountTrials(absl::string_view study_id) const {
  const std::lock_guard lock(mutex_);
  TrialCounts counts;
  for (const MeasurementEntry& entry : entries_) {
    if (entry.study_id != study_id || entry.purpose != Purpose::kTrial) continue;
    ++counts.trial_count;
    if (const Failure* failure = entry.measurement.failure()) {
      ++counts.failure_counts[failure->kind];
    }
  }
  return counts;
}

absl::StatusOr<std::optional<Workload>> MemoryRecordStore::FindWorkload(
    absl::string_view workload_id) const {
  const std::lock_guard lock(mutex_);
  const auto found = workloads_.find(std::string(workload_id));
  if (found == workloads_.end()) return std::nullopt;
  return found->second;
}

absl::StatusOr<std::vector<TaskKey>> MemoryRecordStore::ListTasks() const {
  const std::lock_guard lock(mutex_);
  std::set<TaskKey> tasks;
  for (const Row& row : rows_) {
    if (row.record.successful()) tasks.insert({row.record.workload_id, row.record.target});
  }
  return std::vector<TaskKey>(tasks.begin(), tasks.end());
}

}  // namespace burnish
