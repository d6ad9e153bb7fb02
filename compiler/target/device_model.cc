#include "compiler/target/device_model.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "compiler/target/target_arch.h"

namespace burnish {
namespace {

// What no instruction table has: how fast a core gets data, and goes on. Bytes and times in cycles
// of one core.
struct CoreRates {
  double cycles_per_second;
  double loop_cycles;
  double l2_bytes, l3_bytes;                 // One reader.
  double memory_bytes, memory_bytes_shared;  // One reader; all together.
  double l1_latency, l2_latency, l3_latency, memory_latency;
  double barrier;
  double peer_latency, peer_bytes;
};

// Two cores of an AMD EPYC (Zen 4, family 25, model 17) in a virtual machine with 32 MiB of L3, 21
// November 2026. The analytic model was fitted to 220 schedules of 11 convolutions there; with
// these rates and its own shares the model has its fitted constants. The fit took the clock for 3.2
// GHz; under multiply-adds the cores run at 3.69. Exchange between the cores is the mean of that
// machine's two states: its CPUs share an L3, or do not.
constexpr CoreRates kZen4Server = {
    .cycles_per_second = 3.2e9,
    .loop_cycles = 0.5,
    .l2_bytes = 32,
    .l3_bytes = 25,
    .memory_bytes = 8,
    .memory_bytes_shared = 12,
    .l1_latency = 4,
    .l2_latency = 17,
    .l3_latency = 54,
    .memory_latency = 590,
    .barrier = 150,
    .peer_latency = 128,
    .peer_bytes = 12,
};
// Two cores of an AMD EPYC (Zen 5, family 26, model 2) in a virtual machine, 23 November 2026: of
// 4,800 pairs of schedules with whole register tiles of ten products and convolutions, those that
// write out 2, 4 and 8 steps take 1.00, 1.00 and 1.02 of the time of those that write out one
// (geometric means; tests/bench/search/zen5). Eight instructions a cycle leave room for a loop's
// two. What memory does is its calibration's to say.
constexpr CoreRates Zen5Server() {
  CoreRates rates = kZen4Server;
  rates.loop_cycles = 0;
  return rates;
}
constexpr CoreRates kZen5Server = Zen5Server();
// Two cores of an Intel Xeon (Granite Rapids by its features) in a virtual machine with 480 MiB of
// L3, 27 November 2026, as `tuner doctor --calibrate` says. Its clock under multiply-adds is 3.1 to
// 3.8 GHz, by what its neighbours do. Of 2,534 schedules of ResNet-50's convolutions there the
// analytic model says for 0.846 what they take within 0.8 to 1.25 with one cycle a step of a loop,
// for 0.825 with the half that a Zen 4's take.
constexpr CoreRates kAmxServer = {
    .cycles_per_second = 3.8e9,
    .loop_cycles = 1,
    .l2_bytes = 55,
    .l3_bytes = 8,
    .memory_bytes = 5,
    .memory_bytes_shared = 9.5,
    .l1_latency = 4.6,
    .l2_latency = 22,
    .l3_latency = 140,
    .memory_latency = 840,
    .barrier = 680,
    .peer_latency = 190,
    .peer_bytes = 7.6,
};
// Of every other microarchitecture, until its machines are calibrated: the equations were fitted
// with these rates, whatever the target.
constexpr const CoreRates& kGenericServer = kZen4Server;

bool IsAmxServer(absl::string_view arch) {
  for (absl::string_view server :
       {"sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d"}) {
    if (arch == server) return true;
  }
  return false;
}

const CoreRates& RatesOf(absl::string_view arch) {
  if (IsAmxServer(arch)) return kAmxServer;
  return arch == "znver4" ? kZen4Server : arch == "znver5" ? kZen5Server : kGenericServer;
}

// A vector of sums, each of `packed_k` products.
struct VectorRow {
  absl::string_view name;
  absl::string_view feature;
  NumberType left, right, sum;
  int lanes;
  int packed_k;
  int vector_bytes;
  bool fused = true;     // False: a multiply and an add, for cores without one for both.
  bool is_nest = false;  // The code generator has it as a nest of this name.
  absl::string_view other_feature = "";  // That has it, too.
};
constexpr NumberType kF32 = NumberType::kF32, kF64 = NumberType::kF64, kF16 = NumberType::kF16,
                     kBf16 = NumberType::kBf16, kI8 = NumberType::kI8, kU8 = NumberType::kU8,
                     kI32 = NumberType::kI32;
// The widest first. The names are those of the loops that measure them (base/unit_loops.h).
constexpr VectorRow kVectors[] = {
    {"fma_f32x16", "avx512f", kF32, kF32, kF32, 16, 1, 64},
    {"fma_f32x8", "fma", kF32, kF32, kF32, 8, 1, 32},
    {"fma_f32x4", "fma", kF32, kF32, kF32, 4, 1, 16},
    {"muladd_f32x8", "avx", kF32, kF32, kF32, 8, 1, 32, false},
    {"muladd_f32x4", "sse4.2", kF32, kF32, kF32, 4, 1, 16, false},
    {"fma_f64x8", "avx512f", kF64, kF64, kF64, 8, 1, 64},
    {"fma_f64x4", "fma", kF64, kF64, kF64, 4, 1, 32},
    {"fma_f16x32", "avx512fp16", kF16, kF16, kF16, 32, 1, 64},
    {"dot_bf16x16", "avx512bf16", kBf16, kBf16, kF32, 16, 2, 64, true, true},
    // Each CPU with AVX512-BF16 has AVX512-VL, too.
    {"dot_bf16x8", "avx512bf16", kBf16, kBf16, kF32, 8, 2, 32, true, true},
    {"dot_bf16x4", "avx512bf16", kBf16, kBf16, kF32, 4, 2, 16, true, true},
    {"vnni_u8s8x16", "avx512vnni", kU8, kI8, kI32, 16, 4, 64, true, true},
    // Each CPU with AVX512-VNNI has AVX512-VL, which makes its instructions narrower.
    {"vnni_u8s8x8", "avxvnni", kU8, kI8, kI32, 8, 4, 32, true, true, "avx512vnni"},
    {"vnni_u8s8x4", "avxvnni", kU8, kI8, kI32, 4, 4, 16, true, true, "avx512vnni"},
    // Pairs of products, after both factors were widened to 16 bits.
    {"dot2_i8x16", "avx512bw", kI8, kI8, kI32, 16, 2, 64, true, true},
    {"dot2_i8x8", "avx2", kI8, kI8, kI32, 8, 2, 32, true, true},
    {"dot2_i8x4", "sse4.2", kI8, kI8, kI32, 4, 2, 16, true, true},
    {"dot2_u8i8x16", "avx512bw", kU8, kI8, kI32, 16, 2, 64, true, true},
    {"dot2_u8i8x8", "avx2", kU8, kI8, kI32, 8, 2, 32, true, true},
    {"dot2_u8i8x4", "sse4.2", kU8, kI8, kI32, 4, 2, 16, true, true},
};

// Products of tiles of 16 rows of 64 bytes.
struct TileRow {
  absl::string_view name;
  absl::string_view feature;
  NumberType left, right, sum;
  int packed_k;
};
constexpr TileRow kTiles[] = {
    {"amx_bf16", "amx-bf16", kBf16, kBf16, kF32, 2},
    {"amx_u8s8", "amx-int8", kU8, kI8, kI32, 4},
};
constexpr int kTileRows = 16, kTileRegisters = 8, kTileRowBytes = 64;

ComputeUnit VectorUnitOf(const VectorRow& row, const TargetArch& arch) {
  const VectorUnit& own = row.vector_bytes == 64   ? arch.v64
                          : row.vector_bytes == 32 ? arch.v32
                                                   : arch.v16;
  // A user may allow more than the family has: the narrower unit's figures are the best guess then,
  // as in IsaModelOf.
  const VectorUnit& unit = own.fma_per_cycle > 0        ? own
                           : arch.v32.fma_per_cycle > 0 ? arch.v32
                                                        : arch.v16;
  double per_cycle = unit.fma_per_cycle;
  // 109 giga-operations a second and core of a Granite Rapids at 3.1 GHz, where FMA reaches 217. A
  // Zen 4 has as many as FMAs; a Zen 5 did 1.85 times the multiply-adds of FMA.
  if (row.left == kBf16 && IsAmxServer(arch.name)) per_cycle /= 4;
  return {.name = std::string(row.name),
          .intrinsic = row.is_nest ? std::string(row.name) : "",
          .left = row.left,
          .right = row.right,
          .sum = row.sum,
          .n = row.lanes,
          .k = row.packed_k,
          .packed_k = row.packed_k,
          .per_cycle = per_cycle,
          .per_cycle_with_loads = std::min(per_cycle, static_cast<double>(unit.loads_per_cycle)),
          .latency_cycles = static_cast<double>(arch.fma_latency_cycles)};
}

// Source: Intel's optimization reference manual, section 20.5; a Granite Rapids, where one
// accumulator was as fast as four, 8 rows took 0.63 of the time of 16, 12 rows 0.83, and fewer than
// 7 no less than 7.
ComputeUnit TileUnitOf(const TileRow& row) {
  constexpr double kCycles = 16;
  return {.name = std::string(row.name),
          .intrinsic = std::string(row.name),
          .left = row.left,
          .right = row.right,
          .sum = row.sum,
          .m = kTileRows,
          .n = 16,
          .k = 16 * row.packed_k,
          .has_partial_tiles = true,
          .row_floor = 0.26,
          .rows_min = 7,
          .packed_k = row.packed_k,
          .operands_in = Residence::kTileRegister,
          .sums_in = Residence::kTileRegister,
          .per_cycle = 1 / kCycles,
          .per_cycle_with_loads = 1 / kCycles,
          .latency_cycles = kCycles};
}

std::vector<ComputeUnit> UnitsOf(const Target& target, const TargetArch& arch,
                                 const IsaModel& core) {
  std::vector<ComputeUnit> units;
  for (const TileRow& row : kTiles) {
    if (target.HasFeature(row.feature)) units.push_back(TileUnitOf(row));
  }
  for (const VectorRow& row : kVectors) {
    const bool apart = !row.fused;
    const bool has = target.HasFeature(row.feature) || target.HasFeature(row.other_feature);
    if (!has || row.vector_bytes > core.vector_bytes || (apart && core.fused_multiply_add)) {
      continue;
    }
    units.push_back(VectorUnitOf(row, arch));
    // As keys have it: without fused ones, a multiply and an add at a time.
    if (apart) units.back().per_cycle = units.back().per_cycle_with_loads = core.fma_per_cycle;
  }
  return units;
}

MemoryLevel CacheOf(absl::string_view name, const CacheLevel& cache, int line_bytes) {
  return {.name = std::string(name),
          .size_bytes = cache.size_bytes,
          .ways = cache.ways,
          .line_bytes = line_bytes};
}

std::vector<MemoryLevel> LevelsOf(const IsaModel& core, const CoreRates& rates, bool has_tiles) {
  std::vector<MemoryLevel> levels = {
      {.name = "registers",
       .kind = LevelKind::kRegisters,
       .size_bytes = int64_t{core.vector_register_count} * core.vector_bytes,
       .line_bytes = core.vector_bytes}};
  if (has_tiles) {
    levels.push_back({.name = "tiles",
                      .kind = LevelKind::kTileRegisters,
                      .size_bytes = kTileRegisters * kTileRows * kTileRowBytes,
                      .line_bytes = kTileRows * kTileRowBytes});
  }
  if (core.l1d.size_bytes > 0) {
    levels.push_back(CacheOf("L1", core.l1d, core.line_bytes));
    levels.back().bytes_per_cycle_alone =
        static_cast<double>(core.loads_per_cycle * core.vector_bytes);
    levels.back().latency_cycles = rates.l1_latency;
  }
  if (core.l2.size_bytes > 0) {
    levels.push_back(CacheOf("L2", core.l2, core.line_bytes));
    levels.back().bytes_per_cycle_alone = rates.l2_bytes;
    levels.back().latency_cycles = rates.l2_latency;
  }
  if (core.l3.size_bytes > 0) {
    levels.push_back(CacheOf("L3", core.l3, core.line_bytes));
    levels.back().owner_count = 0;
    levels.back().bytes_per_cycle_alone = rates.l3_bytes;
    levels.back().latency_cycles = rates.l3_latency;
  }
  levels.push_back({.name = "memory",
                    .kind = LevelKind::kMemory,
                    .line_bytes = core.line_bytes,
                    .owner_count = 0,
                    .bytes_per_cycle_alone = rates.memory_bytes,
                    .bytes_per_cycle_shared = rates.memory_bytes_shared,
                    .latency_cycles = rates.memory_latency});
  return levels;
}

std::vector<ParallelAxis> AxesOf(const IsaModel& core, int threads, const CoreRates& rates) {
  return {{.axis = Axis::kWorker,
           .extent = threads,
           .barrier_cycles = rates.barrier,
           .shared_level = core.l3.size_bytes > 0 ? "L3" : "memory",
           .peer_latency_cycles = rates.peer_latency,
           .peer_bytes_per_cycle = rates.peer_bytes},
          {.axis = Axis::kLane,
           .extent = 0,
           .extent_bytes = core.vector_bytes,
           .shared_level = "registers"}};
}

DeviceModel ModelOf(absl::string_view name, const IsaModel& core, int threads,
                    const CoreRates& rates, std::vector<ComputeUnit> units) {
  const bool has_tiles = std::any_of(units.begin(), units.end(), [](const ComputeUnit& unit) {
    return unit.sums_in == Residence::kTileRegister;
  });
  return {.name = std::string(name),
          .cycles_per_second = rates.cycles_per_second,
          .loop_cycles = rates.loop_cycles,
          .units = std::move(units),
          .levels = LevelsOf(core, rates, has_tiles),
          .axes = AxesOf(core, threads, rates),
          .core = core};
}

template <typename Row, typename Predicate>
auto* FindIf(Row& rows, const Predicate& predicate) {
  const auto found = std::find_if(rows.begin(), rows.end(), predicate);
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

absl::string_view NumberTypeName(NumberType type) {
  switch (type) {
    case NumberType::kF32:
      return "f32";
    case NumberType::kF64:
      return "f64";
    case NumberType::kF16:
      return "f16";
    case NumberType::kBf16:
      return "bf16";
    case NumberType::kI8:
      return "i8";
    case NumberType::kU8:
      return "u8";
    case NumberType::kI32:
      return "i32";
  }
  return "";
}

int64_t NumberBytes(NumberType type) {
  switch (type) {
    case NumberType::kF64:
      return 8;
    case NumberType::kF32:
    case NumberType::kI32:
      return 4;
    case NumberType::kF16:
    case NumberType::kBf16:
      return 2;
    case NumberType::kI8:
    case NumberType::kU8:
      return 1;
  }
  return 0;
}

absl::string_view AxisName(Axis axis) {
  switch (axis) {
    case Axis::kLane:
      return "lane";
    case Axis::kWarp:
      return "warp";
    case Axis::kThread:
      return "thread";
    case Axis::kWorker:
      return "worker";
    case Axis::kBlock:
      return "block";
  }
  return "";
}

double ComputeUnit::PerCycle(double loads_per_operation) const {
  const double share = std::clamp(loads_per_operation, 0.0, 1.0);
  return per_cycle + share * (per_cycle_with_loads - per_cycle);
}

double ComputeUnit::RowShare(int rows) const {
  if (!has_partial_tiles) return 1;
  const double used = std::clamp(rows, rows_min, m);
  return row_floor + (1 - row_floor) * used / m;
}

double MemoryLevel::BytesPerCycle(double readers) const {
  double bytes =
      bytes_per_cycle_alone > 0 ? bytes_per_cycle_alone : std::numeric_limits<double>::infinity();
  if (bytes_per_cycle_shared > 0) {
    bytes = std::min(bytes, bytes_per_cycle_shared / std::max(readers, 1.0));
  }
  return bytes;
}

int64_t ParallelAxis::ExtentOf(NumberType type) const {
  return extent_bytes > 0 ? extent_bytes / NumberBytes(type) : extent;
}

const ComputeUnit* DeviceModel::FindUnit(absl::string_view unit) const {
  return FindIf(units, [&](const ComputeUnit& other) { return other.name == unit; });
}

const ComputeUnit* DeviceModel::FindUnit(NumberType left, NumberType right) const {
  return FindIf(units,
                [&](const ComputeUnit& unit) { return unit.left == left && unit.right == right; });
}

const MemoryLevel* DeviceModel::FindLevel(absl::string_view level) const {
  return FindIf(levels, [&](const MemoryLevel& other) { return other.name == level; });
}

const ParallelAxis* DeviceModel::FindAxis(Axis axis) const {
  return FindIf(axes, [&](const ParallelAxis& other) { return other.axis == axis; });
}

int DeviceModel::workers() const {
  const ParallelAxis* const axis = FindAxis(Axis::kWorker);
  return axis == nullptr ? 1 : static_cast<int>(axis->extent);
}

DeviceModel DeviceModelOf(const Target& target) {
  const TargetArch* const arch = FindTargetArch(target.arch);
  CHECK(arch != nullptr) << "unknown arch " << target.arch;
  const IsaModel core = IsaModelOf(target);
  return ModelOf(target.arch, core, target.threads, RatesOf(target.arch),
                 UnitsOf(target, *arch, core));
}

}  // namespace burnish
