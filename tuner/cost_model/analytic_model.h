// How long a lowered program should take, from what is known of the device alone: by its table, or
// as calibrated. It ranks candidates before anything was measured, and the learned model predicts
// its residual.
#ifndef TUNER_COST_MODEL_ANALYTIC_MODEL_H_
#define TUNER_COST_MODEL_ANALYTIC_MODEL_H_

#include <array>
#include <vector>

#include "absl/types/span.h"
#include "compiler/ir/program.h"
#include "compiler/target/device_model.h"
#include "tuner/cost_model/cache_traffic.h"
#include "tuner/cost_model/nest_walk.h"

namespace burnish {

// Seconds of one call on `threads` workers; > 0. Not meant to be exact: orders candidates. `device`
// is a CPU.
double AnalyticSeconds(const Program& lowered, const DeviceModel& device, int threads);

// ---- The same in parts, for those who have walked the program already.

// Of one worker's share of a nest.
struct NestCycles {
  double compute = 0;
  double memory = 0;   // Overlaps with `compute` for the most part.
  double exposed = 0;  // Waiting for what nothing prefetches: weights, other workers' data.
  // Of filling L1, L2 and L3 by itself. They work at the same time: `memory` is hardly more than
  // the slowest.
  std::array<double, kCacheLevelCount> fill = {};
};

NestCycles AnalyticNestCycles(const WalkNest& nest, const std::vector<BufferTraffic>& traffic,
                              const DeviceModel& device);

// What a straight-line body waits for most, all of its time; and what comes on top of bodies.
enum ComputeLimit : int {
  kArithmeticLimit,
  kLoadLimit,
  kStoreLimit,
  kChainLimit,  // Sums that wait for the one before.
  kSpillPart,
  kLoopPart,  // Steps and conditions of loops.
  kComputeLimitCount,
};

// `compute` of AnalyticNestCycles in parts, which add up to it.
std::array<double, kComputeLimitCount> AnalyticComputeParts(const WalkNest& nest,
                                                            const DeviceModel& device);

// Of a program with these nests.
double AnalyticSeconds(absl::Span<const NestCycles> nests, const DeviceModel& device, int threads);

}  // namespace burnish

#endif  // TUNER_COST_MODEL_ANALYTIC_MODEL_H_
