// From a study's specification to tuned tasks and a bundle: what `submit` and `resume` share.
#ifndef TUNER_CLI_TUNING_H_
#define TUNER_CLI_TUNING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/graph/extract_tasks.h"
#include "compiler/graph/graph.h"
#include "db/open.h"
#include "proto/study.h"
#include "proto/target.h"
#include "tuner/cli/context.h"
#include "tuner/cli/interrupt_watcher.h"
#include "tuner/service/study_types.h"

namespace burnish {

struct Tuning {
  StudySpec spec = {};
  Target target = {};
  Graph graph = {};
  std::vector<StudyTaskSpec> tasks = {};  // As the study store has them.
  std::vector<int64_t> flop_counts = {};  // Of the tasks.
};

// Loads the model and cuts it into tasks. A pure function of the spec and the model file, so that a
// resumed study has the same tasks. Errors: B01xx, B03xx; B0604: another file than was submitted.
absl::StatusOr<Tuning> PrepareTuning(const StudySpec& spec);

// Of the model's name or path, for people.
std::string TitleOf(const StudySpec& spec);

struct TuningOptions {
  std::string study_id = {};  // Of a study that was created.
  std::string out = {};       // Where the bundle goes; empty: none is built.
};

// Runs the study, on the farm that is set or on one of its own, then builds. Errors: B0905 with how
// to go on, B07xx, B08xx, B05xx.
absl::Status RunTuning(Context& context, const Database& database, const Tuning& tuning,
                       const TuningOptions& options, InterruptWatcher& interrupts);

}  // namespace burnish

#endif  // TUNER_CLI_TUNING_H_
