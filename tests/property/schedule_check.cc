#include "tests/property/schedule_check.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/cpu_info.h"
#include "base/status_macros.h"
#include "compiler/codegen/kernel_runner.h"
#include "compiler/codegen/llvm/llvm_backend.h"
#include "compiler/ir/verifier.h"

namespace burnish {
namespace {

absl::Status Compare(const std::vector<TensorValue>& got, const std::vector<TensorValue>& want,
                     double relative) {
  if (got.size() != want.size()) {
    return absl::InternalError(absl::StrCat("got ", got.size(), " outputs, want ", want.size()));
  }
  for (size_t t = 0; t < want.size(); ++t) {
    const TensorValue &g = got[t], &w = want[t];
    if (g.floats.size() != w.floats.size() || g.integers.size() != w.integers.size()) {
      return absl::InternalError(absl::StrCat("output ", t, " has another size"));
    }
    for (size_t i = 0; i < w.integers.size(); ++i) {
      if (g.integers[i] == w.integers[i]) continue;
      return absl::InternalError(absl::StrCat("output ", t, " element ", i, ": got ", g.integers[i],
                                              ", want ", w.integers[i]));
    }
    for (size_t i = 0; i < w.floats.size(); ++i) {
      if (std::isnan(g.floats[i]) && std::isnan(w.floats[i])) continue;
      if (g.floats[i] == w.floats[i]) continue;
      const double allowed = relative * std::max(std::abs(w.floats[i]), w.magnitudes[i]);
      if (std::abs(g.floats[i] - w.floats[i]) <= allowed) continue;
      return absl::InternalError(absl::StrCat("output ", t, " element ", i, ": got ", g.floats[i],
                                              ", want ", w.floats[i], " +- ", allowed));
    }
  }
  return absl::OkStatus();
}

absl::Status Named(const char* what, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(what, ": ", status.message()));
}

}  // namespace

absl::Status CompareTensors(const std::vector<TensorValue>& got,
                            const std::vector<TensorValue>& want, int64_t term_count) {
  return Compare(got, want, 4 * std::ldexp(1.0, -24) * std::sqrt(static_cast<double>(term_count)));
}

absl::StatusOr<std::vector<TensorValue>> ExpectedResults(const RandomProgram& defined,
                                                         const Program& scheduled) {
  ASSIGN_OR_RETURN(std::vector<TensorValue> want,
                   Interpret(defined.program, defined.arguments, {.magnitudes = true}));
  if (scheduled.numerics == defined.program.numerics) return want;
  ASSIGN_OR_RETURN(const std::vector<TensorValue> other,
                   Interpret(scheduled, defined.arguments, {.magnitudes = true}));
  for (size_t t = 0; t < want.size() && t < other.size(); ++t) {
    for (size_t i = 0; i < want[t].magnitudes.size(); ++i) {
      want[t].magnitudes[i] = std::max(want[t].magnitudes[i], other[t].magnitudes[i]);
    }
  }
  return want;
}

absl::Status CheckInterpreted(const RandomProgram& defined, const std::vector<TensorValue>& want,
                              const Program& scheduled, const Program& lowered) {
  constexpr double kDouble = 1e-12;
  RETURN_IF_ERROR(Named("verify scheduled", Verify(scheduled)));
  const auto from_scheduled = Interpret(scheduled, defined.arguments);
  RETURN_IF_ERROR(Named("interpret scheduled", from_scheduled.status()));
  RETURN_IF_ERROR(Named("scheduled", Compare(*from_scheduled, want, kDouble)));
  RETURN_IF_ERROR(Named("verify lowered", Verify(lowered)));
  for (int workers = 1; workers <= 3; ++workers) {
    const auto from_lowered = Interpret(lowered, defined.arguments, {.workers = workers});
    RETURN_IF_ERROR(Named("interpret lowered", from_lowered.status()));
    RETURN_IF_ERROR(Named("lowered", Compare(*from_lowered, want, kDouble)));
  }
  return absl::OkStatus();
}

std::vector<absl::Status> CheckCompiled(const CodegenTarget& target,
                                        const std::vector<CompiledCase>& cases, Backend* by) {
  std::vector<KernelSource> sources;
  for (size_t i = 0; i < cases.size(); ++i) {
    sources.push_back(
        {.symbol = absl::StrCat(BURNISH_KERNEL_PREFIX, i), .program = cases[i].lowered});
  }
  auto module = (by != nullptr ? *by : *MakeLlvmBackend()).Compile(target, sources);
  if (!module.ok() && cases.size() > 1) {
    // Which one it is.
    std::vector<absl::Status> results;
    for (const CompiledCase& c : cases) results.push_back(CheckCompiled(target, {c}, by)[0]);
    return results;
  }
  if (!module.ok()) {
    return std::vector<absl::Status>(cases.size(), Named("compile", module.status()));
  }
  auto runner = KernelRunner::Load(*std::move(module));
  if (!runner.ok()) return std::vector<absl::Status>(cases.size(), Named("load", runner.status()));
  std::vector<absl::Status> results;
  for (size_t i = 0; i < cases.size(); ++i) {
    const CompiledCase& c = cases[i];
    absl::Status status;
    for (int workers = 1; workers <= 3 && status.ok(); ++workers) {
      const auto got = runner->Run(*c.lowered, c.defined->arguments, workers, static_cast<int>(i));
      status = got.ok() ? CompareTensors(*got, *c.want, c.defined->term_count) : got.status();
      status = Named(absl::StrCat("compiled, ", workers, " workers").c_str(), status);
    }
    results.push_back(status);
  }
  return results;
}

std::vector<CodegenTarget> HostTargets(bool of_bf16) {
  const std::vector<std::string> sse42 = {"cx16", "popcnt", "sahf",   "sse",   "sse2",
                                          "sse3", "ssse3",  "sse4.1", "sse4.2"};
  std::vector<std::string> avx2 = sse42;
  for (const char* f : {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}) {
    avx2.push_back(f);
  }
  std::vector<std::string> avx512 = avx2;
  for (const char* f : {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}) {
    avx512.push_back(f);
  }
  std::vector<std::string> avx512bf16 = avx512;
  avx512bf16.push_back("avx512bf16");
  const CpuInfo cpu = HostCpuInfo();
  std::vector<CodegenTarget> targets;
  for (const auto& features :
       {sse42, avx2, of_bf16 && cpu.Has("avx512bf16") ? avx512bf16 : avx512}) {
    const bool has = std::all_of(features.begin(), features.end(),
                                 [&](const std::string& f) { return cpu.Has(f); });
    if (has) targets.push_back({.features = features});
  }
  return targets;
}

}  // namespace burnish
