// A study on a farm that answers at once and with the truth: what any other farm is held against.
#ifndef TESTS_SIM_IDEAL_STUDY_H_
#define TESTS_SIM_IDEAL_STUDY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "db/record_store.h"
#include "db/study_store.h"
#include "tuner/study/synthetic_study.h"

namespace burnish::sim {

struct IdealStudyOptions {
  std::string study_id = "";
  uint64_t seed = 0;  // Of the truth (sim_worker.h).
  int in_flight_max = 1;
};

// What a search has tried, and in which order it heard of it.
struct StudyCourse {
  std::map<std::string, std::string> traces = {};         // Of recorded trials, by id.
  std::map<int, std::vector<std::string>> told_ids = {};  // Trials, by task.

  bool operator==(const StudyCourse&) const = default;
};

absl::StatusOr<StudyCourse> CourseOf(const RecordStore& records, StudyStore& studies,
                                     const std::string& study_id);

absl::StatusOr<StudyCourse> CourseOnIdealFarm(const SyntheticStudy& study,
                                              const IdealStudyOptions& options);

}  // namespace burnish::sim

#endif  // TESTS_SIM_IDEAL_STUDY_H_
