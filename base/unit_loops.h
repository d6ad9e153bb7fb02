// Loops of one arithmetic instruction each, on independent accumulators: what a unit of this core
// reaches at most. Inline assembly, so that neither the compiler nor its flags have a say. Free of
// Abseil.
#ifndef BASE_UNIT_LOOPS_H_
#define BASE_UNIT_LOOPS_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace burnish {

struct UnitLoop {
  std::string_view unit;     // KIND_TYPExLANES, or KIND_TYPE of a tile.
  std::string_view feature;  // CPUID's name of what it needs (cpu_info.h), which implies the rest.
  int64_t operations;        // Of one iteration; a multiply-add counts two.
  int64_t instructions;      // Multiply-adds of one iteration.
  // Runs `iterations` > 0. The CPU must have `feature`; for "amx-...", AllowTiles()
  // (tile_permission.h) was true. `with_loads`: one operand of each multiply-add is loaded from L1.
  void (*run)(int64_t iterations, bool with_loads);
};

// Whatever this CPU has.
std::span<const UnitLoop> AllUnitLoops();

// Null: there is no such unit.
const UnitLoop* FindUnitLoop(std::string_view unit);

}  // namespace burnish

#endif  // BASE_UNIT_LOOPS_H_
