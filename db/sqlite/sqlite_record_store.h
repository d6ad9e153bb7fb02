// A RecordStore in a SQLite file.
#ifndef DB_SQLITE_SQLITE_RECORD_STORE_H_
#define DB_SQLITE_SQLITE_RECORD_STORE_H_

#include <memory>
#include <string>
#include <vector>

#include "db/record_store.h"
#include "db/sqlite/sqlite_database.h"

namespace burnish {

class SqliteRecordStore : public RecordStore {
 public:
  explicit SqliteRecordStore(std::shared_ptr<SqliteDatabase> database)
      : database_(std::move(database)) {}

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
  const std::shared_ptr<SqliteDatabase> database_;
};

}  // namespace burnish

#endif  // DB_SQLITE_SQLITE_RECORD_STORE_H_
