#include "compiler/target/target.h"

#include "absl/strings/str_cat.h"
#include "base/cpu_info.h"
#include "base/status_matchers.h"
#include "compiler/target/cpu_names.h"
#include "compiler/target/isa_model.h"
#include "compiler/target/target_arch.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

constexpr char kZen3[] =
    "cpu:arch=znver3,features=avx+avx2+bmi+bmi2+f16c+fma+lzcnt+popcnt+sse4.2,threads=2,"
    "l1d=32768:8,l2=524288:8,l3=33554432:16";

TEST(TargetTest, CanonicalTextComesBack) {
  ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget(kZen3));
  EXPECT_EQ(target.ToText(), kZen3);
  EXPECT_EQ(target.threads, 2);
  EXPECT_EQ(target.l2, (CacheLevel{.size_bytes = 524288, .ways = 8}));
}

TEST(TargetTest, OrderAndImpliedFeaturesDoNotChangeTheTarget) {
  ASSERT_OK_AND_ASSIGN(const Target target,
                       ParseTarget("cpu:threads=2,l3=33554432:16,l2=524288:8,l1d=32768:8,"
                                   "features=fma+avx2+bmi2+bmi+lzcnt+f16c,arch=znver3"));
  EXPECT_EQ(target.ToText(), kZen3);
}

TEST(TargetTest, WhatIsMissingComesFromTheMicroarchitecture) {
  ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget("cpu:arch=znver3,threads=2"));
  EXPECT_EQ(target.ToText(), kZen3);
}

TEST(TargetTest, EveryArchOfTheTableParsesAndPrints) {
  for (const std::string& name : TargetArchNames()) {
    ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget(absl::StrCat("cpu:arch=", name)));
    EXPECT_THAT(ParseTarget(target.ToText()), IsOkAndHolds(target));
    EXPECT_THAT(target.DeviceKey(), MatchesRegex(absl::StrCat("cpu-", name, "-[0-9a-f]{8}")));
  }
}

TEST(TargetTest, NamingOneCacheMeansTheOthersAreNotThere) {
  ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget("cpu:arch=haswell,l1d=32768:0,line=32"));
  EXPECT_EQ(target.l2.size_bytes, 0);
  EXPECT_THAT(target.ToText(), HasSubstr("threads=1,l1d=32768:0,line=32"));
}

TEST(TargetTest, BadTextsAreRefusedWithAHint) {
  for (const auto& [text, what] : std::vector<std::pair<std::string, std::string>>{
           {"", "want cpu:"},
           {"host", "want cpu:"},
           {"cpu:", "want NAME=VALUE"},
           {"cpu:threads=2", "got no arch"},
           {"cpu:arch=pentium", "unknown arch 'pentium'"},
           {"cpu:arch=znver3,arch=znver3", "got arch twice"},
           {"cpu:arch=znver3,threads=0", "got threads=0, want 1..1024"},
           {"cpu:arch=znver3,threads=+2", "got threads=+2"},
           {"cpu:arch=znver3,threads=99999999999999999999", "want 1..1024"},
           {"cpu:arch=znver3,features=avx2+mmx9", "unknown feature 'mmx9'"},
           {"cpu:arch=znver3,features=bmi", "want at least sse4.2"},
           {"cpu:arch=znver3,l2=512", "want 1024.."},
           {"cpu:arch=znver3,l2=4096", "want BYTES:WAYS"},
           {"cpu:arch=znver3,l2=4096:-1", "got l2 ways=-1"},
           {"cpu:arch=znver3,colour=red", "unknown field 'colour'"},
           {"cpu:arch=znver3,,", "want NAME=VALUE"},
           {std::string(5000, 'x'), "got 5000 bytes"}}) {
    EXPECT_THAT(ParseTarget(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                            ::testing::AllOf(HasSubstr(what), HasSubstr("hint: "))))
        << text;
  }
}

TEST(TargetTest, BackendsThatAreNotThereYetAreUnimplementedWithAHint) {
  for (const char* text : {"cuda:sm=90", "opencl:", "cuda"}) {
    EXPECT_THAT(ParseTarget(text), StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("hint: ")));
  }
}

