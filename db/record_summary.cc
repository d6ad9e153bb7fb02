#include "db/record_summary.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/check.h"

namespace burnish {
namespace {

// What disturbs a measurement makes it slower, hardly ever faster, so a low quantile is near the
// undisturbed time. Not the minimum: that is one sample, and the more often somebody measures the
// lower it gets.
constexpr double kRankQuantile = 0.1;

// The largest double below 2^63. A product above it is no latency of anything, but must not come
// out as a small one: the conversion to an integer would wrap.
constexpr double kRankMaxNs = 9223372036854774784.0;

struct WeightedLatency {
  int64_t latency_ns;
  double weight;

  bool operator<(const WeightedLatency& other) const { return latency_ns < other.latency_ns; }
};

// The smallest latency that at least `quantile` of the weight does not exceed. `sorted` is not
// empty and its weights sum to 1.
int64_t Quantile(const std::vector<WeightedLatency>& sorted, double quantile) {
  double weight = 0;
  for (const WeightedLatency& sample : sorted) {
    weight += sample.weight;
    if (weight >= quantile - 1e-12) return sample.latency_ns;
  }
  return sorted.back().latency_ns;
}

// The latest measurements with latencies, oldest first.
std::vector<const Measurement*> Timed(absl::Span<const Measurement> measurements) {
  std::vector<const Measurement*> timed;
  // The latest, so that appending costs the same however often a candidate is measured, and an old
  // machine state is forgotten.
  for (size_t i = measurements.size(); i-- > 0 && timed.size() < kSummaryMeasurementsMax;) {
    const Measurement& measurement = measurements[i];
    // Times inside a model are of another situation. They count by their factor alone
    // (docs/adr/0002).
    if (measurement.latencies() == nullptr || measurement.network_factor > 0) continue;
    timed.push_back(&measurement);
  }
  std::reverse(timed.begin(), timed.end());
  return timed;
}

int ProcessCount(absl::Span<const Measurement* const> timed) {
  int count = 0;
  for (const Measurement* measurement : timed) {
    count += static_cast<int>(measurement->latencies()->processes.size());
  }
  return count;
}

std::vector<WeightedLatency> SortedSamples(absl::Span<const Measurement* const> timed) {
  const int process_count = ProcessCount(timed);
  std::vector<WeightedLatency> samples;
  for (const Measurement* measurement : timed) {
    for (const ProcessLatencies& process : measurement->latencies()->processes) {
      // Each process has the same weight, however many repeats it had: repeats in one process share
      // its luck with memory and code.
      const double weight = 1.0 / process_count / static_cast<double>(process.latency_ns.size());
      for (const int64_t latency_ns : process.latency_ns) samples.push_back({latency_ns, weight});
    }
  }
  std::sort(samples.begin(), samples.end());
  return samples;
}

// Whether nobody at a second address stands for the time: those whose own time is above it by more
// than machines of one kind differ do not.
bool IsUnconfirmed(absl::Span<const Measurement* const> timed, int64_t quantile_ns) {
  std::string address;
  for (const Measurement* measurement : timed) {
    const int64_t own_ns = Quantile(SortedSamples({&measurement, 1}), kRankQuantile);
    if (static_cast<double>(own_ns) > kAgreement * static_cast<double>(quantile_ns)) continue;
    if (!measurement->unconfirmed) return false;
    if (measurement->worker_address.empty()) continue;
    if (!address.empty() && address != measurement->worker_address) return false;
    address = measurement->worker_address;
  }
  return true;
}

void SummarizeLatencies(const std::vector<const Measurement*>& timed, Record& record) {
  const std::vector<WeightedLatency> samples = SortedSamples(timed);
  const int64_t quantile_ns = Quantile(samples, kRankQuantile);
  // At least 1: 0 stands for a failure.
  const double rank_ns = static_cast<double>(quantile_ns) * record.network_factor;
  record.rank_ns = std::max<int64_t>(1, std::llround(std::min(rank_ns, kRankMaxNs)));
  record.median_ns = Quantile(samples, 0.5);
  // The binomial's normal approximation: ranks n/2 -+ 1.96 * sqrt(n) / 2.
  const double spread = 0.98 / std::sqrt(static_cast<double>(samples.size()));
  record.interval_low_ns = Quantile(samples, std::max(0.0, 0.5 - spread));
  record.interval_high_ns = Quantile(samples, std::min(1.0, 0.5 + spread));
  record.process_count = ProcessCount(timed);
  record.repeat_count = static_cast<int32_t>(samples.size());
  record.unconfirmed = IsUnconfirmed(timed, quantile_ns);
}

// What the builder said; of several builds of one candidate the latest that knew.
void SummarizeBuild(const Measurement& measurement, Record& record) {
  const BuildFacts& build = measurement.build;
  if (!build.lowered_sha256.empty()) record.lowered_sha256 = build.lowered_sha256;
  if (!build.code_sha256.empty()) {
    record.code_sha256 = build.code_sha256;
    record.scratch_bytes = build.scratch_bytes;
    record.packed_bytes = build.packed_bytes;
    record.code_bytes = build.code_bytes;
  }
  const Numerics& numerics = measurement.numerics;
  if (numerics.kind == NumericsClass::kUnknown) return;
  // The worst of what was seen: a bound holds only if it held every time.
  const double error = std::max(record.numerics.error, numerics.error);
  // Classes are numbered by how much they may round.
  if (numerics.kind >= record.numerics.kind) record.numerics = numerics;
  record.numerics.error = error;
}

}  // namespace

bool Disqualifies(FailureKind kind) {
  switch (kind) {
    case FailureKind::kBuildError:
    case FailureKind::kRunError:
    case FailureKind::kRunTimeout:
    case FailureKind::kCrashed:
    case FailureKind::kWrongResult:
      return true;
    // These may be the machine's doing: another worker, or the same one at another time, may
    // succeed. One good measurement then outweighs them.
    case FailureKind::kBuildTimeout:
    case FailureKind::kOutOfMemory:
    case FailureKind::kDeviceError:
    // Inferred from workers that were lost; who lifts it and measures knows better.
    case FailureKind::kPoisoned:
    case FailureKind::kWorkerLost:
    case FailureKind::kCancelled:
    case FailureKind::kParked:
      return false;
  }
  return false;
}

void Summarize(absl::Span<const Measurement> measurements, Record& record) {
  CHECK(!measurements.empty());
  const Failure* first = nullptr;
  const Failure* disqualifying = nullptr;
  // All fields anew from all measurements: a summary depends on the log and on nothing that a
  // summary before it said.
  record.numerics = {};
  record.network_factor = 1;
  record.scratch_bytes = record.packed_bytes = record.code_bytes = 0;
  record.lowered_sha256.clear();
  record.code_sha256.clear();
  for (const Measurement& measurement : measurements) {
    SummarizeBuild(measurement, record);
    if (measurement.network_factor > 0) record.network_factor = measurement.network_factor;
    const Failure* failure = measurement.failure();
    if (failure == nullptr) continue;
    if (first == nullptr) first = failure;
    if (disqualifying == nullptr && Disqualifies(failure->kind)) disqualifying = failure;
  }
  record.rank_ns = record.median_ns = record.interval_low_ns = record.interval_high_ns = 0;
  record.process_count = record.repeat_count = 0;
  record.failure.reset();
  record.unconfirmed = false;
  const std::vector<const Measurement*> timed = Timed(measurements);
  // In this order: one wrong result or crash outweighs any number of good times, as the candidate
  // may do it again in somebody's model.
  if (disqualifying != nullptr) {
    record.failure = *disqualifying;
  } else if (!timed.empty()) {
    SummarizeLatencies(timed, record);
  } else if (first != nullptr) {
    record.failure = *first;
  }
}

}  // namespace burnish
