#include "tests/bench/kernel_timing.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/cpu_info.h"
#include "base/unit_loops.h"
#include "compiler/codegen/llvm/llvm_backend.h"
#include "compiler/runtime/huge_page_arena.h"
#include "compiler/runtime/time_kernel.h"
#include "compiler/target/cpu_names.h"

namespace burnish {
namespace {

constexpr int64_t kColdBytes = int64_t{100} << 20;  // Of copies of the weights.
constexpr int64_t kGapBytes = 512;                  // At most, between two buffers.

}  // namespace

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double FmaPeak(int lanes, int threads) {
  const UnitLoop* const loop = FindUnitLoop("fma_f32x" + std::to_string(lanes));
  CHECK(loop != nullptr) << lanes << " lanes";
  // About 10 ms.
  constexpr int64_t kIterations = 3'000'000;
  double best = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    std::vector<double> rate(threads);
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; ++t) {
      pool.emplace_back([&rate, t, loop] {
        const double start = Seconds();
        loop->run(kIterations, /*with_loads=*/false);
        rate[t] = static_cast<double>(loop->operations * kIterations) / (Seconds() - start) * 1e-9;
      });
    }
    double sum = 0;
    for (int t = 0; t < threads; ++t) {
      pool[t].join();
      sum += rate[t];
    }
    best = std::max(best, sum);
  }
  return best;
}

double ReadBandwidth(int threads) {
  const size_t bytes = size_t{256} << 20;
  auto arena = HugePageArena::Allocate(bytes);
  CHECK(arena.ok());
  std::memset(arena->bytes().data(), 1, bytes);
  double best = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    std::vector<std::thread> pool;
    const double start = Seconds();
    for (int t = 0; t < threads; ++t) {
      pool.emplace_back([&, t] {
        const auto* data =
            reinterpret_cast<const uint64_t*>(arena->bytes().data()) + t * (bytes / 8 / threads);
        uint64_t sum[8] = {};
        for (size_t i = 0; i < bytes / 8 / threads; i += 8) {
          for (int j = 0; j < 8; ++j) sum[j] += data[i + j];
        }
        volatile uint64_t sink =
            sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
        (void)sink;
      });
    }
    for (std::thread& thread : pool) thread.join();
    best = std::max(best, static_cast<double>(bytes) / (Seconds() - start) * 1e-9);
  }
  return best;
}

Target BenchTarget(int threads, bool avx2) {
  auto target = HostTarget(HostCpuInfo(), threads);
  CHECK_OK(target);
  if (avx2) {
    std::erase_if(target->features,
                  [](const std::string& name) { return name.rfind("avx512", 0) == 0; });
  }
  return *std::move(target);
}

Compiled Compile(const Program& lowered, bool avx2) {
  const CpuInfo cpu = HostCpuInfo();
  CodegenTarget target{.tune_cpu = LlvmCpuName(cpu)};
  for (const std::string& feature : cpu.features) {
    if (avx2 && feature.rfind("avx512", 0) == 0) continue;
    target.features.push_back(feature);
  }
  auto module = MakeLlvmBackend()->Compile(target, {{.program = &lowered}});
  CHECK_OK(module);
  auto library = SharedObject::Load(module->elf);
  CHECK(library.ok());
  return {*std::move(library), module->kernels[0], lowered};
}

double Time(Compiled& compiled, int threads) {
  const KernelInfo& info = compiled.info;
  int64_t weight_bytes = 0;
  std::vector<bool> weight;
  for (const std::string& name : info.buffer_names) {
    const BufferId id = FindBuffer(compiled.lowered, name);
    const Buffer& buffer = compiled.lowered.buffers[id];
    // Also where no schedule packs them: read in place they would lie in a cache. Tables of indices
    // are small.
    weight.push_back(buffer.role == BufferRole::kPacked ||
                     (buffer.role == BufferRole::kConstant && IsFloat(buffer.dtype)));
  }
  for (size_t i = 0; i < weight.size(); ++i) {
    if (weight[i]) weight_bytes += info.buffer_bytes[i];
  }
  const int copies =
      weight_bytes == 0 ? 1 : static_cast<int>(kColdBytes / (weight_bytes + kGapBytes) + 1);
  int64_t total = 1 << 22;
  for (size_t i = 0; i < weight.size(); ++i) {
    total += (weight[i] ? copies : 1) * (info.buffer_bytes[i] + kGapBytes);
  }
  total += threads * (info.scratch_bytes + 8192) + info.shared_scratch_bytes;
  auto arena = HugePageArena::Allocate(total);
  CHECK(arena.ok());
  auto* floats = reinterpret_cast<float*>(arena->bytes().data());
  for (int64_t i = 0; i < total / 4; ++i) floats[i] = static_cast<float>(i % 17) * 0.125f - 1;
  char* next = reinterpret_cast<char*>(arena->bytes().data());
  const auto take = [&](int64_t bytes) {
    char* at = next;
    next += (bytes + 63) / 64 * 64 + 64 * 5;  // At most kGapBytes more.
    return at;
  };
  std::vector<void*> shared;
  for (size_t i = 0; i < weight.size(); ++i) {
    shared.push_back(weight[i] ? nullptr : take(info.buffer_bytes[i]));
    const Buffer& buffer =
        compiled.lowered.buffers[FindBuffer(compiled.lowered, info.buffer_names[i])];
    // Indices into tables: 0 is in all of them.
    if (!weight[i] && !IsFloat(buffer.dtype)) {
      std::memset(shared[i], 0, static_cast<size_t>(info.buffer_bytes[i]));
    }
  }
  void* scratch = take(threads * info.scratch_bytes + 4096);
  void* shared_scratch = take(info.shared_scratch_bytes + 64);
  std::vector<std::vector<void*>> buffers(copies, shared);
  std::vector<BurnishKernelContext> contexts;
  for (int c = 0; c < copies; ++c) {
    for (size_t i = 0; i < weight.size(); ++i) {
      if (weight[i]) buffers[c][i] = take(info.buffer_bytes[i]);
    }
    BurnishKernelContext context{};
    context.buffer_count = static_cast<uint32_t>(buffers[c].size());
    context.buffers = buffers[c].data();
    context.scratch = static_cast<decltype(context.scratch)>(scratch);
    context.scratch_bytes_per_worker = info.scratch_bytes;
    context.shared_scratch = static_cast<decltype(context.shared_scratch)>(shared_scratch);
    contexts.push_back(context);
  }
  auto kernel = compiled.library.Kernel(compiled.info.symbol);
  CHECK(kernel.ok());
  auto pool = ThreadPool::Create({.thread_count = threads});
  CHECK(pool.ok());
  auto timing =
      TimeKernel(**pool, *kernel, contexts, {.repeat_min_ns = 2'000'000, .repeat_count = 100});
  CHECK(timing.ok());
  std::sort(timing->latency_ns.begin(), timing->latency_ns.end());
  return static_cast<double>(timing->latency_ns[0]) * 1e-9;
}

}  // namespace burnish
