#include "proto/target_arch.h"

namespace burnish {
namespace {

constexpr absl::string_view kV2 = "popcnt+sse4.2";
constexpr absl::string_view kV3 = "avx2+bmi+bmi2+f16c+fma+lzcnt+popcnt";
constexpr absl::string_view kV4 =
    "avx2+avx512bw+avx512cd+avx512dq+avx512f+avx512vl+bmi+bmi2+f16c+fma+lzcnt+popcnt";
constexpr absl::string_view kCascadeLake =
    "avx2+avx512bw+avx512cd+avx512dq+avx512f+avx512vl+avx512vnni+bmi+bmi2+f16c+fma+lzcnt+popcnt";
constexpr absl::string_view kIceLake =
    "avx2+avx512bitalg+avx512bw+avx512cd+avx512dq+avx512f+avx512ifma+avx512vbmi+avx512vbmi2+"
    "avx512vl+avx512vnni+avx512vpopcntdq+bmi+bmi2+f16c+fma+gfni+lzcnt+popcnt";
constexpr absl::string_view kZen4 =
    "avx2+avx512bf16+avx512bitalg+avx512bw+avx512cd+avx512dq+avx512f+avx512ifma+avx512vbmi+"
    "avx512vbmi2+avx512vl+avx512vnni+avx512vpopcntdq+bmi+bmi2+f16c+fma+gfni+lzcnt+popcnt";
constexpr absl::string_view kZen5 =
    "avx2+avx512bf16+avx512bitalg+avx512bw+avx512cd+avx512dq+avx512f+avx512ifma+avx512vbmi+"
    "avx512vbmi2+avx512vl+avx512vnni+avx512vpopcntdq+avxvnni+bmi+bmi2+f16c+fma+gfni+lzcnt+popcnt";
constexpr absl::string_view kSapphireRapids =
    "amx-bf16+amx-int8+amx-tile+avx2+avx512bf16+avx512bitalg+avx512bw+avx512cd+avx512dq+avx512f+"
    "avx512fp16+avx512ifma+avx512vbmi+avx512vbmi2+avx512vl+avx512vnni+avx512vpopcntdq+avxvnni+"
    "bmi+bmi2+f16c+fma+gfni+lzcnt+popcnt";

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;
constexpr VectorUnit kNone = {0, 0, 0};

// Latency and throughput: Fog, "Instruction tables" (agner.org); uops.info; AMD's software
// optimisation guides for families 17h, 19h and 1Ah; Intel's optimisation reference manual.
// Without FMA an accumulator waits for the add only, so that is the latency there.
//   Zen 2: 2 FMA ports, 2 loads, 1 store (256-bit). Zen 3: latency 4. Zen 4: 512-bit operations
//   take both 256-bit halves in turn, stores of 512 bits every second cycle (rounded up to 1).
//   Zen 5 (server): full 512-bit paths. Haswell and Broadwell: latency 5. Skylake-SP and later
//   servers: two 512-bit FMA units; models with one are slower than this says.
//   Sapphire Rapids: three loads of up to 256 bits, two of 512.
constexpr TargetArch kArches[] = {
    {"x86-64-v2", kV2, 4, {1, 1, 1}, kNone, kNone, {32 * kKiB, 8}, {256 * kKiB, 8}, {8 * kMiB, 16}},
    {"x86-64-v3",
     kV3,
     4,
     {2, 2, 1},
     {2, 2, 1},
     kNone,
     {32 * kKiB, 8},
     {256 * kKiB, 8},
     {8 * kMiB, 16}},
    {"x86-64-v4",
     kV4,
     4,
     {2, 2, 1},
     {2, 2, 1},
     {1, 2, 1},
     {32 * kKiB, 8},
     {1 * kMiB, 16},
     {16 * kMiB, 16}},
    {"haswell",
     kV3,
     5,
     {2, 2, 1},
     {2, 2, 1},
     kNone,
     {32 * kKiB, 8},
     {256 * kKiB, 8},
     {8 * kMiB, 16}},
    {"broadwell",
     kV3,
     5,
     {2, 2, 1},
     {2, 2, 1},
     kNone,
     {32 * kKiB, 8},
     {256 * kKiB, 8},
     {8 * kMiB, 16}},
    {"skylake",
     kV3,
     4,
     {2, 2, 1},
     {2, 2, 1},
     kNone,
     {32 * kKiB, 8},
     {256 * kKiB, 4},
     {8 * kMiB, 16}},
    {"skylake-avx512",
     kV4,
     4,
     {2, 2, 1},
     {2, 2, 1},
     {2, 2, 1},
     {32 * kKiB, 8},
     {1 * kMiB, 16},
     {22 * kMiB, 11}},
    {"cascadelake",
     kCascadeLake,
     4,
     {2, 2, 1},
     {2, 2, 1},
     {2, 2, 1},
     {32 * kKiB, 8},
     {1 * kMiB, 16},
     {22 * kMiB, 11}},
    {"icelake-client",
     kIceLake,
     4,
     {2, 2, 2},
     {2, 2, 2},
     {1, 2, 1},
     {48 * kKiB, 12},
     {512 * kKiB, 8},
     {8 * kMiB, 16}},
    {"icelake-server",
     kIceLake,
     4,
     {2, 2, 2},
     {2, 2, 2},
     {2, 2, 1},
     {48 * kKiB, 12},
     {1280 * kKiB, 20},
     {36 * kMiB, 12}},
    {"sapphirerapids",
     kSapphireRapids,
     4,
     {2, 3, 2},
     {2, 3, 2},
     {2, 2, 1},
     {48 * kKiB, 12},
     {2 * kMiB, 16},
     {60 * kMiB, 15}},
    {"znver1",
     kV3,
     5,
     {2, 2, 1},
     {1, 1, 1},
     kNone,
     {32 * kKiB, 8},
     {512 * kKiB, 8},
     {8 * kMiB, 16}},
    {"znver2",
     kV3,
     5,
     {2, 2, 1},
     {2, 2, 1},
     kNone,
     {32 * kKiB, 8},
     {512 * kKiB, 8},
     {16 * kMiB, 16}},
    {"znver3",
     kV3,
     4,
     {2, 2, 1},
     {2, 2, 1},
     kNone,
     {32 * kKiB, 8},
     {512 * kKiB, 8},
     {32 * kMiB, 16}},
    {"znver4",
     kZen4,
     4,
     {2, 2, 1},
     {2, 2, 1},
     {1, 1, 1},
     {32 * kKiB, 8},
     {1 * kMiB, 8},
     {32 * kMiB, 16}},
    {"znver5",
     kZen5,
     4,
     {2, 2, 2},
     {2, 2, 2},
     {2, 2, 1},
     {48 * kKiB, 12},
     {1 * kMiB, 16},
     {32 * kMiB, 16}},
};

constexpr TargetFeature kFeatures[] = {
    {"amx-bf16", "amx-tile"},
    {"amx-int8", "amx-tile"},
    {"amx-tile", "avx512f"},
    {"avx", "sse4.2"},
    {"avx2", "avx"},
    {"avx512bf16", "avx512bw"},
    {"avx512bitalg", "avx512bw"},
    {"avx512bw", "avx512f"},
    {"avx512cd", "avx512f"},
    {"avx512dq", "avx512f"},
    {"avx512f", "avx2+f16c+fma"},
    {"avx512fp16", "avx512bw+avx512dq+avx512vl"},
    {"avx512ifma", "avx512f"},
    {"avx512vbmi", "avx512bw"},
    {"avx512vbmi2", "avx512bw"},
    {"avx512vl", "avx512f"},
    {"avx512vnni", "avx512f"},
    {"avx512vpopcntdq", "avx512f"},
    {"avxvnni", "avx2"},
    {"bmi", ""},
    {"bmi2", ""},
    {"f16c", "avx"},
    {"fma", "avx"},
    {"gfni", "sse4.2"},
    {"lzcnt", ""},
    {"popcnt", ""},
    {"sse4.2", "popcnt"},
};

}  // namespace

const TargetArch* FindTargetArch(absl::string_view name) {
  for (const TargetArch& arch : kArches) {
    if (arch.name == name) return &arch;
  }
  return nullptr;
}

std::vector<std::string> TargetArchNames() {
  std::vector<std::string> names;
  for (const TargetArch& arch : kArches) names.emplace_back(arch.name);
  return names;
}

absl::Span<const TargetFeature> TargetFeatures() { return kFeatures; }

}  // namespace burnish
