// What rules and cost models may ask of a device, for every kind of device alike: a CPU and a GPU
// are rows of the same three tables. Its numbers are the microarchitecture's (DeviceModelOf), or a
// machine's own (proto/calibrated.h). No number in here is part of a target's text, a key or a
// candidate's id; what keys need of a CPU is in `core`.
#ifndef COMPILER_TARGET_DEVICE_MODEL_H_
#define COMPILER_TARGET_DEVICE_MODEL_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "compiler/target/instruction.h"
#include "compiler/target/isa_model.h"
#include "compiler/target/target.h"

namespace burnish {

enum class Axis {
  kLane,    // Elements of a vector, or threads in lock step.
  kWarp,    // Groups of lanes that are scheduled together.
  kThread,  // Threads of one core.
  kWorker,  // Cores of a CPU.
  kBlock,   // Groups of warps on one multiprocessor of a GPU.
};
absl::string_view AxisName(Axis axis);

// One way to multiply and add: `sum[m,n] += left[m,k] * right[k,n]` for all k at once.
struct ComputeUnit {
  std::string name = "";  // The instruction's; of a device without rows of instructions its own.
  NumberType left = NumberType::kF32;
  NumberType right = NumberType::kF32;
  NumberType sum = NumberType::kF32;
  int m = 1, n = 1, k = 1;
  // Fewer rows, columns and products than m, n and k may be used. See RowShare: each row less saves
  // 1/m of all but `row_floor` of an operation's cycles, down to `rows_min` rows; fewer columns and
  // products save nothing.
  bool has_partial_tiles = false;
  double row_floor = 1;
  int rows_min = 1;
  // So many consecutive k of one column must lie side by side in the right operand; 1: any order.
  int packed_k = 1;
  Residence operands_in = Residence::kVectorRegister;
  Residence sums_in = Residence::kVectorRegister;
  int threads = 1;  // That execute it together: 32 or 128 on a GPU.
  // Of one core (multiprocessor), all others doing the same: operations a cycle where no operand is
  // loaded, and where each operation also loads one. The clock falls under loads: the second is in
  // cycles of the first.
  double per_cycle = 1;
  double per_cycle_with_loads = 1;
  double latency_cycles = 4;  // From a sum to the same sum.

  // Multiply-adds count two.
  int64_t operations() const { return int64_t{2} * m * n * k; }
  // Operations a cycle with that many loads an operation: linear between none and one. Beyond one
  // as with one: how many loads come in a cycle is the first level's bandwidth.
  double PerCycle(double loads_per_operation) const;
  // What an operation on `rows` of its m rows takes, as a share of the whole one.
  double RowShare(int rows) const;
};

// The unit of an instruction's row, at these rates.
ComputeUnit UnitOf(const Instruction& row, double per_cycle, double per_cycle_with_loads,
                   double latency_cycles);

enum class LevelKind { kRegisters, kTileRegisters, kShared, kCache, kMemory };

// A place for data. Bandwidths are to the level above, reading.
struct MemoryLevel {
  std::string name = "";  // "registers", "tiles", "L1", "shared", "L2", "L3", "memory".
  LevelKind kind = LevelKind::kCache;
  int64_t size_bytes = 0;  // Of one instance; 0: as good as unbounded (memory).
  int ways = 0;            // 0: not known, or no such thing.
  int line_bytes = 0;      // Or of one register.
  // An instance belongs to so many neighbours on this axis; 0: to all of the device.
  Axis owner = Axis::kWorker;
  int owner_count = 1;
  double bytes_per_cycle_alone = 0;   // One reader while the others rest; 0: no limit of its own.
  double bytes_per_cycle_shared = 0;  // All readers together; 0: as many times the former.
  double latency_cycles = 0;          // 0: hidden, as a register's.

  // What each of `readers` gets.
  double BytesPerCycle(double readers) const;
};

// Something that runs side by side.
struct ParallelAxis {
  Axis axis = Axis::kLane;
  int64_t extent = 1;             // At most; for lanes of a vector 0, and `extent_bytes` says.
  int64_t extent_bytes = 0;       // Of a vector: lanes = extent_bytes / the type's size.
  double barrier_cycles = 0;      // All of them arrive together. 0: none is needed.
  std::string shared_level = "";  // Through which they see each other's data.
  // A load of what another has just written; 0: not known. Shown (`tuner doctor --calibrate`), and
  // a sign that a stored row is another machine's; no model prices by it.
  double peer_latency_cycles = 0;
  double peer_bytes_per_cycle = 0;  // A stream of that, which models price by; 0: not known.

  int64_t ExtentOf(NumberType type) const;
};

struct DeviceModel {
  std::string name = "";                 // For people: the microarchitecture.
  double cycles_per_second = 0;          // While the widest multiply-adds run everywhere. > 0.
  double loop_cycles = 0.5;              // What a step of a loop adds to what its body takes.
  std::vector<ComputeUnit> units = {};   // The one to prefer first, for each pair of types.
  std::vector<MemoryLevel> levels = {};  // From the core outwards; the last is memory.
  std::vector<ParallelAxis> axes = {};   // From the outermost inwards, each at most once.
  // Blocks of a launch and threads of a block at most, by x, y and z: the order of kThreadTags
  // (compiler/ir/launch.h). Zeros where the device runs no blocks.
  std::array<int64_t, 6> launch_max = {};
  // Of a CPU: the same core as keys name it. The default where the device is none.
  IsaModel core = {};

  // Null: there is none. Of units, the first with these operands.
  const ComputeUnit* FindUnit(absl::string_view name) const;
  const ComputeUnit* FindUnit(NumberType left, NumberType right) const;
  const MemoryLevel* FindLevel(absl::string_view name) const;
  const ParallelAxis* FindAxis(Axis axis) const;

  // Cores of a CPU that take part; 1 where the device has no such axis.
  int workers() const;
};

// By the table of microarchitectures and the target's own caches, features and threads. A
// microarchitecture whose rates nobody has measured has a generic server's. `target.arch` is one of
// TargetArchNames().
DeviceModel DeviceModelOf(const Target& target);

}  // namespace burnish

#endif  // COMPILER_TARGET_DEVICE_MODEL_H_
