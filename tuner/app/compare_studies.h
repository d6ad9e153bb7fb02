// Two studies side by side: the best of each task, and how many trials it took to get there.
#ifndef TUNER_APP_COMPARE_STUDIES_H_
#define TUNER_APP_COMPARE_STUDIES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "db/open.h"
#include "db/study_store.h"
#include "proto/record.h"

namespace burnish {

// What a study has found for a task, trial by trial.
struct TaskCurve {
  struct Step {
    int64_t trial = 0;    // The how manieth of the task's, from 1.
    int64_t best_ns = 0;  // As records rank (record_summary.h), from this trial on.
  };
  std::vector<Step> steps;  // Only where it got better: falling. Empty: nothing was measured.
  int64_t trial_count = 0;  // With those that failed.

  int64_t best_ns() const { return steps.empty() ? 0 : steps.back().best_ns; }  // 0: none.
  // Trials until something at most as slow was found; 0: never.
  int64_t TrialsTo(int64_t wanted_ns) const;
};

// By workload. `entries`: of one study, in the order of the log, of which only trials count.
class TaskCurves {
 public:
  void Add(absl::Span<const MeasurementEntry> entries);
  const TaskCurve& Of(const std::string& workload_id) const;

 private:
  std::map<std::string, TaskCurve> curves_;
};

struct StudyPair {
  struct Side {
    int64_t best_ns = 0;      // 0: nothing was measured.
    int64_t trial_count = 0;  // Of the task.
    int64_t reached_at = 0;   // Trials until it had the worse one's best; 0: one has none.
  };
  struct Task {
    std::string name;
    double weight = 0;  // Of the study that has it, the first where both have.
    Side first, second;
  };
  std::string first_id, second_id;
  std::vector<Task> tasks;  // In the first's order, then those that only the second has.
  // Sums of weight times best; 0 where a task of it has none.
  double first_ns = 0, second_ns = 0;
};

// Of one database; ids may be beginnings. Errors: B0601, B05xx.
absl::StatusOr<StudyPair> CompareStudies(const Database& database, const std::string& first,
                                         const std::string& second);

}  // namespace burnish

#endif  // TUNER_APP_COMPARE_STUDIES_H_
