#include "base/cpu_info.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <fstream>
#include <map>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/cpu_quota.h"
#include "base/tile_permission.h"
#include "base/usable_cpus.h"

namespace burnish {
namespace {

// Bits as in Intel SDM vol. 1, 13.1: 1 SSE, 2 AVX, 5 to 7 AVX-512, 17 and 18 AMX.
// Which of XCR0's components must be saved for a feature's registers to survive.
enum class State : uint64_t {
  kNone = 0,
  kAvx = 0x6,      // XMM, YMM.
  kAvx512 = 0xe6,  // Those, opmask, ZMM.
  kAmx = 0x60000,  // Tile configuration and data. A process still asks the kernel for them first.
};

enum class Word { k1Ecx, k1Edx, k7Ebx, k7Ecx, k7Edx, k71Eax, k71Edx, kExtEcx, kCount };

struct FeatureBit {
  const char* name;
  Word word;
  int bit;
  State state;
};

// Leaves as in Intel SDM vol. 2A, CPUID (1, 7.0, 7.1), and AMD APM vol. 3 (8000_0001h).
// Features that code generation can use or that tell microarchitectures apart; not every bit.
constexpr FeatureBit kFeatures[] = {
    {"sse", Word::k1Edx, 25, State::kNone},
    {"sse2", Word::k1Edx, 26, State::kNone},
    {"sse3", Word::k1Ecx, 0, State::kNone},
    {"pclmul", Word::k1Ecx, 1, State::kNone},
    {"ssse3", Word::k1Ecx, 9, State::kNone},
    {"fma", Word::k1Ecx, 12, State::kAvx},
    {"cx16", Word::k1Ecx, 13, State::kNone},
    {"sse4.1", Word::k1Ecx, 19, State::kNone},
    {"sse4.2", Word::k1Ecx, 20, State::kNone},
    {"movbe", Word::k1Ecx, 22, State::kNone},
    {"popcnt", Word::k1Ecx, 23, State::kNone},
    {"aes", Word::k1Ecx, 25, State::kNone},
    {"avx", Word::k1Ecx, 28, State::kAvx},
    {"f16c", Word::k1Ecx, 29, State::kAvx},
    {"bmi", Word::k7Ebx, 3, State::kNone},
    {"avx2", Word::k7Ebx, 5, State::kAvx},
    {"bmi2", Word::k7Ebx, 8, State::kNone},
    {"avx512f", Word::k7Ebx, 16, State::kAvx512},
    {"avx512dq", Word::k7Ebx, 17, State::kAvx512},
    {"adx", Word::k7Ebx, 19, State::kNone},
    {"avx512ifma", Word::k7Ebx, 21, State::kAvx512},
    {"clflushopt", Word::k7Ebx, 23, State::kNone},
    {"clwb", Word::k7Ebx, 24, State::kNone},
    {"avx512cd", Word::k7Ebx, 28, State::kAvx512},
    {"sha", Word::k7Ebx, 29, State::kNone},
    {"avx512bw", Word::k7Ebx, 30, State::kAvx512},
    {"avx512vl", Word::k7Ebx, 31, State::kAvx512},
    {"avx512vbmi", Word::k7Ecx, 1, State::kAvx512},
    {"avx512vbmi2", Word::k7Ecx, 6, State::kAvx512},
    {"gfni", Word::k7Ecx, 8, State::kNone},
    {"vaes", Word::k7Ecx, 9, State::kAvx},
    {"vpclmulqdq", Word::k7Ecx, 10, State::kAvx},
    {"avx512vnni", Word::k7Ecx, 11, State::kAvx512},
    {"avx512bitalg", Word::k7Ecx, 12, State::kAvx512},
    {"avx512vpopcntdq", Word::k7Ecx, 14, State::kAvx512},
    {"avx512vp2intersect", Word::k7Edx, 8, State::kAvx512},
    {"amx-bf16", Word::k7Edx, 22, State::kAmx},
    {"avx512fp16", Word::k7Edx, 23, State::kAvx512},
    {"amx-tile", Word::k7Edx, 24, State::kAmx},
    {"amx-int8", Word::k7Edx, 25, State::kAmx},
    {"avxvnni", Word::k71Eax, 4, State::kAvx},
    {"avx512bf16", Word::k71Eax, 5, State::kAvx512},
    {"amx-fp16", Word::k71Eax, 21, State::kAmx},
    {"avxifma", Word::k71Eax, 23, State::kAvx},
    {"avxvnniint8", Word::k71Edx, 4, State::kAvx},
    {"avxneconvert", Word::k71Edx, 5, State::kAvx},
    {"amx-complex", Word::k71Edx, 8, State::kAmx},
    {"avxvnniint16", Word::k71Edx, 10, State::kAvx},
    {"sahf", Word::kExtEcx, 0, State::kNone},
    {"lzcnt", Word::kExtEcx, 5, State::kNone},
    {"sse4a", Word::kExtEcx, 6, State::kNone},
    {"prfchw", Word::kExtEcx, 8, State::kNone},
    {"xop", Word::kExtEcx, 11, State::kAvx},
    {"fma4", Word::kExtEcx, 16, State::kAvx},
};

constexpr uint32_t kExtendedLeaf = 0x80000000;
constexpr int kOsXsaveBit = 27;
constexpr int kTopologyExtensionsBit = 22;

bool Bit(uint32_t word, int bit) { return (word >> bit & 1) != 0; }

std::string VendorOf(const CpuidResult& leaf0) {
  char text[12];
  // EBX, EDX, ECX: the order in which the twelve letters lie.
  std::memcpy(text, &leaf0.ebx, 4);
  std::memcpy(text + 4, &leaf0.edx, 4);
  std::memcpy(text + 8, &leaf0.ecx, 4);
  return std::string(text, sizeof(text));
}

// Leaves 8000_0002h to 8000_0004h: 48 characters in the order of registers (SDM vol. 2A, "Processor
// Brand String").
std::string BrandOf(const CpuidFunction& cpuid) {
  std::string text;
  for (uint32_t leaf = kExtendedLeaf + 2; leaf <= kExtendedLeaf + 4; ++leaf) {
    const CpuidResult part = cpuid(leaf, 0);
    for (const uint32_t word : {part.eax, part.ebx, part.ecx, part.edx}) {
      for (int byte = 0; byte < 4; ++byte) {
        const char c = static_cast<char>(word >> (8 * byte));
        if (c != 0) text.push_back(c);
      }
    }
  }
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::vector<std::string> FeaturesOf(const CpuidFunction& cpuid, uint32_t leaf_max,
                                    uint32_t extended_max, uint64_t xcr0) {
  std::array<uint32_t, static_cast<size_t>(Word::kCount)> words = {};
  const auto set = [&words](Word word, uint32_t value) {
    words[static_cast<size_t>(word)] = value;
  };
  const CpuidResult leaf1 = cpuid(1, 0);
  set(Word::k1Ecx, leaf1.ecx);
  set(Word::k1Edx, leaf1.edx);
  if (leaf_max >= 7) {
    const CpuidResult leaf7 = cpuid(7, 0);
    set(Word::k7Ebx, leaf7.ebx);
    set(Word::k7Ecx, leaf7.ecx);
    set(Word::k7Edx, leaf7.edx);
    // EAX of 7.0 is the highest subleaf; what lies beyond it is not defined.
    if (leaf7.eax >= 1) {
      const CpuidResult leaf71 = cpuid(7, 1);
      set(Word::k71Eax, leaf71.eax);
      set(Word::k71Edx, leaf71.edx);
    }
  }
  if (extended_max >= kExtendedLeaf + 1) set(Word::kExtEcx, cpuid(kExtendedLeaf + 1, 0).ecx);
  // What the processor has and the system does not save would be lost at the next context switch,
  // so it counts as absent. The same holds where a hypervisor hides it.
  const uint64_t saved = Bit(leaf1.ecx, kOsXsaveBit) ? xcr0 : 0;
  std::vector<std::string> features;
  for (const FeatureBit& feature : kFeatures) {
    const uint64_t state = static_cast<uint64_t>(feature.state);
    if (Bit(words[static_cast<size_t>(feature.word)], feature.bit) && (saved & state) == state) {
      features.emplace_back(feature.name);
    }
  }
  std::sort(features.begin(), features.end());
  return features;
}

std::string ReadLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "32K", "1024K", "8"; 0 when it is none.
int64_t ParseSize(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return 0;
  const std::string unit(end, text.data() + text.size());
  return unit == "K" ? value << 10 : unit == "M" ? value << 20 : value;
}

}  // namespace

int CpuInfo::logical_cpu_count() const {
  int count = 0;
  for (const std::vector<int>& core : cores) count += static_cast<int>(core.size());
  return count;
}

bool CpuInfo::Has(const std::string& feature) const {
  return std::binary_search(features.begin(), features.end(), feature);
}

const CpuCache* CpuInfo::Cache(int level) const {
  const auto found = std::find_if(caches.begin(), caches.end(),
                                  [level](const CpuCache& cache) { return cache.level == level; });
  return found == caches.end() ? nullptr : &*found;
}

CpuInfo DecodeCpuid(const CpuidFunction& cpuid, uint64_t xcr0) {
  CpuInfo info;
  const CpuidResult leaf0 = cpuid(0, 0);
  const uint32_t extended_max = cpuid(kExtendedLeaf, 0).eax;
  info.vendor = VendorOf(leaf0);
  if (extended_max >= kExtendedLeaf + 4) info.brand = BrandOf(cpuid);
  const uint32_t signature = cpuid(1, 0).eax;
  info.family = signature >> 8 & 0xf;
  info.model = signature >> 4 & 0xf;
  info.stepping = signature & 0xf;
  // The extended fields count only for these families (SDM vol. 2A, figure 3-6). The model first,
  // by the family as it was before the extension.
  if (info.family == 6 || info.family == 0xf) info.model += (signature >> 16 & 0xf) << 4;
  if (info.family == 0xf) info.family += signature >> 20 & 0xff;
  info.features = FeaturesOf(cpuid, leaf0.eax, extended_max, xcr0);
  return info;
}

std::vector<CpuCache> DecodeCaches(const CpuidFunction& cpuid) {
  const CpuidResult leaf0 = cpuid(0, 0);
  uint32_t leaf = 4;
  if (VendorOf(leaf0) == "AuthenticAMD" || VendorOf(leaf0) == "HygonGenuine") {
    leaf = kExtendedLeaf + 0x1d;
    // AMD has the same fields as Intel's leaf 4, in a leaf of its own, where TopologyExtensions
    // says so.
    if (cpuid(kExtendedLeaf, 0).eax < leaf ||
        !Bit(cpuid(kExtendedLeaf + 1, 0).ecx, kTopologyExtensionsBit)) {
      return {};
    }
  } else if (leaf0.eax < leaf) {
    return {};
  }
  std::vector<CpuCache> caches;
  // The end is type 0. The bound is for a hypervisor that never says it.
  for (uint32_t index = 0; index < 16; ++index) {
    const CpuidResult part = cpuid(leaf, index);
    const uint32_t type = part.eax & 0x1f;  // 0 none left, 1 data, 2 instruction, 3 unified.
    if (type == 0) break;
    if (type == 2) continue;
    // Each field is one less than its number (SDM vol. 2A, leaf 04H).
    const int64_t ways = (part.ebx >> 22) + 1;
    const int64_t partitions = (part.ebx >> 12 & 0x3ff) + 1;
    const int64_t line = (part.ebx & 0xfff) + 1;
    const int64_t sets = int64_t{part.ecx} + 1;
    const bool fully_associative = Bit(part.eax, 9);
    caches.push_back({.level = static_cast<int>(part.eax >> 5 & 7),
                      .size_bytes = ways * partitions * line * sets,
                      .way_count = fully_associative ? 0 : static_cast<int>(ways),
                      .line_bytes = static_cast<int>(line)});
  }
  std::sort(caches.begin(), caches.end(),
            [](const CpuCache& a, const CpuCache& b) { return a.level < b.level; });
  return caches;
}

std::vector<int> ParseCpuList(const std::string& text) {
  std::vector<int> cpus;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    int first = 0;
    auto [next, error] = std::from_chars(at, end, first);
    if (error != std::errc() || first < 0) return {};
    int last = first;
    if (next != end && *next == '-') {
      const auto range = std::from_chars(next + 1, end, last);
      // No machine has 65,536 CPUs; a damaged list must not fill the memory.
      if (range.ec != std::errc() || last < first || last - first > 1 << 16) return {};
      next = range.ptr;
    }
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (next == end) break;
    if (*next != ',' || next + 1 == end) return {};
    at = next + 1;
  }
  return cpus;
}

void ReadTopology(const std::string& cpu_folder, const std::vector<int>& cpus, CpuInfo& info) {
  std::map<int, std::vector<int>> cores;  // By the first sibling, usable or not.
  for (const int cpu : cpus) {
    const std::string folder = cpu_folder + "/cpu" + std::to_string(cpu) + "/topology/";
    const std::vector<int> siblings = ParseCpuList(ReadLine(folder + "thread_siblings_list"));
    cores[siblings.empty() ? cpu : siblings.front()].push_back(cpu);
  }
  info.cores.clear();
  for (auto& [first, siblings] : cores) info.cores.push_back(std::move(siblings));
  std::sort(info.cores.begin(), info.cores.end());
  info.caches.clear();
  // Caches of the first usable CPU stand for all. On a machine with two kinds of cores that is the
  // kind that this process may use first.
  if (cpus.empty()) return;
  const std::string caches = cpu_folder + "/cpu" + std::to_string(cpus.front()) + "/cache/index";
  for (int index = 0;; ++index) {
    const std::string folder = caches + std::to_string(index) + "/";
    const int level = static_cast<int>(ParseSize(ReadLine(folder + "level")));
    if (level == 0) break;
    // Models of kernels and their data have no use for it.
    if (ReadLine(folder + "type") == "Instruction") continue;
    info.caches.push_back(
        {.level = level,
         .size_bytes = ParseSize(ReadLine(folder + "size")),
         .way_count = static_cast<int>(ParseSize(ReadLine(folder + "ways_of_associativity"))),
         .line_bytes = static_cast<int>(ParseSize(ReadLine(folder + "coherency_line_size"))),
         .cpus = ParseCpuList(ReadLine(folder + "shared_cpu_list"))});
  }
  std::sort(info.caches.begin(), info.caches.end(),
            [](const CpuCache& a, const CpuCache& b) { return a.level < b.level; });
}

void KeepLentTiles(const std::function<bool()>& may_use, CpuInfo& info) {
  if (!info.Has("amx-tile") || may_use()) return;
  std::erase_if(info.features, [](const std::string& name) { return name.starts_with("amx-"); });
}

CpuInfo HostCpuInfo() {
  CpuInfo info;
#if defined(__x86_64__)
  const CpuidFunction cpuid = [](uint32_t leaf, uint32_t subleaf) {
    CpuidResult result;
    __cpuid_count(leaf, subleaf, result.eax, result.ebx, result.ecx, result.edx);
    return result;
  };
  uint64_t xcr0 = 0;
  if (Bit(cpuid(1, 0).ecx, kOsXsaveBit)) {
    uint32_t low = 0, high = 0;
    // By hand: the intrinsic wants -mxsave, and this file is compiled for any x86-64. Only where
    // OSXSAVE says that the instruction is there.
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    xcr0 = uint64_t{high} << 32 | low;
  }
  info = DecodeCpuid(cpuid, xcr0);
  KeepLentTiles(AllowTiles, info);
#endif
  // What this process may use, not what the machine has: a container's share counts.
  ReadTopology("/sys/devices/system/cpu", UsableCpus(), info);
  const int share = WholeCpus(static_cast<int>(info.cores.size()), CpuQuota());
  if (static_cast<size_t>(share) < info.cores.size()) info.cores.resize(share);
#if defined(__x86_64__)
  // sysfs first: it also says which CPUs share a cache.
  if (info.caches.empty()) info.caches = DecodeCaches(cpuid);
#endif
  return info;
}

}  // namespace burnish
