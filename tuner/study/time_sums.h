// Where the time of a study's run went (StudyTimes), summed.
#ifndef TUNER_STUDY_TIME_SUMS_H_
#define TUNER_STUDY_TIME_SUMS_H_

#include "absl/time/time.h"
#include "base/clock.h"
#include "proto/measurement.h"
#include "tuner/study/study_types.h"

namespace burnish {

// Adds the time until its end to `sum`.
class TimeAdder {
 public:
  TimeAdder(const Clock& clock, absl::Duration& sum)
      : clock_(clock), sum_(sum), start_(clock.SteadyNow()) {}
  ~TimeAdder() { sum_ += clock_.SteadyNow() - start_; }
  TimeAdder(const TimeAdder&) = delete;
  TimeAdder& operator=(const TimeAdder&) = delete;

 private:
  const Clock& clock_;
  absl::Duration& sum_;
  const absl::Time start_;
};

// What builder and runner say that the measurement took them.
void AddEffort(const Measurement& measurement, StudyTimes& times);

}  // namespace burnish

#endif  // TUNER_STUDY_TIME_SUMS_H_
