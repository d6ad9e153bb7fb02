// What this host's processor can do, from CPUID, XGETBV and sysfs. Free of Abseil and of LLVM.
// Source: Intel SDM vol. 2A "CPUID"; AMD APM vol. 3 appendix E.
#ifndef BASE_CPU_INFO_H_
#define BASE_CPU_INFO_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace burnish {

struct CpuCache {
  int level = 0;  // 1 is the data cache of level one; instruction caches are left out.
  int64_t size_bytes = 0;
  int way_count = 0;  // 0: fully associative or unknown.
  int line_bytes = 0;
  std::vector<int> cpus = {};  // Logical CPUs that share one such cache with the first usable CPU.
};

struct CpuInfo {
  std::string vendor;  // "AuthenticAMD", "GenuineIntel", ...; empty when this is not x86.
  std::string brand;   // As the processor names itself, without spaces around it.
  int family = 0;      // Extended family and model already added in.
  int model = 0;
  int stepping = 0;
  // LLVM's names ("avx2", "amx-tile"), sorted, and only what the processor has *and* the system
  // saves on a context switch, for tiles: has lent to this process. This list, and not the
  // microarchitecture, says what code may use: a hypervisor may hide what that has.
  std::vector<std::string> features;
  std::vector<CpuCache> caches;  // By level.
  // Logical CPUs that this process may use, by physical core; both ascending.
  std::vector<std::vector<int>> cores;

  int physical_core_count() const { return static_cast<int>(cores.size()); }
  int logical_cpu_count() const;
  bool Has(const std::string& feature) const;
  // The cache of this level, or nullptr.
  const CpuCache* Cache(int level) const;
};

// Of this host. Reads it anew at every call, about 0.2 ms. Asks for leave to use tiles
// (base/tile_permission.h) where the processor has them.
CpuInfo HostCpuInfo();

// The parts, for tests.
struct CpuidResult {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};
using CpuidFunction = std::function<CpuidResult(uint32_t leaf, uint32_t subleaf)>;

// Vendor to features. `xcr0`: the state components that the system saves; 0 without XSAVE.
CpuInfo DecodeCpuid(const CpuidFunction& cpuid, uint64_t xcr0);

// Drops the features of tiles unless `may_use` says that the system lends them; asked only where
// there are any.
void KeepLentTiles(const std::function<bool()>& may_use, CpuInfo& info);

// Caches and cores. `cpus`: the CPUs to report on, ascending. `cpu_folder`: a
// /sys/devices/system/cpu. What is missing there stays empty, and each CPU is then its own core.
void ReadTopology(const std::string& cpu_folder, const std::vector<int>& cpus, CpuInfo& info);

// Caches by CPUID leaf 4 (Intel) or 0x8000001d (AMD): where sysfs has none, as in some containers.
std::vector<CpuCache> DecodeCaches(const CpuidFunction& cpuid);

// "0-3,8" as {0,1,2,3,8}; what is no such list gives an empty vector.
std::vector<int> ParseCpuList(const std::string& text);

}  // namespace burnish

#endif  // BASE_CPU_INFO_H_
