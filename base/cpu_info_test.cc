#include "base/cpu_info.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kSseOnly = 0x3, kAvx = 0x7, kAvx512 = 0xe7, kAmx = 0x600e7;

// A processor as CPUID shows it; leaves that are not set read as zero.
class FakeCpuid {
 public:
  FakeCpuid(const char* vendor, uint32_t signature) {
    const auto word = [vendor](int at) {
      return static_cast<uint32_t>(static_cast<unsigned char>(vendor[at])) |
             static_cast<uint32_t>(static_cast<unsigned char>(vendor[at + 1])) << 8 |
             static_cast<uint32_t>(static_cast<unsigned char>(vendor[at + 2])) << 16 |
             static_cast<uint32_t>(static_cast<unsigned char>(vendor[at + 3])) << 24;
    };
    leaves_[{0, 0}] = {.eax = 0x1f, .ebx = word(0), .ecx = word(8), .edx = word(4)};
    leaves_[{1, 0}] = {.eax = signature};
    leaves_[{0x80000000, 0}] = {.eax = 0x80000021};
  }
  CpuidResult& Leaf(uint32_t leaf, uint32_t subleaf = 0) { return leaves_[{leaf, subleaf}]; }
  CpuidFunction Function() const {
    return [leaves = leaves_](uint32_t leaf, uint32_t subleaf) {
      const auto found = leaves.find({leaf, subleaf});
      return found == leaves.end() ? CpuidResult() : found->second;
    };
  }

 private:
  std::map<std::pair<uint32_t, uint32_t>, CpuidResult> leaves_;
};

// A Sapphire Rapids, as far as the features of these tests go. Words from its CPUID dump.
FakeCpuid SapphireRapids() {
  FakeCpuid cpu("GenuineIntel", 0x000806f8);
  cpu.Leaf(1).ecx = 0x7ffefbff;
  cpu.Leaf(1).edx = 0xbfebfbff;
  cpu.Leaf(7) = {.eax = 2, .ebx = 0xf3bfbffb, .ecx = 0xfb417ffe, .edx = 0xffdd4432};
  cpu.Leaf(7, 1).eax = 0x1c30;
  cpu.Leaf(0x80000001).ecx = 0x121;
  return cpu;
}

TEST(CpuInfoTest, TilesThatTheSystemDoesNotLendAreNotThere) {
  int asked = 0;
  const auto answer = [&asked](bool lent) {
    return [&asked, lent] {
      ++asked;
      return lent;
    };
  };
  CpuInfo info;
  info.features = {"amx-bf16", "amx-int8", "amx-tile", "avx2"};
  KeepLentTiles(answer(true), info);
  EXPECT_TRUE(info.Has("amx-bf16"));
  KeepLentTiles(answer(false), info);
  EXPECT_EQ(info.features, std::vector<std::string>{"avx2"});
  EXPECT_EQ(asked, 2);
  // A processor without tiles is not asked about.
  KeepLentTiles(answer(false), info);
  EXPECT_EQ(asked, 2);
}

TEST(CpuInfoTest, FeaturesNeedTheSystemsSupportForTheirRegisters) {
  const FakeCpuid cpu = SapphireRapids();
  const CpuInfo amx = DecodeCpuid(cpu.Function(), kAmx);
  EXPECT_TRUE(amx.Has("amx-int8"));
  EXPECT_TRUE(amx.Has("avx512bf16"));
  EXPECT_TRUE(amx.Has("avx512vnni"));
  const CpuInfo avx512 = DecodeCpuid(cpu.Function(), kAvx512);
  EXPECT_FALSE(avx512.Has("amx-tile"));
  EXPECT_TRUE(avx512.Has("avx512f"));
  const CpuInfo avx = DecodeCpuid(cpu.Function(), kAvx);
  EXPECT_FALSE(avx.Has("avx512f"));
  EXPECT_TRUE(avx.Has("fma"));
  EXPECT_TRUE(avx.Has("f16c"));
  const CpuInfo sse = DecodeCpuid(cpu.Function(), kSseOnly);
  EXPECT_FALSE(sse.Has("avx"));
  EXPECT_FALSE(sse.Has("fma"));
  EXPECT_FALSE(sse.Has("avx2"));
  EXPECT_TRUE(sse.Has("sse4.2"));
  EXPECT_TRUE(sse.Has("bmi2"));
}

