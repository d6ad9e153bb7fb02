// Which points of a task's space a table has, and in which order they are measured.
//
// The rule. Two draws that differ in no step of their lowered program are one: the first counts.
// Let u be the points of all sketches in a random order by the task's workload, each with the same
// chance; the uniform rows are the first `uniform_max` of u whose trace applies. The others are the
// `estimated_max` of the first `looked_max` of u that are best by the analytic model and not among
// the uniform ones, best first; one of them stands behind each `uniform_per_estimated` uniform
// rows. So every beginning of a table holds a uniform sample of the space, and a part of what a
// prior would pick. A space of no more than `uniform_max` programs is in the table whole.
#ifndef TESTS_BENCH_SEARCH_TABLE_DRAW_H_
#define TESTS_BENCH_SEARCH_TABLE_DRAW_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/target/device_model.h"
#include "tuner/search/search_space.h"

namespace burnish {

struct TableDrawOptions {
  int uniform_max = 3000;
  int estimated_max = 400;
  int looked_max = 8000;  // Each is lowered: about a second of a core.
  int uniform_per_estimated = 7;
  // Points that are listed; a larger space is drawn from with repetition, sketches by their sizes
  // up to 5,000.
  int64_t listed_max = 400'000;
};

struct DrawnPoint {
  bool uniform = true;
  Proposal proposal = {};
  double estimate_seconds = 0;
};

struct TableDraw {
  std::vector<DrawnPoint> points = {};  // The index of a row is its place here.
  int64_t space_count = 0;
  bool space_exact = true;
};

// INVALID_ARGUMENT: the workload does not parse.
absl::StatusOr<TableDraw> DrawTable(const std::string& workload, const SearchSpace& space,
                                    const DeviceModel& device, const TableDrawOptions& options);

}  // namespace burnish

#endif  // TESTS_BENCH_SEARCH_TABLE_DRAW_H_