TEST(TargetTest, TraceIsValidAcrossArchesThatDifferInNameOnly) {
  ASSERT_OK_AND_ASSIGN(const Target haswell, ParseTarget("cpu:arch=haswell"));
  ASSERT_OK_AND_ASSIGN(const Target broadwell, ParseTarget("cpu:arch=broadwell"));
  EXPECT_EQ(haswell.IsaKey(), broadwell.IsaKey());
  EXPECT_NE(haswell.PerfKey(), broadwell.PerfKey());
  ASSERT_OK_AND_ASSIGN(const Target threads, ParseTarget("cpu:arch=haswell,threads=2"));
  EXPECT_NE(haswell.IsaKey(), threads.IsaKey());
  EXPECT_EQ(haswell.PerfKey(), threads.PerfKey());
  ASSERT_OK_AND_ASSIGN(const Target latency, ParseTarget("cpu:arch=skylake"));
  EXPECT_NE(haswell.IsaKey(), latency.IsaKey());
}

CpuInfo Host() {
  return {.vendor = "AuthenticAMD",
          .brand = "some processor",
          .family = 0x19,
          .model = 0x11,
          .features = {"aes", "avx", "avx2", "avx512f", "fma", "popcnt", "sse4.2"},
          .caches = {{.level = 1, .size_bytes = 32768, .way_count = 8, .line_bytes = 64},
                     {.level = 2, .size_bytes = 1048576, .way_count = 8, .line_bytes = 64}},
          .cores = {{0, 2}, {1, 3}}};
}

TEST(TargetTest, HostHasWhatItsHypervisorShowsAndOneThreadACore) {
  ASSERT_OK_AND_ASSIGN(const Target target, HostTarget(Host()));
  // avx512f needs f16c, which is hidden; aes is of no use to generated code.
  EXPECT_EQ(target.ToText(),
            "cpu:arch=znver4,features=avx+avx2+fma+popcnt+sse4.2,threads=2,l1d=32768:8,"
            "l2=1048576:8");
  EXPECT_THAT(HostTarget(Host(), 3), IsOkAndHolds(::testing::Field(&Target::threads, 3)));
}

TEST(TargetTest, EveryNameThatAProcessorCanGetHasARow) {
  for (const char* vendor : {"GenuineIntel", "AuthenticAMD", "HygonGenuine"}) {
    for (const int family : {6, 0x15, 0x17, 0x18, 0x19, 0x1a}) {
      for (int model = 0; model <= 0xff; ++model) {
        const std::string name =
            LlvmCpuName({.vendor = vendor, .family = family, .model = model, .features = {}});
        // "x86-64": neither the model number nor the features say anything.
        if (name != "x86-64") EXPECT_NE(FindTargetArch(name), nullptr) << name;
      }
    }
  }
  for (const char* feature : {"amx-complex", "amx-fp16", "amx-tile", "avx512fp16", "avx512bf16",
                              "avx512vp2intersect", "avx512vbmi2", "avx512vnni", "avx512f"}) {
    const std::string name = LlvmCpuName({.vendor = "GenuineIntel", .features = {feature}});
    EXPECT_NE(FindTargetArch(name), nullptr) << name;
  }
}

// What a hypervisor's masked model number made of a Granite Rapids: half of its peak.
TEST(TargetTest, ServerBehindAMaskedModelNumberHasTwoFmaUnits) {
  CpuInfo host = Host();
  host.vendor = "GenuineIntel";
  host.family = 6;
  host.model = 0xa7;  // Rocket Lake's.
  host.features = {"amx-bf16", "amx-fp16", "amx-int8", "amx-tile", "avx",
                   "avx2",     "avx512bw", "avx512dq", "avx512f",  "avx512fp16",
                   "avx512vl", "f16c",     "fma",      "popcnt",   "sse4.2"};
  ASSERT_OK_AND_ASSIGN(const Target target, HostTarget(host));
  EXPECT_EQ(target.arch, "graniterapids");
  EXPECT_EQ(IsaModelOf(target).fma_per_cycle, 2);
  EXPECT_EQ(target.l2.size_bytes, 1048576);  // As the host says, not as the table does.
  EXPECT_THAT(target.DeviceKey(), StartsWith("cpu-graniterapids-"));
}

