#include "tuner/measure/fake_measurer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "tuner/measure/build_spec.h"

namespace burnish {
namespace {

constexpr FailureKind kKinds[] = {FailureKind::kBuildError,  FailureKind::kRunTimeout,
                                  FailureKind::kCrashed,     FailureKind::kWrongResult,
                                  FailureKind::kOutOfMemory, FailureKind::kPoisoned};

Measurement Failed(FailureKind kind) {
  Measurement measurement;
  measurement.outcome = Failure{kind, "fake"};
  return measurement;
}

}  // namespace

FakeMeasurer::FakeMeasurer(const FakeMeasurerOptions& options)
    : options_(options),
      rng_(RngStream{.seed = options.seed, .purpose = "fake measurer"}),
      health_(absl::OkStatus()) {
  CHECK(options_.latency_ns != nullptr);
}

absl::Status FakeMeasurer::Submit(std::vector<MeasureRequest> requests) {
  for (const MeasureRequest& request : requests) {
    if (request.trial_id.empty() || request.task == nullptr) {
      return absl::InvalidArgumentError("got a request without a trial id or a task");
    }
  }
  for (MeasureRequest& request : requests) {
    requests_.push_back(request);
    const auto same = [&request](const MeasureRequest& other) {
      return other.trial_id == request.trial_id;
    };
    if (std::find_if(open_.begin(), open_.end(), same) != open_.end()) continue;
    if (request.again) unacknowledged_.erase(request.trial_id);
    const auto known = unacknowledged_.find(request.trial_id);
    if (known != unacknowledged_.end()) {
      ready_.push_back(known->second);
    } else {
      open_.push_back(std::move(request));
    }
  }
  return absl::OkStatus();
}

std::vector<MeasureResult> FakeMeasurer::Collect(absl::Duration timeout) {
  std::vector<MeasureResult> results = std::exchange(ready_, {});
  if (!answering_) {
    if (options_.clock != nullptr) options_.clock->Advance(timeout);
    return results;
  }
  int count = options_.results_per_collect;
  if (options_.reorder) count = static_cast<int>(rng_.Between(1, count));
  for (; count > 0 && !open_.empty(); --count) {
    const size_t at = options_.reorder ? rng_.Below(open_.size()) : 0;
    const MeasureRequest request = open_[at];
    open_.erase(open_.begin() + static_cast<int64_t>(at));
    MeasureResult result{request.trial_id, Measure(request)};
    const Failure* failure = result.measurement.failure();
    if (failure == nullptr || CountsAsTrial(failure->kind)) {
      ++measured_counts_[request.trial_id];
      unacknowledged_[request.trial_id] = result;
    }
    results.push_back(std::move(result));
    if (options_.clock != nullptr) options_.clock->Advance(options_.trial_duration);
  }
  return results;
}

Measurement FakeMeasurer::Measure(const MeasureRequest& request) {
  const MeasureTask& task = *request.task;
  const std::string candidate_id = CandidateIdOf(task, request.trace);
  // Failures are of the candidate, losses of the attempt.
  Rng fate(RngStream{.seed = options_.seed, .purpose = "fate", .task = candidate_id});
  Measurement measurement;
  const bool runs = task.reference_trace == request.trace && !options_.reference_fails;
  if (rng_.Uniform() < options_.lost_share) {
    measurement = Failed(FailureKind::kWorkerLost);
  } else if (!runs && fate.Uniform() < options_.failure_share) {
    measurement = Failed(kKinds[fate.Below(std::size(kKinds))]);
  } else {
    measurement.outcome =
        Latencies{{ProcessLatencies{.latency_ns = {options_.latency_ns(request)}}}};
    measurement.numerics.kind = NumericsClass::kReassociated;
    if (options_.numerics != nullptr) measurement.numerics = options_.numerics(request);
  }
  measurement.candidate_id = candidate_id;
  measurement.environment.method_version = options_.method_version;
  measurement.worker_address = kOwnAddress;
  measurement.effort = options_.effort;
  measurement.build.build_ns = options_.build_ns;
  if (options_.lie != nullptr) options_.lie(request, measurement);
  return measurement;
}

void FakeMeasurer::Acknowledge(absl::Span<const std::string> trial_ids) {
  for (const std::string& id : trial_ids) unacknowledged_.erase(id);
}

absl::Status FakeMeasurer::Cancel(absl::Span<const std::string> trial_ids) {
  for (const std::string& id : trial_ids) {
    const auto same = [&id](const MeasureRequest& other) { return other.trial_id == id; };
    const auto found = std::find_if(open_.begin(), open_.end(), same);
    if (found == open_.end()) continue;
    open_.erase(found);
    ready_.push_back({id, Failed(FailureKind::kCancelled)});
  }
  return absl::OkStatus();
}

}  // namespace burnish
