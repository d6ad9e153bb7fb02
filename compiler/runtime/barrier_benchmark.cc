// What the pool costs: a barrier between threads that arrive together, an empty parallel region
// while the workers spin, and one after they have fallen asleep.
//   bazel run //compiler/runtime:barrier_benchmark -- [thread_count]
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/usable_cpus.h"
#include "compiler/runtime/spin_wait.h"
#include "compiler/runtime/thread_pool.h"

namespace burnish {
namespace {

void Print(const char* name, std::vector<int64_t> samples_ns, int64_t divisor) {
  std::sort(samples_ns.begin(), samples_ns.end());
  std::printf("%-28s min %8.1f ns  median %8.1f ns  p90 %8.1f ns  (n = %zu)\n", name,
              static_cast<double>(samples_ns.front()) / divisor,
              static_cast<double>(samples_ns[samples_ns.size() / 2]) / divisor,
              static_cast<double>(samples_ns[samples_ns.size() * 9 / 10]) / divisor,
              samples_ns.size());
}

int Main(int thread_count) {
  ThreadPoolOptions options{.thread_count = thread_count};
  const std::vector<int> usable = UsableCpus();
  // Else fewer CPUs than threads.
  if (std::ssize(usable) >= thread_count) {
    options.cpus.assign(usable.begin(), usable.begin() + thread_count);
  }
  auto pool = ThreadPool::Create(options);
  if (!pool.ok()) {
    std::fprintf(stderr, "%s\n", pool.status().message().c_str());
    return 1;
  }

  constexpr int kSamples = 200, kBarriers = 10'000, kRegions = 1'000;
  std::vector<int64_t> barrier_ns(kSamples), region_ns(kSamples), asleep_ns(kSamples);
  for (int64_t& sample : barrier_ns) {
    (*pool)->Run([&](int worker) {
      (*pool)->barrier().Wait();
      const int64_t start_ns = MonotonicNs();
      for (int i = 0; i < kBarriers; ++i) (*pool)->barrier().Wait();
      if (worker == 0) sample = MonotonicNs() - start_ns;
    });
  }
  for (int64_t& sample : region_ns) {
    const int64_t start_ns = MonotonicNs();
    for (int i = 0; i < kRegions; ++i) (*pool)->Run([](int) {});
    sample = MonotonicNs() - start_ns;
  }
  for (int64_t& sample : asleep_ns) {
    usleep(1'000);  // Twenty times the idle spin: the workers sleep.
    const int64_t start_ns = MonotonicNs();
    (*pool)->Run([](int) {});
    sample = MonotonicNs() - start_ns;
  }
  std::printf("%d threads, %s\n", thread_count, options.cpus.empty() ? "not pinned" : "pinned");
  Print("barrier", barrier_ns, kBarriers);
  Print("region, workers spinning", region_ns, kRegions);
  Print("region, workers asleep", asleep_ns, 1);
  return 0;
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) { return burnish::Main(argc > 1 ? std::atoi(argv[1]) : 2); }