TEST(TargetTest, RunsOnItsOwnMicroarchitectureWithAllOfItsFeatures) {
  ASSERT_OK_AND_ASSIGN(const Target host, HostTarget(Host()));
  Target target = host;
  target.threads = 64;
  target.features = {"avx", "popcnt", "sse4.2"};
  EXPECT_TRUE(target.RunsOn(host));
  EXPECT_FALSE(host.RunsOn(target));
  target.arch = "znver3";
  EXPECT_FALSE(target.RunsOn(host));
}

std::string DeviceKeyOf(CpuInfo host) {
  const absl::StatusOr<Target> target = HostTarget(host);
  EXPECT_THAT(target, IsOk());
  if (!target.ok()) return "";
  EXPECT_EQ(target->PerfKey(), target->DeviceKey());
  return target->DeviceKey();
}

// Both are called x86-64-v3, as every CPU is whose maker nobody knows.
TEST(TargetTest, TwoCpusOfOneLevelAreTwoKindsOfDevice) {
  CpuInfo one = Host();
  one.vendor = "NewMaker";
  one.features = {"avx",   "avx2",   "bmi",  "bmi2", "cx16",   "f16c",   "fma",  "lzcnt",
                  "movbe", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"};
  EXPECT_THAT(DeviceKeyOf(one), StartsWith("cpu-x86-64-v3-"));
  CpuInfo other = one;
  EXPECT_EQ(DeviceKeyOf(one), DeviceKeyOf(other));
  other.features.insert(other.features.begin() + 2, "avxvnni");
  EXPECT_NE(DeviceKeyOf(one), DeviceKeyOf(other));
  other = one;
  other.caches[1].size_bytes *= 2;
  EXPECT_NE(DeviceKeyOf(one), DeviceKeyOf(other));
}

// One microarchitecture: with half of the cache, or behind a hypervisor that hides AVX-512.
TEST(TargetTest, TwoCpusOfOneNameAreTwoKindsOfDeviceWhereTheyDiffer) {
  CpuInfo whole = Host();
  whole.vendor = "AuthenticAMD";
  whole.family = 0x19;
  whole.model = 0x11;
  whole.features = {"avx", "avx2", "avx512f", "avx512vl", "f16c", "fma", "popcnt", "sse4.2"};
  whole.caches.push_back({.level = 3, .size_bytes = 32 << 20, .way_count = 16, .line_bytes = 64});
  EXPECT_THAT(DeviceKeyOf(whole), StartsWith("cpu-znver4-"));
  CpuInfo cores = whole;
  cores.cores = {{0}};
  cores.brand = "the same in another box";
  EXPECT_EQ(DeviceKeyOf(whole), DeviceKeyOf(cores));
  CpuInfo stacked = whole;
  stacked.caches[2].size_bytes *= 3;
  EXPECT_NE(DeviceKeyOf(whole), DeviceKeyOf(stacked));
  CpuInfo masked = whole;
  masked.features = {"avx", "avx2", "f16c", "fma", "popcnt", "sse4.2", "vaes"};
  EXPECT_THAT(DeviceKeyOf(masked), StartsWith("cpu-znver4-"));
  EXPECT_NE(DeviceKeyOf(whole), DeviceKeyOf(masked));
  // The model number of a Zen 3, and what no Zen 3 has.
  CpuInfo renumbered = whole;
  renumbered.model = 0x01;
  EXPECT_EQ(DeviceKeyOf(whole), DeviceKeyOf(renumbered));
}

TEST(TargetTest, UnknownFamilyFallsBackToItsFeatureLevel) {
  CpuInfo host = Host();
  host.vendor = "NewMaker";
  EXPECT_THAT(HostTarget(host), IsOkAndHolds(::testing::Field(&Target::arch, "x86-64-v3")));
  host.features = {"popcnt", "sse4.2"};
  EXPECT_THAT(HostTarget(host), IsOkAndHolds(::testing::Field(&Target::arch, "x86-64-v2")));
}

TEST(TargetTest, HostWithoutSse42IsRefused) {
  EXPECT_THAT(HostTarget(CpuInfo{}), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST(TargetTest, ThisHostHasATargetThatParses) {
  ASSERT_OK_AND_ASSIGN(const Target target, HostTarget(HostCpuInfo()));
  EXPECT_THAT(ParseTarget(target.ToText()), IsOkAndHolds(target));
  EXPECT_GT(target.l1d.size_bytes, 0);
}

}  // namespace
}  // namespace burnish
