// Inside a model by a formula, for tests: no threads, no processes.
#ifndef TUNER_MEASURE_FAKE_NETWORK_MEASURER_H_
#define TUNER_MEASURE_FAKE_NETWORK_MEASURER_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "tuner/measure/network_measurer.h"

namespace burnish {

struct FakeNetworkMeasurerOptions {
  std::function<int64_t(const NetworkCandidate&)> latency_ns = {};  // Not null; > 0.
  // What the build of a candidate fails with; null: none fails.
  std::function<bool(const NetworkCandidate&)> fails_to_build = {};
  // Whose outputs are wrong, alone; null: nobody's.
  std::function<bool(const NetworkCandidate&)> is_wrong = {};
  // What all steps of a pass are slower by; null: 1.
  std::function<double(const NetworkRequest&, int64_t pass)> pass_factor = {};
  double noise = 0;  // Relative standard deviation of each latency.
  uint64_t seed = 0;
  int32_t method_version = kMeasureMethodVersion;
};

// Not thread-safe.
class FakeNetworkMeasurer : public NetworkMeasurer {
 public:
  explicit FakeNetworkMeasurer(const FakeNetworkMeasurerOptions& options) : options_(options) {}

  // Asks `stop` once.
  absl::StatusOr<NetworkResult> Measure(const NetworkRequest& request,
                                        const std::function<bool()>& stop) override;

  // What every further call returns, unless OK.
  void set_status(absl::Status status) { status_ = std::move(status); }
  const std::vector<NetworkRequest>& requests() const { return requests_; }

 private:
  const FakeNetworkMeasurerOptions options_;
  absl::Status status_;
  std::vector<NetworkRequest> requests_;
};

}  // namespace burnish

#endif  // TUNER_MEASURE_FAKE_NETWORK_MEASURER_H_
