// What a schedule needs to know of the processor: register tiles, unrolling and cache blocks are
// computed from it, not listed per instruction set. A pure function of the Target.
#ifndef COMPILER_TARGET_ISA_MODEL_H_
#define COMPILER_TARGET_ISA_MODEL_H_

#include <cstdint>
#include <string>

#include "compiler/target/target.h"

namespace burnish {

// Of one core. "Vector" is the widest one that the target's features allow.
struct IsaModel {
  int vector_bytes = 16;
  int vector_register_count = 16;
  bool fused_multiply_add = false;
  // Accumulators that must be independent to reach the peak: fma_per_cycle * fma_latency_cycles.
  int fma_per_cycle = 1;  // Ports; multiply and add pairs where there is no FMA.
  int fma_latency_cycles = 4;
  int loads_per_cycle = 1;
  int stores_per_cycle = 1;
  // An FMA can broadcast a 32-bit memory operand (EVEX), so that it needs no register for it.
  bool broadcast_operand = false;
  // Two that only tell models apart, in the text that keys have: records are stored under it. What
  // a device multiplies by, DeviceModel::units say.
  bool masked_tail = false;  // Loads and stores under a mask of lanes (AVX-512).
  bool int8_dot = false;     // Four 8-bit products summed into 32 bits (VNNI).
  CacheLevel l1d;
  CacheLevel l2;
  CacheLevel l3;
  int32_t line_bytes = 64;

  int float_lanes() const { return vector_bytes / 4; }
  int accumulators_min() const { return fma_per_cycle * fma_latency_cycles; }

  // One line; equal models have equal texts.
  std::string ToText() const;

  bool operator==(const IsaModel&) const = default;
};

// `target.arch` is one of TargetArchNames(), as in every target that was parsed.
IsaModel IsaModelOf(const Target& target);

}  // namespace burnish

#endif  // COMPILER_TARGET_ISA_MODEL_H_
