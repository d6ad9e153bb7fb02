// A study over synthetic tasks with a fake clock and a fake farm, for tests of the loop.
#ifndef TUNER_STUDY_SYNTHETIC_STUDY_H_
#define TUNER_STUDY_SYNTHETIC_STUDY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fake_clock.h"
#include "db/record_store.h"
#include "db/study_store.h"
#include "tuner/measure/fake_measurer.h"
#include "tuner/search/model_scorer.h"
#include "tuner/search/synthetic_task.h"
#include "tuner/study/study_runner.h"
#include "tuner/study/study_storage.h"

namespace burnish {

struct SyntheticStudyOptions {
  int task_count = 2;
  int decision_count = 4;
  uint64_t seed = 0;
  bool confirm_best = false;      // Most tests count measurements, one a trial.
  bool second_algorithm = false;  // With a default of its own, which is the one for `compile`.
  StudySpec spec = {};            // `task` is filled in.
};

class SyntheticStudy {
 public:
  explicit SyntheticStudy(const SyntheticStudyOptions& options);

  NewStudy New() const;
  // Small batches, so that a few hundred trials are many rounds. Stores, measurer and clock are the
  // caller's.
  StudyRunnerOptions Options(RecordStore* records, StudyStore* studies, Measurer* measurer,
                             const Clock* clock) const;
  // With the tasks' formula; the caller sets the rest.
  FakeMeasurerOptions Farm() const;

  StudySpec& spec() { return spec_; }
  const StudySpec& spec() const { return spec_; }
  const std::vector<StudyTaskSpec>& tasks() const { return tasks_; }
  Target target() const;
  std::string default_trace(int task_index) const;
  std::string second_default_trace(int task_index) const;
  // Without noise, of a trace of the task that some sketch can say.
  int64_t LatencyNs(int task_index, const std::string& trace) const;

  static constexpr char kId[] = "study";

 private:
  std::string FirstPoint(int task_index, int sketch_index) const;
  TaskTools MakeTools(const StudyTaskSpec& task, std::shared_ptr<SharedModel> shared) const;
  int Columns() const;  // Of a feature row.
  int IndexOf(const std::string& workload_id) const;

  StudySpec spec_;
  bool second_algorithm_ = false;
  bool confirm_best_ = false;
  std::vector<SyntheticTask> synthetic_;
  std::vector<std::shared_ptr<const SearchSpace>> spaces_;
  std::vector<StudyTaskSpec> tasks_;
};

}  // namespace burnish

#endif  // TUNER_STUDY_SYNTHETIC_STUDY_H_
