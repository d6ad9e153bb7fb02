// Workloads whose traces are worth a try for another one, though none of its anchor was measured.
#ifndef TUNER_STUDY_NEAR_WORKLOADS_H_
#define TUNER_STUDY_NEAR_WORKLOADS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/target/target.h"
#include "db/record_store.h"
#include "proto/workload.h"

namespace burnish {

// How far apart the numbers of two workloads' texts are, as the sum of |log2| of their ratios:
// tiles, and what fits a cache, change with factors and not with differences. 0: equal texts.
// Negative: the texts differ in more than whole numbers, so that they have other blocks or axes and
// a trace of one names what the other does not have.
//
// All whole numbers count: extents, and in indices strides, dilations and borders, which leave the
// structure of a schedule as it is, too. Names (b0, i0, $0) and floats are no whole numbers.
double ShapeDistance(absl::string_view a, absl::string_view b);

// Workloads with successful records on `target` at a ShapeDistance from `workload` that is not
// negative, nearest first, then by id; without `workload` itself. Errors: the store's.
absl::StatusOr<std::vector<std::string>> NearWorkloads(const RecordStore& records,
                                                       const Workload& workload,
                                                       const Target& target);

}  // namespace burnish

#endif  // TUNER_STUDY_NEAR_WORKLOADS_H_
