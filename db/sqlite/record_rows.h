// Rows of `record` and `measurement` as values.
#ifndef DB_SQLITE_RECORD_ROWS_H_
#define DB_SQLITE_RECORD_ROWS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "db/sqlite/connection.h"
#include "proto/measurement.pb.h"
#include "proto/record.h"

namespace burnish {

// "SELECT ... FROM record r, ..." that RecordAt reads; what follows is a WHERE over `r` and `w`
// (workload) and `t` (target).
extern const char kSelectRecord[];
// DATA_LOSS: what cannot be read, by its table and row (damaged_row.h).
absl::StatusOr<Record> RecordAt(const SqliteQuery& row, absl::string_view path);

// Likewise for measurements `m`; column 0 is the row id.
extern const char kSelectEntry[];
absl::StatusOr<MeasurementEntry> EntryAt(const SqliteQuery& row, absl::string_view path);

// The `body` of a measurement: a v1.Measurement without what other columns hold.
std::string MeasurementBody(const Measurement& measurement);
std::string EnvironmentBody(const Measurement& measurement);
// DATA_LOSS: no such message. `row_id`: of the measurement.
absl::StatusOr<Measurement> ParseMeasurement(absl::string_view body, v1::Environment environment,
                                             int64_t row_id, absl::string_view path);

}  // namespace burnish

#endif  // DB_SQLITE_RECORD_ROWS_H_
