#include "tuner/study/result_guard.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "db/record_summary.h"
#include "proto/job.h"
#include "tuner/search/rank_latency.h"

namespace burnish {
namespace {

// A result may be this much faster than the device's peak: the peak is measured over a second, at
// the clock that the machine then had, and a kernel of milliseconds may meet a higher one. What is
// faster still computes less than it should, or somebody has made it up.
constexpr double kPeakSlack = 1.2;
// Impossible results of one trial, after which it is given up. Three, as kLossesMax of the session,
// and not the same: a lost trial is parked and waits for a better farm, this one is recorded as the
// device's error, since the farm has answered.
constexpr int kImpossibleMax = 3;
// Of a worker that lied; doubles with each further time. Long enough for others to have most of a
// study's trials, short enough that a machine that was mended comes back by itself. Chosen.
constexpr absl::Duration kPause = absl::Minutes(10);
constexpr int kPauseDoublingsMax = 6;

const std::string& WorkerOf(const Measurement& measurement) {
  return measurement.environment.worker;
}

LeastTimes LeastOf(const Measurement& measurement, const GuardQuestion& question) {
  return question.least == nullptr ? LeastTimes() : question.least(WorkerOf(measurement));
}

bool IsBelow(const Measurement& measurement, int64_t least_ns) {
  return static_cast<double>(RankLatencyNs(measurement)) * kPeakSlack <
         static_cast<double>(least_ns);
}

bool IsImpossible(const Measurement& measurement, const GuardQuestion& question) {
  if (measurement.latencies() == nullptr) return false;
  return IsBelow(measurement, LeastOf(measurement, question).of_worker_ns);
}

// Of two machines, by the tracker's word: all workers at one address are one witness, whatever
// names they give themselves and their hosts.
bool AreApart(const Measurement& a, const Measurement& b) {
  return WorkerOf(a) != WorkerOf(b) && !a.worker_address.empty() && !b.worker_address.empty() &&
         a.worker_address != b.worker_address;
}

bool Agree(const Measurement& a, const Measurement& b) {
  const auto [low, high] = std::minmax(RankLatencyNs(a), RankLatencyNs(b));
  return static_cast<double>(high) <= kAgreement * static_cast<double>(low);
}

const Measurement& Slowest(const std::vector<const Measurement*>& measurements) {
  return **std::max_element(measurements.begin(), measurements.end(),
                            [](const Measurement* a, const Measurement* b) {
                              return RankLatencyNs(*a) < RankLatencyNs(*b);
                            });
}

// With what all attempts took, so that a study's times are those of its workers. `witnesses`: those
// who have measured it and are believed. The slowest is taken, so that none of them says more.
Measurement Taken(Measurement taken, absl::Span<const Measurement> attempts,
                  absl::Span<const Measurement* const> witnesses) {
  taken.unconfirmed =
      taken.worker_address != kOwnAddress && taken.latencies() != nullptr &&
      std::none_of(witnesses.begin(), witnesses.end(),
                   [&taken](const Measurement* other) { return AreApart(*other, taken); });
  taken.effort = {};
  for (const Measurement& attempt : attempts) {
    taken.effort.check_ns += attempt.effort.check_ns;
    taken.effort.wait_ns += attempt.effort.wait_ns;
    taken.effort.run_ns += attempt.effort.run_ns;
  }
  return taken;
}

std::vector<std::string> WorkersOf(absl::Span<const Measurement> attempts) {
  std::vector<std::string> workers;
  for (const Measurement& attempt : attempts) {
    const std::string& worker = WorkerOf(attempt);
    const bool is_new = std::find(workers.begin(), workers.end(), worker) == workers.end();
    if (!worker.empty() && is_new) workers.push_back(worker);
  }
  return workers;
}

// Whether two machines have said the same, each by itself.
bool AreConfirmed(const std::vector<const Measurement*>& attempts) {
  const Measurement& last = *attempts.back();
  return std::any_of(attempts.begin(), attempts.end(), [&last](const Measurement* other) {
    return AreApart(*other, last) && Agree(*other, last);
  });
}

}  // namespace

GuardAnswer JudgeAttempts(absl::Span<const Measurement> attempts, const GuardQuestion& question) {
  CHECK(!attempts.empty());
  GuardAnswer answer;
  std::vector<const Measurement*> possible, impossible;
  const auto take = [&](const Measurement& measurement) {
    answer.taken = Taken(measurement, attempts, possible.empty() ? impossible : possible);
  };
  // Also where an earlier attempt went well: who crashes now and then crashes in somebody's model.
  if (attempts.back().latencies() == nullptr) {
    take(attempts.back());
    return answer;
  }
  for (const Measurement& attempt : attempts) {
    (IsImpossible(attempt, question) ? impossible : possible).push_back(&attempt);
  }
  if (possible.empty()) {
    // Two workers that agree know their device better than its row does, but for what no machine
    // can do.
    const Measurement& slowest = Slowest(impossible);
    const bool none_can = IsBelow(slowest, LeastOf(slowest, question).of_any_ns);
    if (!none_can && AreConfirmed(impossible)) {
      take(slowest);
    } else if (impossible.size() < kImpossibleMax) {
      answer.avoid = WorkersOf(attempts);
    } else {
      // Speaks against the machine: another measurement at another time outweighs it.
      Measurement given_up = attempts.back();
      given_up.outcome =
          Failure{FailureKind::kDeviceError,
                  absl::StrCat("worker ", WorkerOf(given_up), " reported ",
                               RankLatencyNs(attempts.back()), " ns, its machine's peak allows ",
                               LeastOf(attempts.back(), question).of_worker_ns,
                               " ns, and no other worker was there to confirm it")};
      take(given_up);
    }
    return answer;
  }
  for (const Measurement* lie : impossible) {
    bool contradicted = false, confirmed = false;
    for (const Measurement* other : possible) {
      if (WorkerOf(*other) == WorkerOf(*lie)) continue;
      // By its own row it cannot be, and another machine says the same: the row is wrong.
      confirmed |= Agree(*other, *lie) && AreApart(*other, *lie);
      contradicted |= !Agree(*other, *lie);
    }
    if (contradicted && !confirmed && !WorkerOf(*lie).empty()) {
      answer.liars.push_back(WorkerOf(*lie));
    }
  }
  // Once more for a best: it is the luckiest of many, and the search goes on from it. The slower of
  // the two counts, so that luck has to come twice.
  const bool is_new_best =
      question.incumbent_ns > 0 && RankLatencyNs(*possible[0]) < question.incumbent_ns;
  if (question.confirms && is_new_best && possible.size() < 2) {
    answer.avoid = WorkersOf(attempts);
  } else {
    take(Slowest(possible));
  }
  return answer;
}

GuardAnswer ResultGuard::Ask(absl::Time now, const std::string& trial_id,
                             const Measurement& measurement, const GuardQuestion& question) {
  std::vector<Measurement>& attempts = attempts_[trial_id];
  attempts.push_back(measurement);
  if (!measurement.worker_address.empty()) {
    workers_at_[measurement.worker_address].insert(WorkerOf(measurement));
  }
  if (IsImpossible(measurement, question)) ++counts_.held;
  GuardAnswer answer = JudgeAttempts(attempts, question);
  if (!answer.taken.has_value()) AvoidNeighbours(attempts, answer.avoid);
  for (const std::string& liar : answer.liars) {
    // Told once, though the attempts may be judged again.
    if (IsPaused(now, liar)) continue;
    const int64_t count = ++counts_.lies[liar];
    const auto doublings = static_cast<double>(std::min<int64_t>(count - 1, kPauseDoublingsMax));
    paused_until_[liar] = now + kPause * std::exp2(doublings);
    answer.pauses.push_back({liar, paused_until_[liar], count});
  }
  if (!answer.taken.has_value()) return answer;
  if (attempts.size() > 1 && answer.taken->latencies() != nullptr) ++counts_.confirmed;
  attempts_.erase(trial_id);
  return answer;
}

void ResultGuard::AvoidNeighbours(absl::Span<const Measurement> attempts,
                                  std::vector<std::string>& avoid) const {
  for (const Measurement& attempt : attempts) {
    const auto neighbours = workers_at_.find(attempt.worker_address);
    if (neighbours == workers_at_.end()) continue;
    for (const std::string& worker : neighbours->second) {
      if (avoid.size() >= static_cast<size_t>(JobSpec::kAvoidedMax)) return;
      if (std::find(avoid.begin(), avoid.end(), worker) == avoid.end()) avoid.push_back(worker);
    }
  }
}

std::optional<Measurement> ResultGuard::GiveUp(const std::string& trial_id,
                                               const GuardQuestion& question) {
  const auto found = attempts_.extract(trial_id);
  if (found.empty()) return std::nullopt;
  GuardQuestion last = question;
  last.confirms = false;
  return JudgeAttempts(found.mapped(), last).taken;
}

bool ResultGuard::IsPaused(absl::Time now, const std::string& worker_id) const {
  const auto found = paused_until_.find(worker_id);
  return found != paused_until_.end() && now < found->second;
}

std::vector<std::string> ResultGuard::Paused(absl::Time now) const {
  std::vector<std::string> paused;
  for (const auto& [worker, until] : paused_until_) {
    if (now < until) paused.push_back(worker);
  }
  return paused;
}

}  // namespace burnish
