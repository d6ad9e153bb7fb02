#include "tuner/measure/fake_network_measurer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/rng.h"
#include "tuner/measure/build_spec.h"

namespace burnish {

absl::StatusOr<NetworkResult> FakeNetworkMeasurer::Measure(const NetworkRequest& request,
                                                           const std::function<bool()>& stop) {
  requests_.push_back(request);
  if (stop()) return absl::CancelledError("stopped");
  if (!status_.ok()) return status_;
  NetworkResult result{.has_run = true};
  for (const NetworkCandidate& candidate : request.candidates) {
    Measurement& measurement = result.measurements.emplace_back();
    measurement.candidate_id = CandidateIdOf(*candidate.task, candidate.trace);
    measurement.environment = {.mode = MeasureMode::kInNetwork,
                               .model_sha256 = request.model_id,
                               .cold_policy = ColdPolicy::kModelOrder,
                               .method_version = options_.method_version};
    if (options_.fails_to_build != nullptr && options_.fails_to_build(candidate)) {
      measurement.outcome = Failure{FailureKind::kBuildError, "made up"};
      result.has_run = false;
    } else if (options_.is_wrong != nullptr && options_.is_wrong(candidate)) {
      measurement.outcome = Failure{FailureKind::kWrongResult, "made up"};
      measurement.environment.mode = MeasureMode::kIsolated;
      result.has_run = false;
    }
  }
  Rng rng(RngStream{.seed = options_.seed,
                    .purpose = "network",
                    .round = static_cast<int64_t>(requests_.size())});
  const ModelOrder& order = request.order;
  for (size_t i = 0; i < request.candidates.size(); ++i) {
    Measurement& measurement = result.measurements[i];
    if (measurement.failure() != nullptr) continue;
    if (!result.has_run) {
      measurement.outcome = Failure{FailureKind::kCancelled, "another was not built, or is wrong"};
      continue;
    }
    ProcessLatencies process;
    for (int64_t pass = order.warm_up_pass_count; pass < order.pass_count(); ++pass) {
      const auto first = order.candidates.begin() + pass * order.step_count;
      if (std::count(first, first + order.step_count, static_cast<int32_t>(i)) == 0) continue;
      const double ns = static_cast<double>(options_.latency_ns(request.candidates[i])) *
                        (1 + options_.noise * rng.Normal()) *
                        (options_.pass_factor != nullptr ? options_.pass_factor(request, pass) : 1);
      process.latency_ns.push_back(std::max<int64_t>(1, std::llround(ns)));
    }
    measurement.outcome = Latencies{{std::move(process)}};
  }
  return result;
}

}  // namespace burnish
