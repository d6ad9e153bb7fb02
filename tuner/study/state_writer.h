// Writes a study's state until it is written: a run that has ended is not to be seen as running for
// ever because the disk was full at that moment.
#ifndef TUNER_STUDY_STATE_WRITER_H_
#define TUNER_STUDY_STATE_WRITER_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "db/study_store.h"
#include "proto/study.h"

namespace burnish {

// Waits; false: nobody wants to wait any longer. Null: nothing is tried again.
using RetryWait = std::function<bool(absl::Duration)>;

struct StateChange {
  std::string study_id = {};
  StudyState state = StudyState::kQueued;
  std::string detail = {};
  int64_t now_ns = 0;  // Wall time.
};

// SetState, again after 0.1 s, 0.2 s, .. 10 s for as long as the store is locked, full or cannot be
// written (UNAVAILABLE, RESOURCE_EXHAUSTED, ABORTED). The first failure, the first of each kind and
// the end are logged. Returns the last error, with how often it was tried.
absl::Status WriteState(StudyStore& studies, const StateChange& change, const RetryWait& wait);

}  // namespace burnish

#endif  // TUNER_STUDY_STATE_WRITER_H_
