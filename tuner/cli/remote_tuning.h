// A study that a daemon runs: what `submit` and `resume` share when one is named.
#ifndef TUNER_CLI_REMOTE_TUNING_H_
#define TUNER_CLI_REMOTE_TUNING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tuner/cli/context.h"
#include "tuner/cli/interrupt_watcher.h"
#include "tuner/serve/tuner_client.h"

namespace burnish {

// Shows the study's progress until its run ends, then the result. Errors: why it ended before it
// was done; B0905 after Ctrl-C, which leaves the study running; B0704. `flop_counts`: of the tasks;
// empty: the daemon is asked, which knows of those that were measured.
absl::Status FollowRemote(Context& context, TunerClient& client, const std::string& study_id,
                          std::vector<int64_t> flop_counts, InterruptWatcher& interrupts);

}  // namespace burnish

#endif  // TUNER_CLI_REMOTE_TUNING_H_
