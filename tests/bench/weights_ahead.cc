// What any prefetch of a step's weights could win: a bundle's steps with all of their weights read
// into the last-level cache before the step's clock starts, and without, in turn. The last step and
// the first are left out. A prefetch would share the way to memory with the step before: it wins
// less. With KIB the first of each of a step's weights alone, as a panel is.
// usage: weights_ahead BUNDLE [THREADS] [RUNS] [KIB]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"
#include "compiler/driver/to_status.h"
#include "compiler/runtime/model.h"
#include "compiler/runtime/session.h"
#include "compiler/runtime/thread_pool.h"

namespace burnish {
namespace {

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Bytes {
  const volatile uint8_t* data = nullptr;
  uint64_t size = 0;
};

// By step; of the session's memory.
std::vector<std::vector<Bytes>> WeightsOf(Session& session) {
  const BundleManifest& manifest = session.manifest();
  std::vector<std::vector<Bytes>> weights(manifest.steps.size());
  const RuntimeStatus status = session.RunObserved([&](size_t s, std::span<void* const> buffers) {
    const ModelStep& step = manifest.steps[s];
    for (size_t b = 0; b < step.buffers.size(); ++b) {
      if (step.buffers[b].region != Region::kWeights) continue;
      weights[s].push_back({static_cast<const volatile uint8_t*>(buffers[b]),
                            manifest.kernels[step.kernel].compute.buffers[b].size_bytes});
    }
  });
  CHECK_OK(ToStatus(status));
  return weights;
}

int Main(int argc, char** argv) {
  const int threads = argc > 2 ? std::atoi(argv[2]) : 2;
  const int runs = argc > 3 ? std::atoi(argv[3]) : 200;
  const uint64_t most = argc > 4 ? std::strtoull(argv[4], nullptr, 10) * 1024 : UINT64_MAX;
  auto model = Model::LoadFile(argv[1], {});
  CHECK_OK(ToStatus(model.status()));
  std::vector<int> cpus;
  for (int i = 0; i < threads; ++i) cpus.push_back(i);
  auto pool = ThreadPool::Create({.thread_count = threads, .cpus = cpus});
  CHECK_OK(ToStatus(pool.status()));
  auto session = Session::Create(*model, std::shared_ptr<ThreadPool>(std::move(*pool)));
  CHECK_OK(ToStatus(session.status()));
  const std::vector<std::vector<Bytes>> weights = WeightsOf(**session);
  const size_t steps = weights.size();
  // [read ahead or not][step]: seconds, of each run. The first step has nothing before it.
  std::vector<std::vector<std::vector<double>>> times(2, std::vector<std::vector<double>>(steps));
  for (int run = 0; run < 2 * runs; ++run) {
    const bool ahead = run % 2 == 1;
    double start = 0;
    const RuntimeStatus status = (*session)->RunObserved([&](size_t s, std::span<void* const>) {
      if (s > 0) times[ahead][s].push_back(Seconds() - start);
      if (ahead && s + 1 < steps) {
        for (const Bytes& bytes : weights[s + 1]) {
          for (uint64_t at = 0; at < std::min(bytes.size, most); at += 64) (void)bytes.data[at];
        }
      }
      start = Seconds();
    });
    CHECK_OK(ToStatus(status));
  }
  double sums[2] = {};
  for (size_t s = 1; s + 1 < steps; ++s) {
    double middle[2];
    for (int ahead = 0; ahead < 2; ++ahead) {
      std::vector<double>& each = times[ahead][s];
      std::nth_element(each.begin(), each.begin() + each.size() / 2, each.end());
      sums[ahead] += middle[ahead] = each[each.size() / 2];
    }
    uint64_t bytes = 0;
    for (const Bytes& weight : weights[s]) bytes += weight.size;
    std::printf("%8.1f us %8.1f ahead %6.3f  %8.1f KiB  %s\n", middle[0] * 1e6, middle[1] * 1e6,
                middle[1] / middle[0], static_cast<double>(bytes) / 1024,
                (*session)->manifest().steps[s].name.c_str());
  }
  std::printf("sum of medians %.3f ms, with weights read ahead %.3f: %.3f\n", sums[0] * 1e3,
              sums[1] * 1e3, sums[1] / sums[0]);
  return 0;
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) { return burnish::Main(argc, argv); }
