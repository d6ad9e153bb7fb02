// A table of a small convolution whose latencies are a formula: for tests.
#ifndef TESTS_BENCH_SEARCH_TEST_TABLES_H_
#define TESTS_BENCH_SEARCH_TEST_TABLES_H_

#include "tests/bench/search/search_table.h"
#include "tests/bench/search/table_draw.h"

namespace burnish {

// Without rows.
SearchTable EmptyTestTable();

// Each point of the draw takes 1 ms and a share that grows with the distance of its estimate's
// logarithm from the best one's, but for a factor by its place that no model can know. `spaces`: a
// set of SketchSpace.
SearchTable FullTestTable(uint32_t spaces = kTemplates, const TableDrawOptions& options = {});

// What the collector draws for these.
TableDraw TestDraw(const TableDrawOptions& options = {}, uint32_t spaces = kTemplates);

}  // namespace burnish

#endif  // TESTS_BENCH_SEARCH_TEST_TABLES_H_
