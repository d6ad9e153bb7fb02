// A study's specification, from what a user says to what can be stored and run again.
#ifndef TUNER_APP_STUDY_SPEC_H_
#define TUNER_APP_STUDY_SPEC_H_

#include "absl/status/statusor.h"
#include "proto/study.h"

namespace burnish {

// Fills in what follows from the rest: absolute paths, the model file's hash, and what the preset
// settles (`trials_max`, `no_default`). Errors: B0101 an unknown preset, B02xx, B0304.
absl::StatusOr<StudySpec> CompleteStudySpec(StudySpec spec);

}  // namespace burnish

#endif  // TUNER_APP_STUDY_SPEC_H_
