// What is known of each x86-64 microarchitecture: one row each, with its sources in the .cc file.
#ifndef COMPILER_TARGET_TARGET_ARCH_H_
#define COMPILER_TARGET_TARGET_ARCH_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/target/target.h"

namespace burnish {

// Throughput of one core at one vector width.
struct VectorUnit {
  int fma_per_cycle;     // Fused multiply-adds; multiply and add pairs where there is no FMA.
  int loads_per_cycle;   // Full-width loads that hit the first-level cache.
  int stores_per_cycle;  // Full-width stores.
};

struct TargetArch {
  absl::string_view name;      // As LLVM's -mcpu.
  absl::string_view baseline;  // Features that every model of the family has, joined by '+'.
  int fma_latency_cycles;      // From accumulator to accumulator.
  VectorUnit v16;              // 128-bit
  VectorUnit v32;              // 256-bit; zeros where the baseline has no AVX.
  VectorUnit v64;              // 512-bit; zeros where no model has it.
  CacheLevel l1d, l2, l3;      // Of a common model; used where a target text says none.
};

// Null for a name that is not in the table.
const TargetArch* FindTargetArch(absl::string_view name);

// All names, in the table's order.
std::vector<std::string> TargetArchNames();

// Every feature that a target may name, each with the features that it needs.
struct TargetFeature {
  absl::string_view name;
  absl::string_view needs;  // Joined by '+'; may be empty.
};
absl::Span<const TargetFeature> TargetFeatures();

}  // namespace burnish

#endif  // COMPILER_TARGET_TARGET_ARCH_H_
