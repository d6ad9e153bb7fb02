// A study as a front end shows it: state, trials, and the best schedule of each task.
#ifndef TUNER_APP_STUDY_VIEW_H_
#define TUNER_APP_STUDY_VIEW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "db/open.h"
#include "db/record_store.h"
#include "db/study_store.h"
#include "proto/record.h"
#include "proto/study.h"
#include "tuner/study/study_types.h"

namespace burnish {

struct TaskView {
  StudyTask task;
  std::optional<int64_t> flop_count;
  std::optional<Record> best;  // Of the study's target; nothing: none was measured.

  // Of the best; 0 where something is not known.
  double gflops() const;
};

struct StudyView {
  StudySummary summary;
  StudySpec spec;
  TrialCounts counts;
  std::vector<TaskView> tasks;
  // Whose results its run refuses now; empty where it does not run.
  std::vector<PausedWorker> paused;

  // Sum of weight times best latency; nothing where a task has none.
  std::optional<double> model_ns() const;
};

// `id`: of a study, or the beginning of only one. Errors: B0601, B05xx.
absl::StatusOr<std::string> ResolveStudyId(const Database& database, absl::string_view id);

absl::StatusOr<StudySpec> ParseStudySpec(const Study& study);

// `now_ns`: wall time, at which a pause counts.
absl::StatusOr<StudyView> LoadStudyView(const Database& database, const std::string& id,
                                        int64_t now_ns);

}  // namespace burnish

#endif  // TUNER_APP_STUDY_VIEW_H_
