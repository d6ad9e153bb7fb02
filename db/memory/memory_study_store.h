// A StudyStore that forgets: for tests, simulations and runs that keep nothing.
#ifndef DB_MEMORY_MEMORY_STUDY_STORE_H_
#define DB_MEMORY_MEMORY_STUDY_STORE_H_

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "db/study_store.h"

namespace burnish {

class MemoryStudyStore : public StudyStore {
 public:
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
  struct Row {
    Study study;
    std::vector<StudyTask> tasks;
    std::vector<StudyLogEntry> log;
    std::map<std::string, OpenJob> jobs;
    StudyLease lease;
    int32_t crash_count = 0;

    StudySummary Summary() const;
  };

  // The caller holds the mutex.
  absl::StatusOr<Row*> Find(absl::string_view id);
  absl::StatusOr<const Row*> Find(absl::string_view id) const;

  mutable std::mutex mutex_;  // Guards all below.
  std::map<std::string, Row> rows_;
};

}  // namespace burnish

#endif  // DB_MEMORY_MEMORY_STUDY_STORE_H_
