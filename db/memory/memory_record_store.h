// A RecordStore that forgets: for tests, simulations and runs that keep nothing. What it answers is
// the plain reading of the interface, so it is also the oracle of the other stores.
#ifndef DB_MEMORY_MEMORY_RECORD_STORE_H_
#define DB_MEMORY_MEMORY_RECORD_STORE_H_

#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "db/record_store.h"

namespace burnish {

class MemoryRecordStore : public RecordStore {
 public:
  absl::StatusOr<std::vector<AppendOutcome>> AppendBatch(
      absl::Span<const MeasurementEntry> entries) override;
  absl::StatusOr<BestAnswer> Best(const BestQuery& query) const override;
  absl::StatusOr<std::vector<Record>> FindCandidate(absl::string_view candidate_id) const override;
  absl::StatusOr<std::vector<Record>> Scan(const RecordQuery& query) const override;
  absl::StatusOr<EntryPage> ScanEntries(const EntryQuery& query) const override;
  absl::StatusOr<TrialCounts> CountTrials(absl::string_view study_id) const override;
  absl::StatusOr<std::optional<Workload>> FindWorkload(
      absl::string_view workload_id) const override;
  absl::StatusOr<std::vector<TaskKey>> ListTasks() const override;

 private:
  using EntryKey = std::tuple<std::string, Purpose, int32_t>;
  using RecordKey = std::pair<std::string, int32_t>;  // Candidate id, method version.

  struct Row {
    Record record;
    std::string isa_key;
    std::vector<Measurement> measurements;
  };

  // The caller holds the mutex.
  void Add(const MeasurementEntry& entry);
  std::vector<Record> BestOf(const BestQuery& query, const std::string& workload_id,
                             const std::string& anchor_id, bool exact_target) const;

  mutable std::mutex mutex_;               // Guards all below.
  std::vector<MeasurementEntry> entries_;  // Row id is the index + 1.
  std::set<EntryKey> keys_;
  std::deque<Row> rows_;  // Row id is the index + 1.
  std::map<RecordKey, size_t> row_of_;
  std::map<std::string, Workload> workloads_;
};

}  // namespace burnish

#endif  // DB_MEMORY_MEMORY_RECORD_STORE_H_
