#include "compiler/target/cpu_names.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>

#include "base/cpu_info.h"

namespace burnish {
namespace {

struct ModelRange {
  int first;
  int last;  // Included.
  const char* name;
};

// Family 6.
constexpr ModelRange kIntelModels[] = {
    {0x1a, 0x1a, "nehalem"},        {0x1e, 0x1f, "nehalem"},         {0x2e, 0x2e, "nehalem"},
    {0x25, 0x25, "westmere"},       {0x2c, 0x2c, "westmere"},        {0x2f, 0x2f, "westmere"},
    {0x2a, 0x2a, "sandybridge"},    {0x2d, 0x2d, "sandybridge"},     {0x3a, 0x3a, "ivybridge"},
    {0x3e, 0x3e, "ivybridge"},      {0x3c, 0x3c, "haswell"},         {0x3f, 0x3f, "haswell"},
    {0x45, 0x46, "haswell"},        {0x3d, 0x3d, "broadwell"},       {0x47, 0x47, "broadwell"},
    {0x4f, 0x4f, "broadwell"},      {0x56, 0x56, "broadwell"},       {0x4e, 0x4e, "skylake"},
    {0x5e, 0x5e, "skylake"},        {0x8e, 0x8e, "skylake"},         {0x9e, 0x9e, "skylake"},
    {0xa5, 0xa6, "skylake"},        {0x66, 0x66, "cannonlake"},      {0x7d, 0x7e, "icelake-client"},
    {0x6a, 0x6a, "icelake-server"}, {0x6c, 0x6c, "icelake-server"},  {0x8c, 0x8d, "tigerlake"},
    {0xa7, 0xa7, "rocketlake"},     {0x8f, 0x8f, "sapphirerapids"},  {0xcf, 0xcf, "emeraldrapids"},
    {0xad, 0xad, "graniterapids"},  {0xae, 0xae, "graniterapids-d"}, {0x97, 0x97, "alderlake"},
    {0x9a, 0x9a, "alderlake"},      {0xb7, 0xb7, "raptorlake"},      {0xba, 0xba, "raptorlake"},
    {0xbf, 0xbf, "raptorlake"},     {0xaa, 0xaa, "meteorlake"},      {0xac, 0xac, "meteorlake"},
    {0xb5, 0xb5, "arrowlake"},      {0xc5, 0xc5, "arrowlake"},       {0xc6, 0xc6, "arrowlake-s"},
    {0xbd, 0xbd, "lunarlake"},      {0xcc, 0xcc, "pantherlake"},
};

// Family 0x17, where the rest is znver1.
constexpr ModelRange kZen2Models[] = {
    {0x30, 0x3f, "znver2"}, {0x47, 0x47, "znver2"}, {0x60, 0x7f, "znver2"},
    {0x84, 0x87, "znver2"}, {0x90, 0xaf, "znver2"},
};

// Family 0x19, where the rest is znver3.
constexpr ModelRange kZen4Models[] = {
    {0x10, 0x1f, "znver4"}, {0x60, 0x7f, "znver4"}, {0xa0, 0xaf, "znver4"}};

template <size_t n>
std::string Find(const ModelRange (&ranges)[n], int model, const char* otherwise) {
  for (const ModelRange& range : ranges) {
    if (model >= range.first && model <= range.last) return range.name;
  }
  return otherwise;
}

std::string IntelName(const CpuInfo& info) {
  if (info.family != 6) return "";
  if (info.model == 0x55) {  // Three generations share this number.
    if (info.Has("avx512bf16")) return "cooperlake";
    return info.Has("avx512vnni") ? "cascadelake" : "skylake-avx512";
  }
  return Find(kIntelModels, info.model, "");
}

std::string AmdName(const CpuInfo& info) {
  switch (info.family) {
    case 0x15:
      if (info.model >= 0x60 && info.model <= 0x7f) return "bdver4";
      if (info.model >= 0x30 && info.model <= 0x3f) return "bdver3";
      return info.model == 0x02 || (info.model >= 0x10 && info.model <= 0x1f) ? "bdver2" : "bdver1";
    case 0x17:
      return Find(kZen2Models, info.model, "znver1");
    case 0x19:
      return Find(kZen4Models, info.model, "znver3");
    case 0x1a:
      return "znver5";
    default:
      return "";
  }
}

// A feature that only some microarchitectures have. A model number that names none of them is not
// the processor's own: hypervisors mask it, and newer processors are not in the tables above.
struct Evidence {
  const char* feature;
  const char* name;  // Of what has the feature and nothing above it in the table.
  const char* also;  // Others that have it, between blanks. Empty: none.
};

// The most telling first. What a client and a server share stands for the server: masked model
// numbers are those of virtual machines, and servers have two 512-bit FMA units where clients have
// one. Source: Intel's "Architecture Instruction Set Extensions Programming Reference", table 1-1
// and 1-2; the predefined features of LLVM 19's X86 targets.
constexpr Evidence kIntelEvidence[] = {
    {"amx-complex", "graniterapids-d", ""},
    {"amx-fp16", "graniterapids", " graniterapids-d "},
    {"amx-tile", "sapphirerapids", " emeraldrapids graniterapids graniterapids-d "},
    // The first Alder Lakes had it until their firmware switched it off.
    {"avx512fp16", "sapphirerapids", " emeraldrapids graniterapids graniterapids-d alderlake "},
    {"avx512bf16", "cooperlake",
     " sapphirerapids emeraldrapids graniterapids graniterapids-d alderlake "},
    {"avx512vp2intersect", "tigerlake",
     " sapphirerapids emeraldrapids graniterapids graniterapids-d alderlake "},
    {"avx512vbmi2", "icelake-server",
     " icelake-client tigerlake rocketlake sapphirerapids emeraldrapids graniterapids"
     " graniterapids-d alderlake "},
    {"avx512vnni", "cascadelake",
     " cooperlake icelake-server icelake-client tigerlake rocketlake sapphirerapids emeraldrapids"
     " graniterapids graniterapids-d alderlake "},
    {"avx512f", "skylake-avx512",
     " cannonlake cascadelake cooperlake icelake-server icelake-client tigerlake rocketlake"
     " sapphirerapids emeraldrapids graniterapids graniterapids-d alderlake "},
};

// Source: AMD's processor programming references for families 17h, 19h and 1Ah; LLVM 19 as above.
constexpr Evidence kAmdEvidence[] = {
    {"avx512vp2intersect", "znver5", ""},
    {"avxvnni", "znver5", ""},
    {"avx512f", "znver4", " znver5 "},
    {"vaes", "znver3", " znver4 znver5 "},
};

bool MayHave(const Evidence& evidence, const std::string& name) {
  return name == evidence.name ||
         std::string(evidence.also).find(" " + name + " ") != std::string::npos;
}

// `name`, or what the features say where they contradict it. A feature that is *not* there proves
// nothing: a hypervisor may hide it.
template <size_t n>
std::string BelieveFeatures(const Evidence (&table)[n], const CpuInfo& info,
                            const std::string& name) {
  for (const Evidence& evidence : table) {
    if (info.Has(evidence.feature) && !MayHave(evidence, name)) return evidence.name;
  }
  return name;
}

// The levels of the x86-64 psABI.
std::string LevelName(const CpuInfo& info) {
  const auto all = [&info](std::initializer_list<const char*> features) {
    return std::all_of(features.begin(), features.end(),
                       [&info](const char* feature) { return info.Has(feature); });
  };
  if (!all({"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"})) return "x86-64";
  if (!all({"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"})) return "x86-64-v2";
  if (!all({"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"})) return "x86-64-v3";
  return "x86-64-v4";
}

}  // namespace

std::string LlvmCpuName(const CpuInfo& info) {
  std::string name;
  if (info.vendor == "GenuineIntel") name = BelieveFeatures(kIntelEvidence, info, IntelName(info));
  if (info.vendor == "AuthenticAMD") name = BelieveFeatures(kAmdEvidence, info, AmdName(info));
  if (info.vendor == "HygonGenuine" && info.family == 0x18) name = "znver1";
  return name.empty() ? LevelName(info) : name;
}

}  // namespace burnish
