// What was measured on machines and no instruction table has, a row a machine. A
// microarchitecture of which nobody had one gets a generic server's.
#ifndef COMPILER_TARGET_CORE_RATES_H_
#define COMPILER_TARGET_CORE_RATES_H_

#include "absl/strings/string_view.h"

namespace burnish {

// How fast a core gets data, and goes on. Bytes and times in cycles of one core.
struct CoreRates {
  double cycles_per_second;
  double loop_cycles;
  double l2_bytes, l3_bytes;                 // One reader.
  double memory_bytes, memory_bytes_shared;  // One reader; all together.
  double l1_latency, l2_latency, l3_latency, memory_latency;
  double barrier;
  double peer_latency, peer_bytes;
  double bf16_dots_per_fma = 1;  // Instructions that multiply bfloat16, beside multiply-adds.
  // Whether prefetches of weights go through L1: on one machine those to L2 were sometimes lost.
  bool prefetches_through_l1 = false;
};

const CoreRates& CoreRatesOf(absl::string_view arch);

}  // namespace burnish

#endif  // COMPILER_TARGET_CORE_RATES_H_
