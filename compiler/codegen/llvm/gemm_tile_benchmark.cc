// How near a register tile gets to the FMA peak of one core, with its panels in L1. Prints one line
// per tile; kernel and peak are timed in turn, the fastest of each counts.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/cpu_info.h"
#include "base/unit_loops.h"
#include "compiler/codegen/llvm/llvm_backend.h"
#include "compiler/codegen/test_programs.h"
#include "compiler/runtime/shared_object.h"
#include "compiler/target/cpu_names.h"

namespace burnish {
namespace {

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Result {
  double gflops = 0, peak_gflops = 0, compile_ms = 0;
};

Result Measure(const Program& program, const GemmTile& tile, const BurnishKernel kernel) {
  const int64_t rows = tile.rows, columns = tile.columns;
  std::vector<std::vector<float>> data = {std::vector<float>(rows * tile.depth + 64, 0.5f),
                                          std::vector<float>(columns * tile.depth + 64, 0.25f),
                                          std::vector<float>(rows * columns + 64)};
  std::vector<void*> buffers;
  for (auto& values : data) {
    buffers.push_back(
        reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(values.data()) + 63) / 64 * 64));
  }
  const BurnishKernelContext context = {
      .abi_version = BURNISH_KERNEL_ABI_VERSION, .buffer_count = 3, .buffers = buffers.data()};
  const double flops = 2.0 * static_cast<double>(rows * columns * tile.depth);
  const int calls = std::max(1, static_cast<int>(2e7 / flops));
  const UnitLoop* const loop = FindUnitLoop("fma_f32x" + std::to_string(tile.lanes));
  CHECK(loop != nullptr) << tile.lanes << " lanes";
  constexpr int64_t kIterations = 60'000;
  Result best;
  // Both at the same vector width, so that both meet the same clock.
  for (int repeat = 0; repeat < 100; ++repeat) {
    double start = Seconds();
    for (int i = 0; i < calls; ++i) CHECK_EQ(kernel(&context, 0, 1), 0);
    best.gflops = std::max(best.gflops, flops * calls / (Seconds() - start) * 1e-9);
    start = Seconds();
    loop->run(kIterations, /*with_loads=*/false);
    const auto operations = static_cast<double>(loop->operations * kIterations);
    best.peak_gflops = std::max(best.peak_gflops, operations / (Seconds() - start) * 1e-9);
  }
  return best;
}

void Run(Backend& backend, const CpuInfo& cpu, const GemmTile& tile) {
  CodegenTarget target{.tune_cpu = LlvmCpuName(cpu)};
  for (const std::string& feature : cpu.features) {
    // A tile of 8 lanes is measured as a CPU without AVX-512 would run it.
    if (tile.lanes < 16 && feature.rfind("avx512", 0) == 0) continue;
    target.features.push_back(feature);
  }
  const Program program = GemmTileProgram(tile);
  const double start = Seconds();
  auto module = backend.Compile(target, {{.program = &program}});
  const double compile_ms = (Seconds() - start) * 1e3;
  CHECK_OK(module);
  auto library = SharedObject::Load(module->elf);
  CHECK(library.ok());
  auto kernel = library->Kernel(module->kernels[0].symbol);
  CHECK(kernel.ok());
  const Result result = Measure(program, tile, *kernel);
  std::printf(
      "%2d x %2d  k %3d /%d  %s  %6.1f GFLOP/s  %5.1f %% of %6.1f  spills %3d (innermost %d)  "
      "code %5d B  compile %.1f ms\n",
      static_cast<int>(tile.rows), static_cast<int>(tile.columns), static_cast<int>(tile.depth),
      static_cast<int>(tile.depth_unroll), tile.rows_inside ? "rows inside   " : "columns inside",
      result.gflops, 100 * result.gflops / result.peak_gflops, result.peak_gflops,
      static_cast<int>(module->kernels[0].spill_count),
      static_cast<int>(module->kernels[0].innermost_spill_count),
      static_cast<int>(module->kernels[0].code_bytes), compile_ms);
}

int Main() {
  const CpuInfo cpu = HostCpuInfo();
  const auto backend = MakeLlvmBackend();
  std::printf("%s (%s)\n", cpu.brand.c_str(), LlvmCpuName(cpu).c_str());
  for (const bool rows_inside : {false, true}) {
    for (const auto& [rows, columns] :
         std::vector<std::pair<int, int>>{{6, 16}, {5, 16}, {4, 16}, {4, 24}, {3, 32}, {7, 16}}) {
      if (!cpu.Has("fma")) continue;
      Run(*backend, cpu,
          {.rows = rows, .columns = columns, .lanes = 8, .rows_inside = rows_inside});
    }
    for (const auto& [rows, columns] : std::vector<std::pair<int, int>>{
             {14, 32}, {12, 32}, {8, 48}, {6, 64}, {4, 96}, {28, 16}}) {
      if (!cpu.Has("avx512f")) continue;
      // Panels in L1: 192 floats deep.
      Run(*backend, cpu,
          {.rows = rows, .columns = columns, .lanes = 16, .depth = 64, .rows_inside = rows_inside});
    }
  }
  return 0;
}

}  // namespace
}  // namespace burnish

int main() { return burnish::Main(); }
