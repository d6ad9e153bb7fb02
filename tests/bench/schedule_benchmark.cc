// Times hand-written schedules of single layers against the FMA peak (or, for the fully connected
// one, the DRAM bandwidth) of this machine, with cold weights: the gate that the IR must be able to
// say fast programs.
// usage: schedule_benchmark [THREADS] [FILTER] [avx2|host] [traces|defaults]
// `defaults` times the default schedules of the same layers instead.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "base/check.h"
#include "base/cpu_info.h"
#include "compiler/ir/lower.h"
#include "compiler/schedule/test_programs.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_text.h"
#include "compiler/target/device_model.h"
#include "compiler/target/target.h"
#include "tests/bench/kernel_timing.h"
#include "tuner/cost_model/analytic_model.h"
#include "tuner/sketch/default_schedule.h"

namespace burnish {
namespace {

struct Layer {
  const char* name;
  TestConvShape shape;
  const char* trace;
};

// The shapes of ResNet-50, batch 1 (He et al., CVPR 2016, table 1).
const Layer kLayers[] = {
    {"224 3-64 7x7 s2", {1, 224, 224, 3, 64, 7, 2, 3}, "stem7x7"},
    {"56 64-64 1x1", {1, 56, 56, 64, 64, 1, 1, 0}, "conv1x1"},
    {"56 64-64 3x3", {1, 56, 56, 64, 64, 3, 1, 1}, "conv3x3_s1"},
    {"56 64-256 1x1 res", {1, 56, 56, 64, 256, 1, 1, 0, true}, "conv1x1_residual"},
    {"56 256-64 1x1", {1, 56, 56, 256, 64, 1, 1, 0}, "conv1x1"},
    {"56 128-128 3x3 s2", {1, 56, 56, 128, 128, 3, 2, 1}, "conv3x3_s2"},
    {"28 128-512 1x1 res", {1, 28, 28, 128, 512, 1, 1, 0, true}, "conv1x1_residual"},
    {"28 128-128 3x3", {1, 28, 28, 128, 128, 3, 1, 1}, "conv3x3_s1"},
    {"14 256-1024 1x1 res", {1, 14, 14, 256, 1024, 1, 1, 0, true}, "conv1x1_residual"},
    {"14 1024-256 1x1", {1, 14, 14, 1024, 256, 1, 1, 0}, "conv1x1"},
    {"14 256-256 3x3", {1, 14, 14, 256, 256, 3, 1, 1}, "conv3x3_s1"},
    {"14 512-512 3x3 s2", {1, 14, 14, 512, 512, 3, 2, 1}, "conv3x3_s2"},
    {"7 512-2048 1x1 res", {1, 7, 7, 512, 2048, 1, 1, 0, true}, "conv1x1_residual"},
    {"7 512-512 3x3", {1, 7, 7, 512, 512, 3, 1, 1}, "conv3x3_s1"},
    {"56 64-64 winograd t", {1, 56, 56, 64, 64, 3, 1, 1}, "winograd_f4_tiles"},
    {"14 256-256 winograd c", {1, 14, 14, 256, 256, 3, 1, 1}, "winograd_f4_channels"},
};

std::string ReadTrace(const std::string& path) {
  std::ifstream file(path);
  CHECK(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

int Main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const std::string filter = argc > 2 ? argv[2] : "";
  const bool avx2 = argc > 3 && std::string(argv[3]) == "avx2";
  const CpuInfo cpu = HostCpuInfo();
  const bool wide = cpu.Has("avx512f") && !avx2;
  const bool defaults = argc > 4 && std::string(argv[4]) == "defaults";
  const DeviceModel device = DeviceModelOf(BenchTarget(threads, avx2));
  const double peak = FmaPeak(wide ? 16 : 8, threads);
  std::printf("%s, %d threads, FMA peak %.1f GFLOP/s\n", cpu.brand.c_str(), threads, peak);
  const std::string folder = std::string("compiler/schedule/testdata/") + (wide ? "avx512/" : "");
  for (const Layer& layer : kLayers) {
    if (std::string(layer.name).find(filter) == std::string::npos) continue;
    if (defaults && std::strncmp(layer.trace, "winograd", 8) == 0) continue;
    const bool winograd = std::strncmp(layer.trace, "winograd", 8) == 0;
    const Program program = winograd ? WinogradProgram(layer.shape) : ConvProgram(layer.shape);
    const double started = Seconds();
    const auto trace = defaults ? absl::StatusOr<Trace>(DefaultSchedule(program, device))
                                : ParseTrace(ReadTrace(folder + layer.trace + ".trace"));
    CHECK_OK(trace);
    const double choose_ms = (Seconds() - started) * 1e3;
    auto scheduled = ApplyTrace(*trace, program);
    CHECK_OK(scheduled);
    auto lowered = Lower(*scheduled);
    CHECK_OK(lowered);
    const double predicted = AnalyticSeconds(*lowered, device, threads);
    const double before = Seconds();
    Compiled compiled = Compile(*lowered, !wide);
    const double compile_ms = (Seconds() - before) * 1e3;
    const double seconds = Time(compiled, threads);
    const TestConvShape& s = layer.shape;
    const double out = static_cast<double>(((s.h + 2 * s.pad - s.k) / s.stride + 1) *
                                           ((s.w + 2 * s.pad - s.k) / s.stride + 1));
    const double flops = 2 * out * static_cast<double>(s.co * s.ci * s.k * s.k);
    const KernelInfo& info = compiled.info;
    std::printf(
        "%-22s %8.1f us %7.1f GFLOP/s %5.1f %% of peak  model %8.1f us  inner spills %3d  "
        "code %5d  compile %.0f ms  choose %.0f ms\n",
        layer.name, seconds * 1e6, flops / seconds * 1e-9, 100 * flops / seconds * 1e-9 / peak,
        predicted * 1e6, static_cast<int>(info.innermost_spill_count),
        static_cast<int>(info.code_bytes), compile_ms, choose_ms);
    if (defaults) std::printf("%s", PrintTrace(*trace).c_str());
    std::fflush(stdout);
  }
  if (filter.empty() || filter == "fc") {
    const double bandwidth = ReadBandwidth(threads);
    const Program program = DenseProgram(1, 2048, 1000);
    const auto trace = defaults ? absl::StatusOr<Trace>(DefaultSchedule(program, device))
                                : ParseTrace(ReadTrace(folder + "dense.trace"));
    CHECK_OK(trace);
    auto scheduled = ApplyTrace(*trace, program);
    CHECK_OK(scheduled);
    auto lowered = Lower(*scheduled);
    CHECK_OK(lowered);
    Compiled compiled = Compile(*lowered, !wide);
    const double seconds = Time(compiled, threads);
    const double rate = 2048.0 * 1000 * 4 / seconds * 1e-9;
    std::printf("%-22s %8.1f us %7.1f GB/s %5.1f %% of the measured %.1f GB/s\n", "fc 2048-1000",
                seconds * 1e6, rate, 100 * rate / bandwidth, bandwidth);
    if (defaults) std::printf("%s", PrintTrace(*trace).c_str());
  }
  return 0;
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) { return burnish::Main(argc, argv); }
