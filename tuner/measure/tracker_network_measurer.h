// Measures inside a model on the farm behind a tracker: build jobs, then one run job.
#ifndef TUNER_MEASURE_TRACKER_NETWORK_MEASURER_H_
#define TUNER_MEASURE_TRACKER_NETWORK_MEASURER_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "proto/build_job.h"
#include "proto/job.h"
#include "proto/run_job.h"
#include "tuner/measure/network_measurer.h"

namespace burnish {

class TrackerClient;

struct TrackerNetworkMeasurerOptions {
  // Not null; outlives the measurer, which alone collects from it: not that of a TrackerMeasurer.
  TrackerClient* client = nullptr;
  const Clock* clock = nullptr;  // Not null, likewise.
  std::string study = {};        // For fairness between studies; 1..64 bytes.
  std::string session = {};      // Of this process alone, in the ids of jobs; at most 32 bytes.
  int32_t priority = 0;
  // What was built for others, by candidate id: not built again as long as the content store has
  // it. Null: nothing was.
  std::function<std::optional<BuiltArtifact>(const std::string&)> find_built = nullptr;
  MeasureMethod method = {};  // Process count, cold policy and timeout are the measurer's.
  absl::Duration build_timeout = absl::Seconds(10);
  int artifact_losses_max = 5;
  // A farm that is not well and gives no result for this long.
  absl::Duration silence_max = absl::Minutes(5);
};

// Not thread-safe. Nothing of it outlives the process: what was interrupted is measured anew.
class TrackerNetworkMeasurer : public NetworkMeasurer {
 public:
  explicit TrackerNetworkMeasurer(const TrackerNetworkMeasurerOptions& options);

  absl::StatusOr<NetworkResult> Measure(const NetworkRequest& request,
                                        const std::function<bool()>& stop) override;

 private:
  using Outcomes = std::map<std::string, JobOutcome>;  // By job id.

  std::string NextId();
  // Builds what `built_` lacks. Afterwards it has an outcome for each candidate.
  absl::Status BuildAll(const NetworkRequest& request, const std::function<bool()>& stop);
  // The same, once. `malformed`: why a result was not taken, if one was not.
  absl::Status BuildMissing(const NetworkRequest& request, const std::function<bool()>& stop,
                            absl::Status& malformed);
  // A run's payload, if it can be what was asked for.
  absl::StatusOr<RunResult> CheckedRun(const NetworkRequest& request,
                                       const std::string& payload) const;
  // Waits for all of them. CANCELLED, UNAVAILABLE: the jobs are cancelled.
  absl::StatusOr<Outcomes> RunJobs(std::vector<JobSpec> jobs, const std::function<bool()>& stop);
  absl::Status WhySilent() const;
  JobSpec RunSpec(const NetworkRequest& request);

  const TrackerNetworkMeasurerOptions options_;
  int64_t job_count_ = 0;
  std::map<std::string, BuildResult> built_;  // By candidate id.
  std::set<std::string> looked_for_;          // By `find_built`, once each.
};

}  // namespace burnish

#endif  // TUNER_MEASURE_TRACKER_NETWORK_MEASURER_H_
