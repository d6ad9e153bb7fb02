// How far an output is from what was expected.
#ifndef TUNER_APP_COMPARE_ARRAYS_H_
#define TUNER_APP_COMPARE_ARRAYS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "tuner/app/npy.h"

namespace burnish {

struct ArrayDifference {
  bool exact = false;       // Numbers that have no rounding: integers and booleans.
  double absolute = 0;      // max |got - want|; infinite where only one of them is NaN or infinite.
  double relative = 0;      // The tensor error: that by max |want|; 0 by 0 is 0.
  std::vector<int64_t> at;  // Where the largest absolute difference is; the first of several.
  double got = 0, want = 0;  // There.

  // Within `tolerance` of the tensor error; numbers without rounding only if they are equal.
  bool Within(double tolerance) const { return absolute == 0 || (!exact && relative <= tolerance); }
};

// NaN equals NaN, as numpy.testing has it. Integers of 64 bits are compared as doubles.
// INVALID_ARGUMENT: other shapes, other types, or types that no model's output has.
absl::StatusOr<ArrayDifference> CompareArrays(const NpyArray& got, const NpyArray& want);

}  // namespace burnish

#endif  // TUNER_APP_COMPARE_ARRAYS_H_
