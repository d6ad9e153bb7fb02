// The search space that a table is of, as the rules of this commit write it.
#ifndef TESTS_BENCH_SEARCH_TABLE_SPACE_H_
#define TESTS_BENCH_SEARCH_TABLE_SPACE_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/target/device_model.h"
#include "tests/bench/search/search_table.h"
#include "tests/bench/search/table_draw.h"
#include "tuner/search/search_space.h"
#include "tuner/sketch/sketch.h"

namespace burnish {

struct TableSpace {
  DeviceModel device;
  std::shared_ptr<const SearchSpace> whole;
  size_t template_count = 0;  // Of its sketches, which come first.
};

// INVALID_ARGUMENT: the workload or target does not parse.
absl::StatusOr<TableSpace> SpaceOfTable(const SearchTable& table);

// The table's rows by this commit's sketches: those of the same name and decisions, and of several
// the same in order. What these cannot say is no row any more. Returns how many were dropped.
int64_t MoveToSketches(absl::Span<const Sketch> sketches, SearchTable& table);

// MoveToSketches; then each row gets its place in the draw, and what the draw has not goes.
void KeepRowsOfDraw(const TableDraw& draw, const SearchSpace& space, SearchTable& table);

}  // namespace burnish

#endif  // TESTS_BENCH_SEARCH_TABLE_SPACE_H_
