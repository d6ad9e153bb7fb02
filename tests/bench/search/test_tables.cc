#include "tests/bench/search/test_tables.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/rng.h"
#include "compiler/ir/printer.h"
#include "compiler/schedule/test_programs.h"
#include "tests/bench/search/table_space.h"

namespace burnish {

SearchTable EmptyTestTable() {
  return {.name = "small",
          .kind = "convolution",
          .source = "made up",
          .machine = "none",
          .commit = "none",
          .workload = PrintWorkload(ConvProgram({1, 14, 14, 32, 64, 1, 1, 0})),
          .target = "cpu:arch=znver4,threads=2"};
}

TableDraw TestDraw(const TableDrawOptions& options, uint32_t spaces) {
  SearchTable table = EmptyTestTable();
  table.spaces = spaces;
  const auto space = SpaceOfTable(table);
  CHECK_OK(space);
  auto draw = DrawTable(table.workload, *space->whole, space->device, options);
  CHECK_OK(draw);
  return *std::move(draw);
}

SearchTable FullTestTable(uint32_t spaces, const TableDrawOptions& options) {
  SearchTable table = EmptyTestTable();
  table.spaces = spaces;
  const auto space = SpaceOfTable(table);
  CHECK_OK(space);
  const TableDraw draw = TestDraw(options, spaces);
  MoveToSketches(space->whole->sketches(), table);
  double least = 1e30;
  for (const DrawnPoint& point : draw.points) least = std::min(least, point.estimate_seconds);
  Rng rng(RngStream{.purpose = "test table"});
  for (size_t i = 0; i < draw.points.size(); ++i) {
    const DrawnPoint& point = draw.points[i];
    const double slower = std::log(point.estimate_seconds / least) + 0.3 * rng.Uniform();
    table.rows.push_back({.index = static_cast<int64_t>(i),
                          .uniform = point.uniform,
                          .sketch = point.proposal.sketch_index,
                          .point = point.proposal.point,
                          .latency_ns = {static_cast<int64_t>(1e6 * (1 + slower))},
                          .estimate_ns = static_cast<int64_t>(1e9 * point.estimate_seconds),
                          .code = "01234567"});
  }
  return table;
}

}  // namespace burnish
