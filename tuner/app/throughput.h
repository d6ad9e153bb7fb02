// Sessions that run at the same time: how many inferences a second, and how long each takes.
#ifndef TUNER_APP_THROUGHPUT_H_
#define TUNER_APP_THROUGHPUT_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "compiler/runtime/benchmark.h"
#include "compiler/runtime/session.h"

namespace burnish {

struct Throughput {
  double runs_per_second = 0;  // Of all together.
  LatencySummary latency;      // Of the runs of all.
};

// One inference of session number `session`, on a thread that no other session has.
using RunSession = std::function<absl::Status(int session)>;

// Each runs once, and then, all from the same moment on, again and again for `duration`; one run
// each at least. The first error ends it.
absl::StatusOr<Throughput> MeasureThroughput(int session_count, absl::Duration duration,
                                             const RunSession& run);

absl::StatusOr<Throughput> MeasureThroughput(absl::Span<const std::unique_ptr<Session>> sessions,
                                             absl::Duration duration);

}  // namespace burnish

#endif  // TUNER_APP_THROUGHPUT_H_
