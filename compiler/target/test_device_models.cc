#include "compiler/target/test_device_models.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/extra_row.h"
#include "compiler/target/instruction.h"

namespace burnish {
namespace {

constexpr NumberType kF32 = NumberType::kF32, kI8 = NumberType::kI8;
const ExtraRow<Instruction> kFmla({.name = "fmla_f32x4",
                                   .kind = InstructionKind::kFma,
                                   .feature = "neon",
                                   .left = kF32,
                                   .right = kF32,
                                   .sum = kF32,
                                   .n = 4});
const ExtraRow<Instruction> kSdot({.name = "sdot_s8x4",
                                   .kind = InstructionKind::kByteDot,
                                   .feature = "dotprod",
                                   .left = kI8,
                                   .right = kI8,
                                   .sum = NumberType::kI32,
                                   .n = 4,
                                   .k = 4,
                                   .packed_k = 4});

void CheckUnits(const DeviceModel& model, std::vector<std::string>& broken) {
  std::set<std::string> names;
  if (model.units.empty()) broken.push_back("no unit");
  for (const ComputeUnit& unit : model.units) {
    const auto expect = [&](bool holds, const char* rule) {
      if (!holds) broken.push_back(absl::StrCat("unit ", unit.name, ": ", rule));
    };
    expect(!unit.name.empty() && names.insert(unit.name).second, "a name of its own");
    expect(unit.m >= 1 && unit.n >= 1 && unit.k >= 1, "a shape");
    expect(unit.packed_k >= 1 && unit.k % unit.packed_k == 0, "k in whole packs");
    expect(unit.threads >= 1, "threads");
    expect(unit.per_cycle > 0 && unit.per_cycle_with_loads > 0, "rates");
    expect(unit.per_cycle_with_loads <= unit.per_cycle, "loads make nothing faster");
    expect(unit.latency_cycles > 0, "a latency");
    expect(unit.rows_min >= 1 && unit.rows_min <= unit.m, "rows_min within m");
    expect(unit.RowShare(unit.m) == 1, "all rows are the whole");
    for (int rows = 1; rows < unit.m; ++rows) {
      expect(unit.RowShare(rows) <= unit.RowShare(rows + 1), "fewer rows take no longer");
    }
    expect(NumberBytes(unit.sum) >= NumberBytes(unit.left), "sums as wide as products");
    if (unit.sums_in == Residence::kTileRegister) {
      expect(model.FindLevel("tiles") != nullptr, "tile registers to hold its sums");
    }
    if (unit.sums_in == Residence::kFragment) {
      expect(unit.threads > 1, "fragments belong to threads that act together");
    }
  }
}

void CheckLevels(const DeviceModel& model, std::vector<std::string>& broken) {
  std::set<std::string> names;
  if (model.levels.size() < 2) broken.push_back("fewer than two levels");
  const MemoryLevel* inner = nullptr;
  for (const MemoryLevel& level : model.levels) {
    const auto expect = [&](bool holds, const char* rule) {
      if (!holds) broken.push_back(absl::StrCat("level ", level.name, ": ", rule));
    };
    expect(!level.name.empty() && names.insert(level.name).second, "a name of its own");
    expect((level.kind == LevelKind::kMemory) == (&level == &model.levels.back()),
           "memory, and only memory, is the last");
    expect(level.kind == LevelKind::kMemory || level.size_bytes > 0, "a size");
    expect(level.owner_count >= 0, "owners");
    expect(level.BytesPerCycle(2) <= level.BytesPerCycle(1), "sharing makes nothing faster");
    expect(model.FindAxis(level.owner) != nullptr, "an owner that the device has");
    // Registers are as near as can be, whatever their number.
    if (inner != nullptr && inner->latency_cycles > 0) {
      expect(level.latency_cycles >= inner->latency_cycles, "outer levels answer later");
      // But for the first: a core with short vectors loads less than what would fill its L1.
      expect(inner->name == "L1" || level.BytesPerCycle(1) <= inner->BytesPerCycle(1),
             "outer levels are not faster");
    }
    inner = &level;
  }
}

void CheckAxes(const DeviceModel& model, std::vector<std::string>& broken) {
  const Axis* outer = nullptr;
  if (model.axes.empty()) broken.push_back("no axis");
  for (const ParallelAxis& axis : model.axes) {
    const auto expect = [&](bool holds, const char* rule) {
      if (!holds) broken.push_back(absl::StrCat("axis ", AxisName(axis.axis), ": ", rule));
    };
    expect((axis.extent > 0) != (axis.extent_bytes > 0), "one of two extents");
    expect(axis.ExtentOf(NumberType::kF32) >= 1, "room for a float");
    expect(model.FindLevel(axis.shared_level) != nullptr, "a level to share");
    // The enum goes from the innermost to the outermost.
    expect(outer == nullptr || axis.axis < *outer, "from the outermost inwards");
    outer = &axis.axis;
  }
}

}  // namespace

DeviceModel GpuLikeDevice() {
  DeviceModel model = {.name = "gpu-like", .cycles_per_second = 1.7e9};
  model.units = {
      {.name = "mma_f16",
       .left = NumberType::kF16,
       .right = NumberType::kF16,
       .sum = NumberType::kF32,
       .m = 16,
       .n = 8,
       .k = 16,
       .packed_k = 2,
       .operands_in = Residence::kFragment,
       .sums_in = Residence::kFragment,
       .threads = 32,
       .per_cycle = 0.5,
       .per_cycle_with_loads = 0.3,
       .latency_cycles = 33},
      {.name = "group_mma_bf16",
       .left = NumberType::kBf16,
       .right = NumberType::kBf16,
       .sum = NumberType::kF32,
       .m = 64,
       .n = 128,
       .k = 16,
       .packed_k = 2,
       .operands_in = Residence::kShared,
       .sums_in = Residence::kFragment,
       .threads = 128,
       .per_cycle = 1.0 / 64,
       .per_cycle_with_loads = 1.0 / 64,
       .latency_cycles = 128},
      {.name = "fma_f32", .per_cycle = 128, .per_cycle_with_loads = 32, .latency_cycles = 4}};
  model.levels = {{.name = "registers",
                   .kind = LevelKind::kRegisters,
                   .size_bytes = 255 * 4,
                   .line_bytes = 4,
                   .owner = Axis::kLane},
                  {.name = "shared",
                   .kind = LevelKind::kShared,
                   .size_bytes = 232'448,
                   .line_bytes = 128,
                   .owner = Axis::kBlock,
                   .bytes_per_cycle_alone = 128,
                   .latency_cycles = 30},
                  {.name = "L2",
                   .size_bytes = 50 << 20,
                   .line_bytes = 128,
                   .owner = Axis::kBlock,
                   .owner_count = 0,
                   .bytes_per_cycle_alone = 64,
                   .bytes_per_cycle_shared = 3200,
                   .latency_cycles = 260},
                  {.name = "memory",
                   .kind = LevelKind::kMemory,
                   .line_bytes = 128,
                   .owner = Axis::kBlock,
                   .owner_count = 0,
                   .bytes_per_cycle_alone = 30,
                   .bytes_per_cycle_shared = 1900,
                   .latency_cycles = 700}};
  model.axes = {{.axis = Axis::kBlock, .extent = 132, .shared_level = "L2"},
                {.axis = Axis::kWarp, .extent = 32, .barrier_cycles = 30, .shared_level = "shared"},
                {.axis = Axis::kLane, .extent = 32, .shared_level = "registers"}};
  model.launch_max = {2'147'483'647, 65'535, 65'535, 1024, 1024, 64};
  return model;
}

DeviceModel NeonDevice() {
  const IsaModel core = {.vector_register_count = 32,
                         .fused_multiply_add = true,
                         .fma_per_cycle = 2,
                         .loads_per_cycle = 2,
                         .l1d = {64 << 10, 4},
                         .l2 = {1 << 20, 8},
                         .l3 = {32 << 20, 16}};
  DeviceModel model = AmxDevice();
  model.name = "neon";
  model.core = core;
  model.units.clear();
  for (const Instruction* row : AllInstructions()) {
    if (row->feature == "neon" || row->feature == "dotprod") {
      model.units.push_back(UnitOf(*row, core.fma_per_cycle, core.fma_per_cycle, 4));
    }
  }
  std::erase_if(model.levels,
                [](const MemoryLevel& level) { return level.kind == LevelKind::kTileRegisters; });
  model.levels[0].size_bytes = int64_t{core.vector_register_count} * core.vector_bytes;
  model.levels[0].line_bytes = core.vector_bytes;
  model.axes.back().extent_bytes = core.vector_bytes;
  return model;
}

DeviceModel AmxDevice() {
  const absl::StatusOr<Target> target = ParseTarget("cpu:arch=graniterapids,threads=2");
  CHECK(target.ok());
  return DeviceModelOf(*target);
}

std::vector<std::string> BrokenRules(const DeviceModel& model) {
  std::vector<std::string> broken;
  if (!(model.cycles_per_second > 0)) broken.push_back("no clock");
  CheckUnits(model, broken);
  CheckLevels(model, broken);
  CheckAxes(model, broken);
  for (const int64_t most : model.launch_max) {
    if ((most > 0) != (model.FindAxis(Axis::kBlock) != nullptr)) {
      broken.push_back("launches of a device that runs blocks, and of no other, have limits");
    }
  }
  return broken;
}

}  // namespace burnish
