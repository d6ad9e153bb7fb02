// Bytes that each level of cache must bring in for each buffer of a nest, from the working sets of
// the loops around its accesses.
// Source: Low et al., "Analytical modeling is enough for high-performance BLIS", TOMS 2016,
// section 4; of associativity that runs a power of two apart share sets of L2.
#ifndef TUNER_COST_MODEL_CACHE_TRAFFIC_H_
#define TUNER_COST_MODEL_CACHE_TRAFFIC_H_

#include <array>
#include <cstdint>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/target/isa_model.h"
#include "tuner/cost_model/nest_walk.h"

namespace burnish {

inline constexpr int kCacheLevelCount = 3;

inline constexpr double kPageBytes = 4096;  // Of the smallest page.

struct AccessFootprint {
  // What is touched while some loops run once.
  struct Elements {
    double count = 1;    // With what overlaps as often as it is touched.
    double span = 1;     // From the first to the last.
    double run = 1;      // Neighbours that follow one another.
    bool jumps = false;  // From run to run by what is no multiple of a line.
    // The greatest divisor of all steps from run to run, 1 of hidden ones; 0: there is one run.
    int64_t pitch = 0;
  };

  const WalkAccess* access = nullptr;  // In the nest.
  // elements[i]: while the loops from i inward run once; i up to the number of loops, with one
  // element for none.
  std::vector<Elements> elements;
};

// What one buffer of a nest moves. Its accesses count as one: the one that touches most.
struct BufferTraffic {
  BufferId buffer = -1;
  double storage_bytes = 0, element_bytes = 0, line_bytes = 0;
  std::vector<AccessFootprint> accesses;  // At least one.
  const WalkAccess* access = nullptr;     // The widest.
  // By level of the widest's loops, as in AccessFootprint: bytes, and how often that is of what the
  // widest touches by itself (of a row's tiles that are longer and shorter, each under a condition,
  // the mean).
  std::vector<double> footprint_bytes, shares;
  // Neighbouring lines that the widest brings in one after the other, before it has moved on in
  // more streams than hardware follows; at least 1.
  double run_lines = 1;
  // Bytes into L1 from L2, into L2 from L3, into L3 from memory, of one worker's share of the nest.
  std::array<double, kCacheLevelCount> bytes_in = {};
};

// Of each nest of a kernel by buffer; a nest without accesses has none. Called over and over, as it
// is timed: a nest finds what the nests before it left in caches, of the call before too, and of
// weights nothing.
std::vector<std::vector<BufferTraffic>> TrafficOf(const Program& lowered,
                                                  const std::vector<WalkNest>& nests,
                                                  const IsaModel& isa);

// Bytes that all buffers touch while the loops of `access` from `level` inward run once: by the
// accesses that are in those loops, not by those beside them.
double WorkingSetBytes(const std::vector<BufferTraffic>& all, const WalkAccess& access,
                       size_t level);

}  // namespace burnish

#endif  // TUNER_COST_MODEL_CACHE_TRAFFIC_H_
