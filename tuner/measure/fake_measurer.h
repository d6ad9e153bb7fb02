// Answers by a formula, in an order and with failures that a seed decides, for tests: no threads,
// no processes, no time but a fake clock's.
#ifndef TUNER_MEASURE_FAKE_MEASURER_H_
#define TUNER_MEASURE_FAKE_MEASURER_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/fake_clock.h"
#include "base/rng.h"
#include "tuner/measure/measurer.h"

namespace burnish {

struct FakeMeasurerOptions {
  std::function<int64_t(const MeasureRequest&)> latency_ns = {};  // Not null; > 0.
  // Of a candidate that runs; null: reassociated, no error known.
  std::function<Numerics(const MeasureRequest&)> numerics = {};
  uint64_t seed = 0;             // Of the order of results, and of which trials fail.
  double failure_share = 0;      // Of the trials that fail, with a kind by seed: always the same.
  bool reference_fails = false;  // As any trial may; else candidate 0 always runs.
  double lost_share = 0;         // Of the attempts that end with a lost worker.
  bool reorder = true;           // False: in the order of submission.
  int results_per_collect = 4;   // At most; by seed if `reorder`.
  FakeClock* clock = nullptr;    // Advanced by `trial_duration` for each result; null: no time.
  absl::Duration trial_duration = absl::Milliseconds(10);
  Effort effort = {};    // Of every result.
  int64_t build_ns = 0;  // Likewise.
  // What a worker makes of an honest result; null: nothing.
  std::function<void(const MeasureRequest&, Measurement&)> lie = nullptr;
  int32_t method_version = kMeasureMethodVersion;
};

// Not thread-safe. Remembers open trials and results that were not acknowledged, so that it may
// stand for a tracker that outlives the tuner.
class FakeMeasurer : public Measurer {
 public:
  explicit FakeMeasurer(const FakeMeasurerOptions& options);

  absl::Status Submit(std::vector<MeasureRequest> requests) override;
  void AllResubmitted() override {}
  std::vector<MeasureResult> Collect(absl::Duration timeout) override;
  void Acknowledge(absl::Span<const std::string> trial_ids) override;
  absl::Status Cancel(absl::Span<const std::string> trial_ids) override;
  absl::Status health() const override { return health_; }

  void set_health(absl::Status health) { health_ = std::move(health); }
  // False: no results come until it is true again.
  void set_answering(bool answering) { answering_ = answering; }

  // How often each trial was measured to a result that counts.
  const std::map<std::string, int>& measured_counts() const { return measured_counts_; }
  // Every request that was taken, in order; resubmissions included.
  const std::vector<MeasureRequest>& requests() const { return requests_; }
  int open_count() const { return static_cast<int>(open_.size()); }

 private:
  Measurement Measure(const MeasureRequest& request);

  const FakeMeasurerOptions options_;
  Rng rng_;
  absl::Status health_;
  bool answering_ = true;
  std::vector<MeasureRequest> open_;
  std::map<std::string, MeasureResult> unacknowledged_;  // Counting results, by trial id.
  std::vector<MeasureResult> ready_;                     // Cancelled ones.
  std::map<std::string, int> measured_counts_;
  std::vector<MeasureRequest> requests_;
};

}  // namespace burnish

#endif  // TUNER_MEASURE_FAKE_MEASURER_H_
