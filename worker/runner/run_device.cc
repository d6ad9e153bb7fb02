#include "worker/runner/run_device.h"

#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace burnish {
namespace {

// Of an arena that exceeds the last cache. At least so much where the system names no cache: more
// than an L2 has. At most so much of a worker's memory: more than twice the largest L3 that was
// measured on (480 MiB), so that it binds only where a size is nonsense.
constexpr int64_t kColdArenaBytesMin = 8 << 20;
constexpr int64_t kColdArenaBytesMax = 1 << 30;
// Of the last cache, what constants find there beside activations and code. A guess.
constexpr double kConstantsShare = 0.75;
// So many times its size evict whatever was in a cache: once would do if it replaced the oldest
// line only, which no cache does.
constexpr int64_t kPastCache = 2;

// Of the first CPU; empty where the system does not say.
std::string Microcode() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (!absl::StartsWith(line, "microcode")) continue;
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(": ", 1));
    if (parts.size() == 2) return parts[1];
  }
  return "";
}

// The hypervisor's signature, as "KVMKVMKVM". Empty: none shows itself.
std::string Hypervisor() {
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx >> 31 & 1) == 0) return "";
  __cpuid(0x40000000, eax, ebx, ecx, edx);
  std::string signature;
  for (const unsigned word : {ebx, ecx, edx}) {
    for (int byte = 0; byte < 4; ++byte) {
      const char letter = static_cast<char>(word >> (8 * byte) & 0xff);
      if (letter >= ' ' && letter <= '~') signature += letter;
    }
  }
  return signature.empty() ? "unknown" : signature;
#else
  return "";
#endif
}

}  // namespace

absl::StatusOr<RunDevice> ParseRunDevice(absl::string_view name, const CpuInfo& host) {
  if (absl::StartsWith(name, "cuda") || absl::StartsWith(name, "opencl")) {
    return absl::UnimplementedError(
        absl::StrCat("device ", name, ": this worker runs on CPUs only: try --run cpu"));
  }
  if (name != "cpu" && !absl::StartsWith(name, "cpu:")) {
    return absl::InvalidArgumentError(
        absl::StrCat("device: got \"", name, "\", want cpu or a list such as cpu:0-1"));
  }
  std::vector<int> in_order;
  for (size_t thread = 0;; ++thread) {
    const size_t before = in_order.size();
    for (const std::vector<int>& core : host.cores) {
      if (thread < core.size()) in_order.push_back(core[thread]);
    }
    if (in_order.size() == before) break;
  }
  RunDevice device{.name = std::string(name)};
  if (name == "cpu") {
    device.cpus = std::move(in_order);
    return device;
  }
  const std::vector<int> wanted = ParseCpuList(std::string(absl::StripPrefix(name, "cpu:")));
  if (wanted.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("device: got \"", name, "\", want a list such as cpu:0-3,8"));
  }
  for (const int cpu : wanted) {
    if (std::find(in_order.begin(), in_order.end(), cpu) == in_order.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("device ", name, ": CPU ", cpu, " is not one that this process may use"));
    }
  }
  const std::set<int> chosen(wanted.begin(), wanted.end());
  std::copy_if(in_order.begin(), in_order.end(), std::back_inserter(device.cpus),
               [&](int cpu) { return chosen.count(cpu) > 0; });
  return device;
}

RunCpus CpusFor(const RunDevice& device, const CpuInfo& host, int threads) {
  RunCpus used;
  used.cpus.assign(device.cpus.begin(), device.cpus.begin() + threads);
  const std::set<int> chosen(used.cpus.begin(), used.cpus.end());
  for (const std::vector<int>& core : host.cores) {
    const bool is_used =
        std::any_of(core.begin(), core.end(), [&](int cpu) { return chosen.count(cpu) > 0; });
    if (!is_used) continue;
    std::copy_if(core.begin(), core.end(), std::back_inserter(used.siblings),
                 [&](int cpu) { return chosen.count(cpu) == 0; });
  }
  std::sort(used.siblings.begin(), used.siblings.end());
  return used;
}

Environment HostEnvironment(const CpuInfo& host) {
  Environment environment;
  environment.cpu_model = host.brand;
  environment.microcode = Microcode();
  environment.hypervisor = Hypervisor();
  utsname names = {};
  if (uname(&names) == 0) environment.kernel_release = names.release;
  return environment;
}

int64_t ColdArenaBytes(const CpuInfo& host, int threads, int64_t model_constant_bytes) {
  int64_t last = 0, inner = 0;
  for (const CpuCache& cache : host.caches) last = std::max(last, cache.size_bytes);
  for (const CpuCache& cache : host.caches) {
    if (cache.size_bytes < last) inner = std::max(inner, cache.size_bytes);
  }
  const auto room = static_cast<int64_t>(kConstantsShare * static_cast<double>(last));
  if (model_constant_bytes > 0 && model_constant_bytes <= room) {
    return std::min(std::max(model_constant_bytes, kPastCache * inner * threads), room);
  }
  // What the model itself reads between two calls drives out no more than that. Without the model's
  // size twice the cache does, whatever its replacement policy.
  int64_t bytes = kPastCache * last;
  if (model_constant_bytes > 0) bytes = std::clamp(model_constant_bytes, last + last / 4, bytes);
  return std::clamp(bytes, kColdArenaBytesMin, kColdArenaBytesMax);
}

}  // namespace burnish
