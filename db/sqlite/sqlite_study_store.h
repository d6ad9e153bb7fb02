// A StudyStore in a SQLite file.
#ifndef DB_SQLITE_SQLITE_STUDY_STORE_H_
#define DB_SQLITE_SQLITE_STUDY_STORE_H_

#include <memory>
#include <string>
#include <vector>

#include "db/sqlite/sqlite_database.h"
#include "db/study_store.h"

namespace burnish {

class SqliteStudyStore : public StudyStore {
 public:
  explicit SqliteStudyStore(std::shared_ptr<SqliteDatabase> database)
      : database_(std::move(database)) {}

  absl::Status Create(const Study& study, absl::Span<const StudyTask> tasks) override;
  absl::StatusOr<StudySummary> Get(absl::string_view id) const override;
  absl::StatusOr<std::vector<StudyTask>> Tasks(absl::string_view id) const override;
  absl::StatusOr<std::vector<StudySummary>> List(const StudyQuery& query) const override;
  absl::Status SetState(absl::string_view id, StudyState state, absl::string_view detail,
                        int64_t now_ns) override;
  absl::Status Requeue(absl::string_view id, absl::string_view spec, absl::string_view detail,
                       int64_t now_ns) override;
  absl::Status TakeLease(absl::string_view id, const StudyLease& lease, int64_t now_ns,
                         absl::string_view dead_owner) override;
  absl::Status ReleaseLease(absl::string_view id, absl::string_view owner) override;
  absl::Status SetCrashCount(absl::string_view id, int32_t count) override;
  absl::Status AppendLog(absl::string_view id, int64_t first_sequence,
                         absl::Span<const StudyLogEntry> entries) override;
  absl::StatusOr<std::vector<StudyLogEntry>> ReadLog(absl::string_view id, int64_t first_sequence,
                                                     int limit) const override;
  absl::Status PutJobs(absl::string_view id, absl::Span<const OpenJob> jobs) override;
  absl::Status RemoveJobs(absl::string_view id, absl::Span<const std::string> job_ids) override;
  absl::StatusOr<std::vector<OpenJob>> OpenJobs(absl::string_view id) const override;

 private:
  const std::shared_ptr<SqliteDatabase> database_;
};

}  // namespace burnish

#endif  // DB_SQLITE_SQLITE_STUDY_STORE_H_
