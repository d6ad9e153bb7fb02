#include "compiler/target/device_model.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "compiler/target/core_rates.h"
#include "compiler/target/target_arch.h"

namespace burnish {
namespace {

ComputeUnit UnitOf(const Instruction& row, const TargetArch& arch, const IsaModel& core,
                   const CoreRates& rates) {
  if (row.cycles > 0) return UnitOf(row, 1 / row.cycles, 1 / row.cycles, row.cycles);
  const int64_t bytes = row.vector_bytes();
  const VectorUnit& own = bytes == 64 ? arch.v64 : bytes == 32 ? arch.v32 : arch.v16;
  // A user may allow more than the family has: the narrower unit's figures are the best guess then,
  // as in IsaModelOf.
  const VectorUnit& unit = own.fma_per_cycle > 0        ? own
                           : arch.v32.fma_per_cycle > 0 ? arch.v32
                                                        : arch.v16;
  double per_cycle = unit.fma_per_cycle, with_loads = unit.loads_per_cycle;
  if (row.kind == InstructionKind::kBf16Dot) per_cycle *= rates.bf16_dots_per_fma;
  // As keys have it: a multiply and an add at a time.
  if (row.kind == InstructionKind::kMulAdd) per_cycle = with_loads = core.fma_per_cycle;
  return UnitOf(row, per_cycle, std::min(per_cycle, with_loads), arch.fma_latency_cycles);
}

std::vector<ComputeUnit> UnitsOf(const Target& target, const TargetArch& arch, const IsaModel& core,
                                 const CoreRates& rates) {
  std::vector<ComputeUnit> units;
  for (const Instruction* row : AllInstructions()) {
    const bool has = target.HasFeature(row->feature) || target.HasFeature(row->other_feature);
    const bool apart = row->kind == InstructionKind::kMulAdd;
    if (has && row->vector_bytes() <= core.vector_bytes && !(apart && core.fused_multiply_add)) {
      units.push_back(UnitOf(*row, arch, core, rates));
    }
  }
  return units;
}

MemoryLevel CacheOf(absl::string_view name, const CacheLevel& cache, int line_bytes) {
  return {.name = std::string(name),
          .size_bytes = cache.size_bytes,
          .ways = cache.ways,
          .line_bytes = line_bytes};
}

std::vector<MemoryLevel> LevelsOf(const IsaModel& core, const CoreRates& rates,
                                  const TileFile* tiles) {
  std::vector<MemoryLevel> levels = {
      {.name = "registers",
       .kind = LevelKind::kRegisters,
       .size_bytes = int64_t{core.vector_register_count} * core.vector_bytes,
       .line_bytes = core.vector_bytes}};
  if (tiles != nullptr) {
    const auto tile_bytes = static_cast<int>(tiles->rows * tiles->row_bytes);
    levels.push_back({.name = "tiles",
                      .kind = LevelKind::kTileRegisters,
                      .size_bytes = tiles->count * tile_bytes,
                      .line_bytes = tile_bytes});
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
  const TileFile* tiles = nullptr;
  for (const ComputeUnit& unit : units) {
    if (unit.sums_in == Residence::kTileRegister) tiles = FindNest(unit.name)->tiles;
  }
  return {.name = std::string(name),
          .cycles_per_second = rates.cycles_per_second,
          .loop_cycles = rates.loop_cycles,
          .units = std::move(units),
          .levels = LevelsOf(core, rates, tiles),
          .axes = AxesOf(core, threads, rates),
          .core = core};
}

template <typename Row, typename Predicate>
auto* FindIf(Row& rows, const Predicate& predicate) {
  const auto found = std::find_if(rows.begin(), rows.end(), predicate);
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

absl::string_view AxisName(Axis axis) {
  // In the order of the enum.
  constexpr absl::string_view kNames[] = {"lane", "warp", "thread", "worker", "block"};
  return kNames[static_cast<size_t>(axis)];
}

ComputeUnit UnitOf(const Instruction& row, double per_cycle, double per_cycle_with_loads,
                   double latency_cycles) {
  return {.name = std::string(row.name),
          .left = row.left,
          .right = row.right,
          .sum = row.sum,
          .m = row.m,
          .n = row.n,
          .k = row.k,
          .has_partial_tiles = row.tiles != nullptr,
          .row_floor = row.row_floor,
          .rows_min = row.rows_min,
          .packed_k = row.packed_k,
          .operands_in = row.operands_in,
          .sums_in = row.sums_in,
          .threads = row.threads,
          .per_cycle = per_cycle,
          .per_cycle_with_loads = per_cycle_with_loads,
          .latency_cycles = latency_cycles};
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
  const CoreRates& rates = CoreRatesOf(target.arch);
  return ModelOf(target.arch, core, target.threads, rates, UnitsOf(target, *arch, core, rates));
}

}  // namespace burnish
