// A study's specification, from what a user says to what can be stored and run again.
#ifndef TUNER_APP_STUDY_SPEC_H_
#define TUNER_APP_STUDY_SPEC_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/study.h"

namespace burnish {

// Fills in what follows from the rest: absolute paths, the model file's hash, and what the preset
// settles (`trials_max`, `no_default`). Errors: B0101 an unknown preset, B02xx, B0304.
absl::StatusOr<StudySpec> CompleteStudySpec(StudySpec spec);

inline constexpr int64_t kStudyTrialsMax = 1'000'000'000;

// What a new study may ask for: each field within the bounds of `tuner submit`, each name one that
// there is. A stored one of an earlier version may have other ones. Errors: B0101.
absl::Status CheckStudySpec(const StudySpec& spec);

}  // namespace burnish

#endif  // TUNER_APP_STUDY_SPEC_H_
