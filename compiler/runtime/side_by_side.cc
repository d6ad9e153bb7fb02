#include "compiler/runtime/side_by_side.h"

#include <algorithm>

#include "base/usable_cpus.h"

namespace burnish {

std::vector<ThreadPoolOptions> ShareOut(const SideBySide& wanted,
                                        const ThreadPoolOptions& options) {
  const auto cpu_count = static_cast<int64_t>(wanted.cpus.size());
  ThreadPoolOptions each = options;
  each.thread_count = wanted.thread_count;
  if (each.thread_count == 0) {
    each.thread_count = static_cast<int>(std::max<int64_t>(1, cpu_count / wanted.pool_count));
  }
  const bool is_enough = int64_t{each.thread_count} * wanted.pool_count <= cpu_count;
  if (!is_enough) each.barrier_spin_ns = each.idle_spin_ns = 0;
  std::vector<ThreadPoolOptions> all(wanted.pool_count, each);
  for (int i = 0; i < wanted.pool_count && is_enough && wanted.may_pin; ++i) {
    const auto first = wanted.cpus.begin() + int64_t{i} * each.thread_count;
    all[i].cpus.assign(first, first + each.thread_count);
  }
  return all;
}

SideBySide SideBySideHere(int pool_count, int thread_count) {
  SideBySide wanted{.pool_count = pool_count, .thread_count = thread_count, .cpus = UsableCpus()};
  const auto time = static_cast<size_t>(UsableCpuCount());
  if (time < wanted.cpus.size()) {
    wanted.cpus.resize(time);
    wanted.may_pin = false;
  }
  return wanted;
}

}  // namespace burnish
