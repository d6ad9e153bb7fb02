// A table of measured points of one task's space, as JSON: what searches are replayed on.
#ifndef TESTS_BENCH_SEARCH_SEARCH_TABLE_H_
#define TESTS_BENCH_SEARCH_SEARCH_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/schedule/decision.h"
#include "proto/calibration_row.h"
#include "proto/measurement.h"
#include "tuner/sketch/sketch.h"

namespace burnish {

// A sketch by what its points mean; which steps it has the workload and the rules say.
struct TableSketch {
  std::string name = {};
  std::vector<std::string> decisions = {};  // Their names, in the order of a point.

  bool operator==(const TableSketch&) const = default;
};

struct TableRow {
  int64_t index = 0;    // In the order of the draw (table_draw.h).
  bool uniform = true;  // False: it joined by its estimate, and no uniform sample has it.
  int sketch = 0;       // In the table's.
  Point point = {};
  // Of each measurement the least of its repeats; empty: it failed.
  std::vector<int64_t> latency_ns = {};
  std::optional<FailureKind> failure = std::nullopt;
  int64_t estimate_ns = 0;  // By the analytic model with the table's calibration row.
  std::string code = {};    // First 8 hexadecimal digits of the code's SHA-256; empty: not built.

  // The median; 0: it failed.
  int64_t rank_ns() const;

  bool operator==(const TableRow&) const = default;
};

struct SearchTable {
  static constexpr int kSchema = 1;

  std::string name = {};  // Of a row of operators.toml, with its class and source.
  std::string kind = {};
  std::string source = {};
  std::string machine = {};   // For people.
  std::string commit = {};    // Where the collection began.
  std::string workload = {};  // Canonical text.
  std::string contract = {};
  std::string target = {};  // Canonical text.
  std::optional<CalibrationRow> calibration = std::nullopt;
  // Whose sketches it has: a set of SketchSpace. Tables from before there was more than one have
  // those of templates.
  uint32_t spaces = kTemplates;
  int64_t space_count = 0;  // Valid points of the whole space, before twins are counted once.
  bool space_exact = true;
  std::vector<TableSketch> sketches = {};
  std::vector<TableRow> rows = {};  // By index.

  bool operator==(const SearchTable&) const = default;
};

// Of templates, generator or all. INVALID_ARGUMENT: another name.
absl::StatusOr<uint32_t> SpacesOfName(absl::string_view name);

// Equal tables have equal bytes. One row a line.
std::string PrintTable(const SearchTable& table);

// INVALID_ARGUMENT: no such JSON, or a row that names no sketch or has another number of values.
absl::StatusOr<SearchTable> ParseTable(absl::string_view text);

// From a file of at most 64 MiB. NOT_FOUND: there is none; else as ParseTable.
absl::StatusOr<SearchTable> ReadTable(const std::string& path);

}  // namespace burnish

#endif  // TESTS_BENCH_SEARCH_SEARCH_TABLE_H_
