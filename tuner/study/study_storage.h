// What a study keeps: every step of its run, written before the next one depends on it, and read
// back after a crash. The order of writes is here and nowhere else.
#ifndef TUNER_STUDY_STUDY_STORAGE_H_
#define TUNER_STUDY_STUDY_STORAGE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "db/record_store.h"
#include "db/study_store.h"
#include "tuner/study/study_log.h"
#include "tuner/study/study_types.h"
#include "tuner/study/task_search.h"

namespace burnish {

// Room for the trial's number behind it, within the stores' and the tracker's limits.
inline constexpr int kStudyIdBytesMax = 64;

struct NewStudy {
  std::string id = {};     // 1..kStudyIdBytesMax bytes.
  std::string title = {};  // For people.
  StudySpec spec = {};
  Target target = {};
  std::vector<StudyTaskSpec> tasks = {};  // At least one.
  int64_t now_ns = 0;                     // Wall time.
};

// The study is durable when this returns. ALREADY_EXISTS: another study has that id.
absl::Status CreateStudy(StudyStore& studies, const NewStudy& study);

// The spec of a stored study, for a resume. NOT_FOUND: no such study.
absl::StatusOr<StudySpec> ReadStudySpec(const StudyStore& studies, const std::string& study_id);

// Stores the trials as open. `asked`: see StudyStorage::Begin.
absl::Status PutTrials(StudyStore& studies, const std::string& study_id, int task_index, int asked,
                       absl::Span<const Trial> trials);

// Trials of the study that count for nothing any more, by the log.
std::set<std::string> LiftedTrials(absl::Span<const StudyEvent> events);

// A trial whose result is stored.
struct StoredResult {
  TrialResult result;
  int64_t recorded_ns = 0;  // Wall time.
};

class StudyStorage {
 public:
  // Reads the study, and mends what a crash between two writes left behind. The stores outlive it.
  // FAILED_PRECONDITION: `tasks` are not the study's.
  static absl::StatusOr<std::unique_ptr<StudyStorage>> Open(RecordStore* records,
                                                            StudyStore* studies,
                                                            const std::string& study_id,
                                                            absl::Span<const StudyTaskSpec> tasks);

  const std::string& study_id() const { return study_id_; }
  const std::vector<StudyEvent>& events() const { return log_.events(); }
  // Stored results by trial id, as of Open and since; references included.
  const std::map<std::string, StoredResult>& results() const { return results_; }
  // The trace of a trial that has a result or is open; null: of another trial, or a dropped one.
  const std::string* TraceOf(const std::string& trial_id) const;
  // How long the runs of the study have lasted that ended before Open.
  absl::Duration ElapsedBefore() const;

  absl::Status SetState(StudyState state, absl::string_view detail, int64_t now_ns);
  absl::Status Append(const std::vector<StudyEvent>& events) { return log_.Append(events); }

  // `asked`: how many trials were asked for; 0: the trial is candidate 0.
  absl::Status Begin(int task_index, int asked, absl::Span<const Trial> trials);

  // All or none; none of the trials had a result before. FAILED_PRECONDITION: one had: another
  // tuner runs this study.
  absl::Status Record(absl::Span<const MeasurementEntry> entries);

  // The trials will have no result.
  absl::Status Drop(int task_index, const std::vector<std::string>& trial_ids);

 private:
  StudyStorage(RecordStore* records, StudyStore* studies, std::string study_id, StudyLog log)
      : records_(records),
        studies_(studies),
        study_id_(std::move(study_id)),
        log_(std::move(log)) {}

  absl::Status CheckTasks(absl::Span<const StudyTaskSpec> tasks) const;
  absl::Status ReadResults();
  absl::Status MendJobs();

  RecordStore* records_;
  StudyStore* studies_;
  std::string study_id_;
  StudyLog log_;
  std::map<std::string, StoredResult> results_;
  std::map<std::string, std::string> open_traces_;  // By trial id.
};

}  // namespace burnish

#endif  // TUNER_STUDY_STUDY_STORAGE_H_
