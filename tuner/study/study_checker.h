// Checks what a study has left in the stores, against what its runner promises.
#ifndef TUNER_STUDY_STUDY_CHECKER_H_
#define TUNER_STUDY_STUDY_CHECKER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "tuner/study/study_runner.h"

namespace burnish {

// OK, or INTERNAL with what is wrong: every trial was suggested once and before its result; no
// candidate was measured for two trials; each result was told once; every trial has a result, was
// dropped, or is open; every task has its candidate 0, if any trial; stored trials are counted as
// such.
absl::Status CheckStudy(const StudyRunnerOptions& options);

// OK, or INTERNAL: searches that are rebuilt from the log suggest in every round what the live ones
// did, and their models are the same. Not for a study of which trials were dropped.
absl::Status CheckReplay(const StudyRunnerOptions& options);

}  // namespace burnish

#endif  // TUNER_STUDY_STUDY_CHECKER_H_
