// Measures on the farm behind a tracker: each trial is a build job and then a run job.
#ifndef TUNER_MEASURE_TRACKER_MEASURER_H_
#define TUNER_MEASURE_TRACKER_MEASURER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "proto/build_job.h"
#include "proto/run_job.h"
#include "tuner/measure/measurer.h"

namespace burnish {

class JobClient;

struct TrackerMeasurerOptions {
  JobClient* client = nullptr;  // Not null; outlives the measurer, which alone collects from it.
  std::string study = {};       // For fairness between studies; 1..100 bytes.
  // Of this process alone: in the ids of jobs that it does not submit again after a restart.
  std::string session = {};
  int32_t priority = 0;
  MeasureMethod method = {};  // process_count is the request's.
  absl::Duration build_timeout = absl::Seconds(10);
  // A trial whose artifacts get lost this often fails.
  int artifact_losses_max = 5;
  // False: Collect moves the trials on, and nothing happens in between. For one that waits for
  // nobody else's time, such as a simulation.
  bool has_thread = true;
};

// Job ids are those of the trials with a suffix, so a trial that is submitted again by another
// process meets the jobs of the first, also where the client has the same tuner id and results come
// before the trial is back. Candidate 0 of a task is built once a session, for all run
// jobs that name it. A thread of its own brings built candidates on to their runs.
class TrackerMeasurer : public Measurer {
 public:
  explicit TrackerMeasurer(const TrackerMeasurerOptions& options);
  // Open jobs stay with the tracker.
  ~TrackerMeasurer() override;

  absl::Status Submit(std::vector<MeasureRequest> requests) override;
  void AllResubmitted() override;
  std::vector<MeasureResult> Collect(absl::Duration timeout) override;
  void Acknowledge(absl::Span<const std::string> trial_ids) override;
  absl::Status Cancel(absl::Span<const std::string> trial_ids) override;
  absl::Status health() const override;

  // Of a trial's candidate that was built for this measurer. The content store may have forgotten
  // the artifact.
  std::optional<BuiltArtifact> FindBuilt(const std::string& candidate_id) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace burnish

#endif  // TUNER_MEASURE_TRACKER_MEASURER_H_
