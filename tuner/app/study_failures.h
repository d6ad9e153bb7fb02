// What the candidates of a study failed with, as few lines as say it.
#ifndef TUNER_APP_STUDY_FAILURES_H_
#define TUNER_APP_STUDY_FAILURES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "db/open.h"
#include "proto/measurement.h"
#include "proto/record.h"

namespace burnish {

// Trials that failed alike: of one kind, with messages that differ in numbers alone.
struct FailureGroup {
  FailureKind kind = FailureKind::kRunError;
  std::string message;            // The first trial's.
  std::string trial_id;           // The first trial, for `explain` and `retry`.
  std::set<std::string> workers;  // Of those trials; a failed build may have none.
  int64_t count = 0;
};

// A study's, entry by entry.
class FailureGroups {
 public:
  // `lifted`: trials that count for nothing any more.
  explicit FailureGroups(std::set<std::string> lifted) : lifted_(std::move(lifted)) {}

  // In the order of the log.
  void Add(absl::Span<const MeasurementEntry> entries);

  // Most trials first, then the older one.
  std::vector<FailureGroup> Sorted() const;
  int64_t trial_count() const { return trial_count_; }  // With those that did not fail.

 private:
  const std::set<std::string> lifted_;
  std::vector<FailureGroup> groups_;      // By their first trial.
  std::map<std::string, size_t> number_;  // In `groups_`, by kind and message without numbers.
  int64_t trial_count_ = 0;
};

struct StudyFailures {
  std::string study_id;
  int64_t trial_count = 0;
  std::vector<FailureGroup> groups;
};

// `id`: of a study, or the beginning of only one. Errors: B0601, B05xx.
absl::StatusOr<StudyFailures> LoadFailures(const Database& database, const std::string& id);

}  // namespace burnish

#endif  // TUNER_APP_STUDY_FAILURES_H_