TEST(CpuInfoTest, WithoutOsxsaveTheRegisterThatSaysWhatIsSavedDoesNotCount) {
  FakeCpuid cpu = SapphireRapids();
  cpu.Leaf(1).ecx &= ~(1u << 27);
  EXPECT_FALSE(DecodeCpuid(cpu.Function(), kAmx).Has("avx"));
}

TEST(CpuInfoTest, AProcessorWithoutLeafSevenHasNoAvx2) {
  FakeCpuid cpu = SapphireRapids();
  cpu.Leaf(0).eax = 6;
  const CpuInfo info = DecodeCpuid(cpu.Function(), kAmx);
  EXPECT_TRUE(info.Has("avx"));
  EXPECT_FALSE(info.Has("avx2"));
}

TEST(CpuInfoTest, SignatureGivesFamilyAndModel) {
  const auto model = [](const char* vendor, uint32_t signature) {
    const CpuInfo info = DecodeCpuid(FakeCpuid(vendor, signature).Function(), kAvx);
    return std::pair(info.family, info.model);
  };
  EXPECT_EQ(model("GenuineIntel", 0x000306f2), std::pair(6, 0x3f));
  EXPECT_EQ(model("GenuineIntel", 0x000806f8), std::pair(6, 0x8f));
  EXPECT_EQ(model("AuthenticAMD", 0x00830f10), std::pair(0x17, 0x31));
  EXPECT_EQ(model("AuthenticAMD", 0x00b00f21), std::pair(0x1a, 0x02));
}

TEST(CpuInfoTest, CachesAreDecodedFromTheirOwnLeaf) {
  FakeCpuid cpu("AuthenticAMD", 0x00a10f11);
  cpu.Leaf(0x80000001).ecx = 1u << 22;
  cpu.Leaf(0x8000001d, 0) = {.eax = 0x4121, .ebx = 0x01c0003f, .ecx = 63};
  cpu.Leaf(0x8000001d, 1) = {.eax = 0x4122, .ebx = 0x01c0003f, .ecx = 63};
  cpu.Leaf(0x8000001d, 2) = {.eax = 0x4143, .ebx = 0x01c0003f, .ecx = 2047};
  cpu.Leaf(0x8000001d, 3) = {.eax = 0x3c163, .ebx = 0x03c0003f, .ecx = 32767};
  const std::vector<CpuCache> caches = DecodeCaches(cpu.Function());
  ASSERT_EQ(caches.size(), 3u);
  EXPECT_EQ(caches[0].level, 1);
  EXPECT_EQ(caches[0].size_bytes, 32 << 10);
  EXPECT_EQ(caches[0].way_count, 8);
  EXPECT_EQ(caches[0].line_bytes, 64);
  EXPECT_EQ(caches[1].size_bytes, 1 << 20);
  EXPECT_EQ(caches[2].level, 3);
  EXPECT_EQ(caches[2].size_bytes, 32 << 20);
  EXPECT_EQ(caches[2].way_count, 16);
}

TEST(CpuInfoTest, CpuListsAreParsed) {
  EXPECT_THAT(ParseCpuList("0-3,8"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(ParseCpuList("5"), ElementsAre(5));
  for (const char* bad : {"", "a", "1-", "3-1", "1,,2", "1,", "-1"}) {
    EXPECT_THAT(ParseCpuList(bad), IsEmpty()) << bad;
  }
}

class TopologyTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    for (size_t slash = path.find('/'); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      mkdir((root_ + "/" + path.substr(0, slash)).c_str(), 0755);
    }
    std::ofstream(root_ + "/" + path) << text << "\n";
  }
  const std::string root_ = ::testing::TempDir();
};

