#include "compiler/target/cpu_names.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu_info.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

std::string NameOf(const std::string& vendor, int family, int model,
                   std::vector<std::string> features) {
  std::sort(features.begin(), features.end());
  return LlvmCpuName(
      {.vendor = vendor, .family = family, .model = model, .features = std::move(features)});
}

constexpr int kRocketLake = 0xa7, kHaswell = 0x3c, kNewer = 0xff;

TEST(CpuNamesTest, FamilyAndModelGiveTheName) {
  EXPECT_EQ(NameOf("GenuineIntel", 6, kHaswell, {}), "haswell");
  EXPECT_EQ(NameOf("GenuineIntel", 6, 0x55, {}), "skylake-avx512");
  EXPECT_EQ(NameOf("GenuineIntel", 6, 0x55, {"avx512f", "avx512vnni"}), "cascadelake");
  EXPECT_EQ(NameOf("GenuineIntel", 6, 0x6a, {}), "icelake-server");
  EXPECT_EQ(NameOf("GenuineIntel", 6, 0x8f, {}), "sapphirerapids");
  EXPECT_EQ(NameOf("AuthenticAMD", 0x17, 0x01, {}), "znver1");
  EXPECT_EQ(NameOf("AuthenticAMD", 0x17, 0x31, {}), "znver2");
  EXPECT_EQ(NameOf("AuthenticAMD", 0x19, 0x01, {}), "znver3");
  EXPECT_EQ(NameOf("AuthenticAMD", 0x19, 0x11, {}), "znver4");
  EXPECT_EQ(NameOf("AuthenticAMD", 0x1a, 0x02, {}), "znver5");
}

TEST(CpuNamesTest, FeaturesThatTheNumberedModelNeverHadBeatItsNumber) {
  const char* intel = "GenuineIntel";
  // Hypervisors that mask the model number, and processors newer than the table.
  for (const int model : {kRocketLake, kHaswell, kNewer}) {
    EXPECT_EQ(NameOf(intel, 6, model, {"amx-complex", "amx-fp16", "amx-tile", "avx512f"}),
              "graniterapids-d");
    EXPECT_EQ(NameOf(intel, 6, model, {"amx-fp16", "amx-tile", "avx512f", "avx512fp16"}),
              "graniterapids");
    EXPECT_EQ(NameOf(intel, 6, model, {"amx-tile", "avx512f"}), "sapphirerapids");
    // AMX is the first that a hypervisor leaves out.
    EXPECT_EQ(NameOf(intel, 6, model, {"avx512bf16", "avx512f", "avx512fp16"}), "sapphirerapids");
    EXPECT_EQ(NameOf(intel, 6, model, {"avx512bf16", "avx512f", "avx512vnni"}), "cooperlake");
  }
  EXPECT_EQ(NameOf(intel, 6, kNewer, {"avx512f", "avx512vbmi2", "avx512vnni"}), "icelake-server");
  EXPECT_EQ(NameOf(intel, 6, kHaswell, {"avx512f", "avx512vnni"}), "cascadelake");
  EXPECT_EQ(NameOf(intel, 6, kHaswell, {"avx2", "avx512f"}), "skylake-avx512");
  EXPECT_EQ(NameOf(intel, 19, 1, {"amx-fp16", "amx-tile", "avx512f"}), "graniterapids");
}

TEST(CpuNamesTest, FeaturesThatTheModelHasOrHidesLeaveItsNameAlone) {
  const char* intel = "GenuineIntel";
  EXPECT_EQ(NameOf(intel, 6, kRocketLake, {"avx512f", "avx512vbmi2", "avx512vnni"}), "rocketlake");
  EXPECT_EQ(NameOf(intel, 6, kRocketLake, {"avx2"}), "rocketlake");
  EXPECT_EQ(NameOf(intel, 6, 0xcf, {"amx-tile", "avx512bf16", "avx512f", "avx512fp16"}),
            "emeraldrapids");
  EXPECT_EQ(NameOf(intel, 6, 0xad, {"amx-fp16", "amx-tile", "avx512f"}), "graniterapids");
  EXPECT_EQ(NameOf(intel, 6, 0x97, {"avx512bf16", "avx512f", "avx512fp16"}), "alderlake");
  EXPECT_EQ(NameOf(intel, 6, 0xbd, {"avx2", "avxvnni"}), "lunarlake");
  EXPECT_EQ(NameOf("AuthenticAMD", 0x19, 0x11, {"avx2"}), "znver4");
}

TEST(CpuNamesTest, AmdsFeaturesBeatItsNumberToo) {
  const char* amd = "AuthenticAMD";
  EXPECT_EQ(NameOf(amd, 0x17, 0x01, {"avx2", "avx512f", "vaes"}), "znver4");
  EXPECT_EQ(NameOf(amd, 0x19, 0x11, {"avx512f", "avxvnni", "vaes"}), "znver5");
  EXPECT_EQ(NameOf(amd, 0x17, 0x31, {"avx2", "vaes"}), "znver3");
  EXPECT_EQ(NameOf(amd, 0x1b, 0, {"avx2", "avx512f", "vaes"}), "znver4");
}

TEST(CpuNamesTest, UnknownProcessorGetsTheLevelThatItsFeaturesReach) {
  std::vector<std::string> features = {"popcnt"};
  const auto name = [&features](std::initializer_list<const char*> more) {
    features.insert(features.end(), more.begin(), more.end());
    return NameOf("AcmeProcessr", 0xf, 0, features);
  };
  EXPECT_EQ(name({}), "x86-64");
  EXPECT_EQ(name({"cx16", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"}), "x86-64-v2");
  EXPECT_EQ(name({"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}), "x86-64-v3");
  EXPECT_EQ(name({"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}), "x86-64-v4");
}

}  // namespace
}  // namespace burnish
