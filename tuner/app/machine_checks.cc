#include "tuner/app/machine_checks.h"

#include <immintrin.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/cpu_info.h"
#include "base/file.h"
#include "base/own_user.h"
#include "base/sandbox.h"
#include "compiler/target/cpu_names.h"
#include "tuner/app/value_text.h"

namespace burnish {
namespace {

constexpr int64_t kFileBytesMax = 4 << 20;
constexpr int64_t kMemoryWanted = int64_t{4} << 30;  // A model, its bundle, builder and tuner.
constexpr int64_t kDiskWanted = int64_t{2} << 30;
// Shares of all CPUs over the sample. With a tenth busy one thread in ten is disturbed at any time;
// what the hypervisor takes shows as time that nothing here can explain, so a hundredth is enough
// for a warning. Choices; not tuned.
constexpr double kBusyShareMax = 0.1;
constexpr double kStealShareMax = 0.01;

// Empty where there is none.
std::string ReadText(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path, kFileBytesMax);
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

// Jiffies since the start, in the order of proc(5).
std::vector<double> CpuTimes(absl::string_view stat) {
  const absl::string_view line = stat.substr(0, stat.find('\n'));
  std::vector<double> times;
  for (absl::string_view field : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
    double value = 0;
    if (absl::SimpleAtod(field, &value)) times.push_back(value);
  }
  return times;
}

}  // namespace

absl::string_view CheckResultName(CheckResult result) {
  switch (result) {
    case CheckResult::kOk:
      return "ok";
    case CheckResult::kWarning:
      return "warning";
    case CheckResult::kFailure:
      return "failure";
  }
  return "?";
}

MachineCheck CheckCpu() {
  const CpuInfo cpu = HostCpuInfo();
  MachineCheck check{.name = "cpu"};
  std::vector<absl::string_view> sets;
  for (const char* name : {"sse4.2", "avx2", "fma", "avx512f"}) {
    if (cpu.Has(name)) sets.push_back(name);
  }
  check.detail = absl::StrCat(cpu.brand, " (", LlvmCpuName(cpu), "), ", absl::StrJoin(sets, " "));
  if (!cpu.Has("sse4.2")) {
    check.result = CheckResult::kFailure;
    check.cure = "a CPU with SSE4.2 at least is needed";
  } else if (!cpu.Has("fma") || !cpu.Has("avx2")) {
    check.result = CheckResult::kWarning;
    check.cure = "without AVX2 and FMA code is several times slower; a hypervisor may hide them";
  }
  return check;
}

MachineCheck CheckSiblings() {
  const CpuInfo cpu = HostCpuInfo();
  MachineCheck check{.name = "cores",
                     .detail = absl::StrCat(cpu.physical_core_count(), " cores, ",
                                            cpu.logical_cpu_count(), " logical CPUs")};
  // A warning only: nothing is wrong as long as the second thread of a core is idle.
  if (cpu.logical_cpu_count() > cpu.physical_core_count()) {
    check.result = CheckResult::kWarning;
    check.cure =
        "two threads of a core disturb each other: Burnish uses one a core; keep others off, or "
        "echo off > /sys/devices/system/cpu/smt/control";
  }
  return check;
}

MachineCheck CheckGovernor(const MachineRoots& roots) {
  const std::string governor =
      ReadText(roots.sys + "/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  MachineCheck check{.name = "governor", .detail = governor.empty() ? "not visible" : governor};
  if (!governor.empty() && governor != "performance") {
    check.result = CheckResult::kWarning;
    check.cure = "cpupower frequency-set -g performance";
  }
  return check;
}

MachineCheck CheckHugePages(const MachineRoots& roots) {
  const std::string text = ReadText(roots.sys + "/kernel/mm/transparent_hugepage/enabled");
  MachineCheck check{.name = "huge pages", .detail = text.empty() ? "not there" : text};
  if (text.empty() || absl::StrContains(text, "[never]")) {
    check.result = CheckResult::kWarning;
    check.cure = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled";
  }
  return check;
}

MachineCheck CheckMemory(const MachineRoots& roots) {
  MachineCheck check{.name = "memory"};
  const std::string text = ReadText(roots.proc + "/meminfo");
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ', absl::SkipEmpty());
    int64_t kib = 0;
    if (fields.size() < 2 || fields[0] != "MemAvailable:" || !absl::SimpleAtoi(fields[1], &kib)) {
      continue;
    }
    check.detail = absl::StrCat(FormatBytes(static_cast<double>(kib) * 1024), " available");
    if (kib * 1024 < kMemoryWanted) {
      check.result = CheckResult::kWarning;
      check.cure = absl::StrCat(FormatBytes(static_cast<double>(kMemoryWanted)),
                                " are comfortable: close other programs");
    }
    return check;
  }
  check.detail = "not known";
  return check;
}

MachineCheck JudgeInterference(absl::string_view before, absl::string_view after) {
  MachineCheck check{.name = "interference"};
  const std::vector<double> first = CpuTimes(before), second = CpuTimes(after);
  constexpr size_t kIdle = 3, kIoWait = 4, kSteal = 7, kFields = 8;
  double total = 0;
  if (first.size() >= kFields && second.size() >= kFields) {
    for (size_t i = 0; i < kFields; ++i) total += second[i] - first[i];
  }
  if (total <= 0) {
    check.detail = "not known";
    return check;
  }
  const auto share = [&](size_t i) { return (second[i] - first[i]) / total; };
  const double steal = share(kSteal);
  const double busy = 1 - share(kIdle) - share(kIoWait) - steal;
  check.detail = absl::StrFormat("%.0f %% busy, %.1f %% stolen", 100 * busy, 100 * steal);
  // First, as the user cannot end it: "something else is running" would send them to look for a
  // program of their own.
  if (steal > kStealShareMax) {
    check.result = CheckResult::kWarning;
    check.cure = "other guests take this machine's CPUs: times will scatter; use a dedicated host";
  } else if (busy > kBusyShareMax) {
    check.result = CheckResult::kWarning;
    check.cure = "something else is running (top shows what): end it, or times will scatter";
  }
  return check;
}

MachineCheck CheckInterference(const MachineRoots& roots, absl::Duration sample) {
  const std::string before = ReadText(roots.proc + "/stat");
  std::this_thread::sleep_for(absl::ToChronoNanoseconds(sample));
  return JudgeInterference(before, ReadText(roots.proc + "/stat"));
}

MachineCheck CheckDenormals() {
  constexpr unsigned kFlushAndZero = 0x8040;  // FTZ and DAZ of MXCSR.
  const bool flushed = (_mm_getcsr() & kFlushAndZero) != 0;
  MachineCheck check{.name = "denormals",
                     .detail = flushed ? "flushed to zero" : "kept; kernels set their own mode"};
  if (flushed) {
    check.result = CheckResult::kWarning;
    check.cure = "some library was linked with fast-math start-up code: results may differ";
  }
  return check;
}

MachineCheck CheckSandbox() {
  const SandboxSupport support = FindSandboxSupport();
  MachineCheck check{.name = "sandbox", .detail = "seccomp and Landlock"};
  if (const std::string missing = support.Missing(); !missing.empty()) {
    check.result = CheckResult::kWarning;
    check.detail = absl::StrCat("without ", missing);
    check.cure =
        "candidates are kept from less, and none run without seccomp: a kernel since 5.13 with "
        "CONFIG_SECCOMP_FILTER and CONFIG_SECURITY_LANDLOCK (lsm=landlock,...), or a container "
        "that "
        "allows both";
  } else if (!MayBecomeOwnUser()) {
    check.result = CheckResult::kWarning;
    check.detail += ", as root";
    check.cure = "run the worker as another user, or in a container whose root may become one";
  }
  return check;
}

MachineCheck CheckDisk(const std::string& folder) {
  MachineCheck check{.name = "disk"};
  struct statvfs disk;
  if (statvfs(folder.c_str(), &disk) != 0) {
    check.detail = absl::StrCat(folder, " is not there yet");
    return check;
  }
  const double free_bytes = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
  check.detail = absl::StrCat(FormatBytes(free_bytes), " free at ", folder);
  if (free_bytes < kDiskWanted) {
    check.result = CheckResult::kWarning;
    check.cure =
        absl::StrCat("free ", FormatBytes(kDiskWanted), ", or keep the database elsewhere");
  }
  return check;
}

}  // namespace burnish
