#include "tuner/app/turns.h"

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "base/status_macros.h"
#include "compiler/driver/to_status.h"
#include "compiler/runtime/benchmark.h"
#include "compiler/runtime/spin_wait.h"

namespace burnish {
namespace {

// The share of a turn that warms caches, and the clock that wide vectors leave. As in
// engine_peer.py.
constexpr double kWarmUpShare = 0.2;

// Between the two neighbours where `share` falls between them.
double Quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

template <typename Of>
std::vector<double> Map(absl::Span<const Round> rounds, const Of& of) {
  std::vector<double> values;
  values.reserve(rounds.size());
  for (const Round& round : rounds) values.push_back(of(round));
  return values;
}

Ratio RatioOf(const std::vector<double>& values) {
  return {.median = Quantile(values, 0.5),
          .spread = (Quantile(values, 0.75) - Quantile(values, 0.25)) / 2};
}

double FirstOf(const Round& round) { return (round.first + round.first_again) / 2; }

}  // namespace

TurnTimes Judge(absl::Span<const Round> rounds) {
  CHECK(!rounds.empty());
  return {.first_ns = Quantile(Map(rounds, FirstOf), 0.5),
          .second_ns = Quantile(Map(rounds, [](const Round& r) { return r.second; }), 0.5),
          .ratio = RatioOf(Map(rounds, [](const Round& r) { return FirstOf(r) / r.second; })),
          .control = RatioOf(Map(rounds, [](const Round& r) { return r.first_again / r.first; })),
          .round_count = static_cast<int>(rounds.size())};
}

absl::StatusOr<TurnTimes> TakeTurns(const Turn& first, const Turn& second, int rounds) {
  std::vector<Round> done;
  for (int i = 0; i < rounds; ++i) {
    Round round;
    ASSIGN_OR_RETURN(round.first, first());
    ASSIGN_OR_RETURN(round.second, second());
    ASSIGN_OR_RETURN(round.first_again, first());
    done.push_back(round);
  }
  return Judge(done);
}

absl::StatusOr<double> SessionTurn(Session& session, absl::Duration duration) {
  const auto length_ns = static_cast<double>(absl::ToInt64Nanoseconds(duration));
  int64_t end_ns = MonotonicNs() + static_cast<int64_t>(kWarmUpShare * length_ns);
  do {
    RETURN_IF_ERROR(ToStatus(session.Run()));
  } while (MonotonicNs() < end_ns);
  std::vector<int64_t> latency_ns;
  int64_t start_ns = MonotonicNs();
  end_ns = start_ns + static_cast<int64_t>(length_ns);
  do {
    RETURN_IF_ERROR(ToStatus(session.Run()));
    const int64_t finish_ns = MonotonicNs();
    latency_ns.push_back(std::max<int64_t>(finish_ns - start_ns, 1));  // A ratio divides by it.
    start_ns = finish_ns;
  } while (start_ns < end_ns);
  return static_cast<double>(Summarize(std::move(latency_ns)).median_ns);
}

}  // namespace burnish
