// A study that is run by this process: what `submit` and `resume` share when no daemon is named.
#ifndef TUNER_CLI_LOCAL_TUNING_H_
#define TUNER_CLI_LOCAL_TUNING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "db/open.h"
#include "tuner/app/recorded_schedules.h"
#include "tuner/app/tuning.h"
#include "tuner/cli/context.h"
#include "tuner/cli/interrupt_watcher.h"
#include "tuner/study/study_types.h"

namespace burnish {

// A tracker that nobody has started, or a target with more threads than any device has CPUs, is
// said at once: before there is a study, and not after the study's patience with its farm. Errors:
// B0101, B0701, B0702.
absl::Status CheckFarm(Context& context, const Tuning& tuning);

struct TuningOptions {
  std::string study_id = {};                   // Of a study that was created.
  std::string out = {};                        // Where the bundle goes; empty: none is built.
  absl::Duration patience = absl::Minutes(5);  // With a farm that is away.
};

// The result of a run as a table, or as JSON. `flop_counts`: of the tasks. Nothing where there were
// no trials.
void PrintResult(Context& context, const std::vector<int64_t>& flop_counts,
                 const std::string& study_id, const StudyResult& result);

// The bundle with the best schedules that `find_best` knows. `verbose`: prints a table of its
// tasks, too. Errors: B0204, B08xx, the finder's.
absl::Status BuildTuned(Context& context, const BestFinder& find_best, const Tuning& tuning,
                        const std::string& out, bool verbose = false);

// Runs the study, on the farm that is set or on one of its own, then builds. Errors: B0905 with how
// to go on, B07xx, B08xx, B05xx.
absl::Status RunTuning(Context& context, const Database& database, const Tuning& tuning,
                       const TuningOptions& options, InterruptWatcher& interrupts);

}  // namespace burnish

#endif  // TUNER_CLI_LOCAL_TUNING_H_
