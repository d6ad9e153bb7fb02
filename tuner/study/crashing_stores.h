// Stores and a measurer of a process that dies: from a chosen write on, every call fails. Or of one
// whose disk is full for a while.
#ifndef TUNER_STUDY_CRASHING_STORES_H_
#define TUNER_STUDY_CRASHING_STORES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "db/record_store.h"
#include "db/study_store.h"
#include "tuner/measure/measurer.h"

namespace burnish {

// Shared by what belongs to one process.
struct CrashPoint {
  int64_t writes_left = 0;    // The process dies in the write after these.
  bool last_applies = false;  // Whether that write still takes effect, its caller dying before it
                              // hears of it.
  bool dead = false;
  std::function<void()> on_death = nullptr;  // Ends a loop that makes no more writes.
  // Unless OK: what the stores answer to a write, which then does not take effect.
  absl::Status refusal = absl::OkStatus();

  // Counts a write. True: it takes effect.
  bool Write();
};

class CrashingRecordStore : public RecordStore {
 public:
  // Both outlive the store.
  CrashingRecordStore(RecordStore* store, CrashPoint* crash) : store_(store), crash_(crash) {}

  absl::StatusOr<std::vector<AppendOutcome>> AppendBatch(
      absl::Span<const MeasurementEntry> entries) override;
  absl::StatusOr<BestAnswer> Best(const BestQuery& query) const override;
  absl::StatusOr<std::vector<Record>> FindCandidate(absl::string_view id) const override;
  absl::StatusOr<std::vector<Record>> Scan(const RecordQuery& query) const override;
  absl::StatusOr<EntryPage> ScanEntries(const EntryQuery& query) const override;
  absl::StatusOr<TrialCounts> CountTrials(absl::string_view study_id) const override;
  absl::StatusOr<std::optional<Workload>> FindWorkload(absl::string_view id) const override;
  absl::StatusOr<std::vector<TaskKey>> ListTasks() const override;

 private:
  RecordStore* store_;
  CrashPoint* crash_;
};

class CrashingStudyStore : public StudyStore {
 public:
  CrashingStudyStore(StudyStore* store, CrashPoint* crash) : store_(store), crash_(crash) {}

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
  StudyStore* store_;
  CrashPoint* crash_;
};

// Submitting and acknowledging are writes too: the process may die around them.
class CrashingMeasurer : public Measurer {
 public:
  CrashingMeasurer(Measurer* measurer, CrashPoint* crash) : measurer_(measurer), crash_(crash) {}

  absl::Status Submit(std::vector<MeasureRequest> requests) override;
  void AllResubmitted() override { measurer_->AllResubmitted(); }
  std::vector<MeasureResult> Collect(absl::Duration timeout) override;
  void Acknowledge(absl::Span<const std::string> trial_ids) override;
  absl::Status Cancel(absl::Span<const std::string> trial_ids) override;
  absl::Status health() const override { return measurer_->health(); }

 private:
  Measurer* measurer_;
  CrashPoint* crash_;
};

}  // namespace burnish

#endif  // TUNER_STUDY_CRASHING_STORES_H_
