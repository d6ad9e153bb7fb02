#include "tuner/app/throughput.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/usable_cpus.h"
#include "compiler/driver/to_status.h"
#include "compiler/runtime/spin_wait.h"

namespace burnish {

absl::StatusOr<Throughput> MeasureThroughput(int session_count, absl::Duration duration,
                                             const RunSession& run) {
  CHECK(session_count > 0);
  std::barrier start(session_count);
  std::atomic<bool> has_failed{false};
  std::mutex mutex;
  absl::Status failure;
  std::vector<int64_t> latency_ns;
  int64_t first_ns = 0, last_ns = 0;
  const auto work = [&](int session) {
    absl::Status status = run(session);
    if (!status.ok()) has_failed = true;
    start.arrive_and_wait();
    std::vector<int64_t> own_ns;
    const int64_t begin_ns = MonotonicNs();
    const int64_t end_ns = begin_ns + absl::ToInt64Nanoseconds(duration);
    int64_t now_ns = begin_ns;
    while (!has_failed && (own_ns.empty() || now_ns < end_ns)) {
      status = run(session);
      if (!status.ok()) has_failed = true;
      const int64_t then_ns = std::exchange(now_ns, MonotonicNs());
      own_ns.push_back(std::max<int64_t>(now_ns - then_ns, 1));
    }
    const std::lock_guard<std::mutex> lock(mutex);
    failure.Update(status);
    latency_ns.insert(latency_ns.end(), own_ns.begin(), own_ns.end());
    first_ns = first_ns == 0 ? begin_ns : std::min(first_ns, begin_ns);
    last_ns = std::max(last_ns, now_ns);
  };
  std::vector<std::thread> threads;
  for (int session = 0; session < session_count; ++session) threads.emplace_back(work, session);
  for (std::thread& thread : threads) thread.join();
  if (!failure.ok()) return failure;
  const double seconds = static_cast<double>(std::max<int64_t>(last_ns - first_ns, 1)) * 1e-9;
  return Throughput{.runs_per_second = static_cast<double>(latency_ns.size()) / seconds,
                    .latency = Summarize(std::move(latency_ns))};
}

absl::StatusOr<Throughput> MeasureThroughput(absl::Span<const std::unique_ptr<Session>> sessions,
                                             absl::Duration duration) {
  return MeasureThroughput(static_cast<int>(sessions.size()), duration, [&](int session) {
    static thread_local bool is_pinned = false;
    const std::vector<int>& cpus = sessions[session]->pool()->cpus();
    // As a server's threads would be.
    if (!is_pinned && !cpus.empty()) is_pinned = MoveToCpus(0, {cpus.front()});
    return ToStatus(sessions[session]->Run());
  });
}

}  // namespace burnish
