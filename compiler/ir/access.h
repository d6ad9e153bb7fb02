// Where accesses lie: the address of an element, and the places of a vector's lanes. What code
// generators do with lanes, and what schedule rules and cost models count on.
//
// Asked wherever it is needed, and no mark on the load. Rules ask before a loop has lanes. A layout
// of an output is held against another. And where loops are written out or cut, one load has other
// lanes from place to place.
#ifndef COMPILER_IR_ACCESS_H_
#define COMPILER_IR_ACCESS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/ir/simplify.h"

namespace burnish {

// The element's, in elements from the allocation's start.
LinearForm AddressOf(const Storage& storage, const std::vector<Expr>& indices,
                     const VarRanges& ranges);

// ---- Lanes of a vectorized loop.

// Whether whole vectors and shuffles are taken for lanes that are not neighbours. Loads of less
// than two lanes on average are as many as lane by lane, with shuffles on top.
constexpr bool LoadsPay(int64_t loads, int64_t lanes) { return 2 * loads <= lanes; }

// Vectors from the first lane's element to the last one's, where each lane is `step` elements on
// from the one before, forwards or backwards; 0 where it goes lane by lane.
constexpr int64_t CountOfSteps(int64_t step, int64_t lanes) {
  const int64_t span = (lanes - 1) * (step < 0 ? -step : step) + 1;
  const int64_t vectors = (span + lanes - 1) / lanes;
  return LoadsPay(vectors, lanes) ? vectors : 0;
}

// Whether a square of so many lanes each way is turned in registers, where a loop that is written
// out walks its columns: 4, 8 or 16 vectors are there, and four blocks of 128 bits in each at most.
constexpr bool IsSquareOfLanes(int64_t lanes, int64_t element_bytes) {
  return (lanes == 4 || lanes == 8 || lanes == 16) && lanes * element_bytes <= 64;
}

// Neighbours in memory that some of the lanes are taken from.
struct LaneVector {
  int64_t from = 0;  // Elements from the first lane's element to the vector's.
  int64_t width = 0;
  std::vector<int> place_of;  // By lane: its element in the vector; -1: another vector has it.
};

// Where lanes lie that are known to each other.
struct LanePlaces {
  LinearForm first;             // The first lane's address.
  std::vector<int64_t> places;  // Elements from there.
};
// `address`: of each lane. Nullopt where lanes differ by more than a constant.
std::optional<LanePlaces> PlacesOfLanes(int64_t lanes,
                                        const std::function<LinearForm(int64_t)>& address);

// CountOfSteps vectors of so many lanes. Nothing before the first lane and behind the last is read.
std::vector<LaneVector> VectorsOfSteps(int64_t step, int64_t lanes);
// A vector for each run of neighbours, ascending.
std::vector<LaneVector> VectorsOfRuns(const std::vector<int64_t>& places);

}  // namespace burnish

#endif  // COMPILER_IR_ACCESS_H_