TEST_F(TopologyTest, SiblingsShareACoreAndUnusableCpusAreLeftOut) {
  for (const int cpu : {0, 1, 2, 3}) {
    Write("cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
          cpu % 2 == 0 ? "0,2" : "1,3");
  }
  Write("cpu1/cache/index0/level", "1");
  Write("cpu1/cache/index0/type", "Data");
  Write("cpu1/cache/index0/size", "48K");
  Write("cpu1/cache/index0/ways_of_associativity", "12");
  Write("cpu1/cache/index0/coherency_line_size", "64");
  Write("cpu1/cache/index0/shared_cpu_list", "1,3");
  Write("cpu1/cache/index1/level", "1");
  Write("cpu1/cache/index1/type", "Instruction");
  CpuInfo info;
  ReadTopology(root_, {1, 2, 3}, info);
  EXPECT_THAT(info.cores, ElementsAre(ElementsAre(1, 3), ElementsAre(2)));
  EXPECT_EQ(info.physical_core_count(), 2);
  EXPECT_EQ(info.logical_cpu_count(), 3);
  ASSERT_EQ(info.caches.size(), 1u);
  ASSERT_NE(info.Cache(1), nullptr);
  EXPECT_EQ(info.Cache(1)->size_bytes, 48 << 10);
  EXPECT_EQ(info.Cache(1)->way_count, 12);
  EXPECT_THAT(info.Cache(1)->cpus, ElementsAre(1, 3));
  EXPECT_EQ(info.Cache(2), nullptr);
}

TEST_F(TopologyTest, WithoutSysfsEachCpuIsACore) {
  CpuInfo info;
  ReadTopology(root_ + "/missing", {0, 1}, info);
  EXPECT_EQ(info.physical_core_count(), 2);
  EXPECT_THAT(info.caches, IsEmpty());
}

// The kernel decodes CPUID on its own: an independent witness for the host's features.
TEST(HostCpuInfoTest, FeaturesAgreeWithTheKernel) {
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> flags;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("flags", 0) != 0) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string word; words >> word;) flags.insert(word);
    break;
  }
  if (flags.empty()) GTEST_SKIP() << "/proc/cpuinfo shows no flags";
  const CpuInfo info = HostCpuInfo();
  const std::map<std::string, std::string> names = {{"sse4.2", "sse4_2"},
                                                    {"avx", "avx"},
                                                    {"avx2", "avx2"},
                                                    {"fma", "fma"},
                                                    {"f16c", "f16c"},
                                                    {"bmi", "bmi1"},
                                                    {"bmi2", "bmi2"},
                                                    {"popcnt", "popcnt"},
                                                    {"lzcnt", "abm"},
                                                    {"movbe", "movbe"},
                                                    {"avx512f", "avx512f"},
                                                    {"avx512dq", "avx512dq"},
                                                    {"avx512bw", "avx512bw"},
                                                    {"avx512vl", "avx512vl"},
                                                    {"avx512cd", "avx512cd"},
                                                    {"avx512vnni", "avx512_vnni"},
                                                    {"avx512bf16", "avx512_bf16"},
                                                    {"avx512vbmi", "avx512vbmi"},
                                                    {"gfni", "gfni"},
                                                    {"vaes", "vaes"},
                                                    {"amx-tile", "amx_tile"},
                                                    {"amx-int8", "amx_int8"},
                                                    {"avxvnni", "avx_vnni"},
                                                    {"sse4a", "sse4a"}};
  for (const auto& [ours, kernels] : names) {
    EXPECT_EQ(info.Has(ours), flags.count(kernels) != 0) << ours;
  }
}

TEST(HostCpuInfoTest, ThisHostHasACoreAndAFirstLevelCache) {
  const CpuInfo info = HostCpuInfo();
  EXPECT_GE(info.physical_core_count(), 1);
  EXPECT_GE(info.logical_cpu_count(), info.physical_core_count());
  ASSERT_NE(info.Cache(1), nullptr);
  EXPECT_GE(info.Cache(1)->size_bytes, 8 << 10);
  EXPECT_GE(info.Cache(1)->line_bytes, 16);
}

}  // namespace
}  // namespace burnish
