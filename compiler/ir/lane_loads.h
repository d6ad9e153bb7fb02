// How the lanes of a vectorized loop are loaded: what code generators do, and what schedule rules
// and cost models count on.
#ifndef COMPILER_IR_LANE_LOADS_H_
#define COMPILER_IR_LANE_LOADS_H_

#include <cstdint>

namespace burnish {

// Whether whole vectors and shuffles are taken for lanes that are not neighbours. Loads of less
// than two lanes on average are as many as lane by lane, with shuffles on top.
constexpr bool LoadsPay(int64_t loads, int64_t lanes) { return 2 * loads <= lanes; }

// Vectors from the first lane's element to the last one's, where each lane is `step` elements on
// from the one before, forwards or backwards; 0 where it goes lane by lane.
constexpr int64_t VectorsOfSteps(int64_t step, int64_t lanes) {
  const int64_t span = (lanes - 1) * (step < 0 ? -step : step) + 1;
  const int64_t vectors = (span + lanes - 1) / lanes;
  return LoadsPay(vectors, lanes) ? vectors : 0;
}

// Whether a square of so many lanes each way is turned in registers, where a loop that is written
// out walks its columns: 4, 8 or 16 vectors are there, and four blocks of 128 bits in each at most.
constexpr bool IsSquareOfLanes(int64_t lanes, int64_t element_bytes) {
  return (lanes == 4 || lanes == 8 || lanes == 16) && lanes * element_bytes <= 64;
}

}  // namespace burnish

#endif  // COMPILER_IR_LANE_LOADS_H_
