#include "base/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace burnish {

void ParallelFor(size_t count, int threads, absl::FunctionRef<void(size_t)> body) {
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) body(i);
  };
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < std::min(count, static_cast<size_t>(std::max(threads, 1))); ++i) {
    helpers.emplace_back(work);
  }
  work();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace burnish
