// What was recorded where a command looks: in the database, or behind a daemon.
#ifndef TUNER_CLI_BEST_ON_RECORD_H_
#define TUNER_CLI_BEST_ON_RECORD_H_

#include "absl/status/statusor.h"
#include "tuner/app/recorded_schedules.h"
#include "tuner/cli/context.h"

namespace burnish {

// Finds nothing where there is no database yet. Errors: B05xx, B07xx.
absl::StatusOr<BestFinder> FindBestOnRecord(Context& context);

}  // namespace burnish

#endif  // TUNER_CLI_BEST_ON_RECORD_H_
