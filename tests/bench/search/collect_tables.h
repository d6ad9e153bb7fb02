// Measures the points of tables until the time is up: the collector's loop.
#ifndef TESTS_BENCH_SEARCH_COLLECT_TABLES_H_
#define TESTS_BENCH_SEARCH_COLLECT_TABLES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "tests/bench/search/search_table.h"
#include "tests/bench/search/table_draw.h"
#include "tuner/measure/measurer.h"

namespace burnish {

struct CollectedTask {
  SearchTable table = {};  // Rows of an earlier run are not measured again.
  TableDraw draw = {};
  std::shared_ptr<const MeasureTask> measure = nullptr;
};

struct CollectProgress {
  int64_t row_count = 0;  // In all tables, those of earlier runs too.
  int64_t row_count_max = 0;
  int64_t measured_count = 0;  // By this run, repetitions included.
  int64_t repeated_count = 0;
  absl::Duration elapsed;
};

struct CollectOptions {
  Measurer* measurer = nullptr;  // These two are not null.
  const Clock* clock = nullptr;
  std::string session = {};  // Unique for ever: begins every trial's name.
  absl::Duration time_max = absl::InfiniteDuration();
  // Of the time; the fastest rows of each table are measured again in it, so that the best of a
  // table is no lucky one. Also what is left when all rows are there.
  double repeat_share = 0.12;
  int repeated_rows = 24;  // Of each table.
  int measurements = 3;    // Of each of these.
  int in_flight_max = 24;  // What keeps builder and runner busy; not tuned.
  // Rows without an answer for so long end the collection: a farm that is gone.
  absl::Duration silence_max = absl::Minutes(2);
  // About twice a second; false: stop. What was measured is in the tables then.
  std::function<bool(const CollectProgress& progress)> on_progress = nullptr;
  // With all that was measured in the tables: a crash loses what came since. Errors end the run.
  std::function<absl::Status()> save = nullptr;
  absl::Duration save_every = absl::Seconds(20);
};

// Round-robin over the tasks, so that every table grows evenly. Lost workers and cancelled jobs
// leave no row. Errors: the measurer's; UNAVAILABLE when it is silent. Tables hold then what came.
absl::Status CollectTables(const CollectOptions& options, std::vector<CollectedTask>& tasks);

}  // namespace burnish

#endif  // TESTS_BENCH_SEARCH_COLLECT_TABLES_H_
