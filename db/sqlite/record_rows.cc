#include "db/sqlite/record_rows.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/measurement.pb.h"
#include "proto/trace.h"

namespace burnish {
namespace {

absl::Status Damaged(absl::string_view path, absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("database ", path, " is damaged: ", what,
                   "; hint: put back a copy, or save what is left: sqlite3 FILE .recover"));
}

absl::StatusOr<std::string> TraceAt(const SqliteQuery& row, int sketch_column,
                                    int decisions_column) {
  const absl::StatusOr<std::string> trace =
      JoinTrace({.sketch = row.BytesAt(sketch_column), .decisions = row.BytesAt(decisions_column)});
  // This program wrote it, so what does not join was changed by something else.
  if (!trace.ok()) return absl::DataLossError(trace.status().message());
  return trace;
}

}  // namespace

// CROSS JOIN fixes the order: the row of `record` is found first, then what it names by row id.
const char kSelectRecord[] = R"sql(
SELECT r.id, r.candidate_id, r.method_version, w.sha256, w.anchor_sha256, t.text, c.text, k.text,
  r.decisions, r.codegen_epoch, r.rank_ns, r.median_ns, r.interval_low_ns, r.interval_high_ns,
  r.process_count, r.repeat_count, r.failure_kind, r.failure_text, r.numerics_kind,
  r.numerics_parameter, r.numerics_error, r.scratch_bytes, r.packed_bytes, r.code_bytes,
  r.lowered_sha256, r.code_sha256,
  r.first_recorded_ns, r.first_trial_id, r.host, r.network_factor, r.numerics_algorithm
FROM record r CROSS JOIN workload w ON w.id = r.workload_id CROSS JOIN target t ON t.id = r.target_id
  CROSS JOIN contract c ON c.id = r.contract_id CROSS JOIN sketch k ON k.id = r.sketch_id
)sql";

absl::StatusOr<Record> RecordAt(const SqliteQuery& row) {
  Record record = {
      .row_id = row.IntAt(0),
      .candidate_id = row.BytesAt(1),
      .method_version = static_cast<int32_t>(row.IntAt(2)),
      .workload_id = row.BytesAt(3),
      .anchor_id = row.BytesAt(4),
      .target = row.BytesAt(5),
      .contract = row.BytesAt(6),
      .codegen_epoch = static_cast<int32_t>(row.IntAt(9)),
      .rank_ns = row.IntAt(10),
      .median_ns = row.IntAt(11),
      .interval_low_ns = row.IntAt(12),
      .interval_high_ns = row.IntAt(13),
      .process_count = static_cast<int32_t>(row.IntAt(14)),
      .repeat_count = static_cast<int32_t>(row.IntAt(15)),
      .numerics = {.kind = static_cast<NumericsClass>(row.IntAt(18)),
                   .algorithm = row.BytesAt(30),
                   .parameter = static_cast<int32_t>(row.IntAt(19)),
                   .error = row.RealAt(20)},
      .scratch_bytes = row.IntAt(21),
      .packed_bytes = row.IntAt(22),
      .code_bytes = row.IntAt(23),
      .lowered_sha256 = row.BytesAt(24),
      .code_sha256 = row.BytesAt(25),
      .first_recorded_ns = row.IntAt(26),
      .first_trial_id = row.BytesAt(27),
      .host = row.BytesAt(28),
      .network_factor = row.RealAt(29),
  };
  ASSIGN_OR_RETURN(record.trace, TraceAt(row, 7, 8));
  if (!row.IsNull(16)) {
    record.failure =
        Failure{.kind = static_cast<FailureKind>(row.IntAt(16)), .message = row.BytesAt(17)};
  }
  return record;
}

const char kSelectEntry[] = R"sql(
SELECT m.id, s.name, m.trial_id, m.purpose, m.number, m.recorded_ns, w.text, w.sha256,
  w.anchor_sha256, t.text, c.text, k.text, r.decisions, r.codegen_epoch, r.candidate_id, m.body,
  e.body
FROM measurement m CROSS JOIN study_name s ON s.id = m.study_id
  CROSS JOIN environment e ON e.id = m.environment_id CROSS JOIN record r ON r.id = m.record_id
  CROSS JOIN workload w ON w.id = r.workload_id CROSS JOIN target t ON t.id = r.target_id
  CROSS JOIN contract c ON c.id = r.contract_id CROSS JOIN sketch k ON k.id = r.sketch_id
)sql";

absl::StatusOr<MeasurementEntry> EntryAt(const SqliteQuery& row, absl::string_view path) {
  MeasurementEntry entry = {
      .study_id = row.BytesAt(1),
      .trial_id = row.BytesAt(2),
      .purpose = static_cast<Purpose>(row.IntAt(3)),
      .number = static_cast<int32_t>(row.IntAt(4)),
      .recorded_ns = row.IntAt(5),
      .candidate = {.workload = {.text = row.BytesAt(6),
                                 .id = row.BytesAt(7),
                                 .anchor_id = row.BytesAt(8)},
                    .contract = row.BytesAt(10),
                    .codegen_epoch = static_cast<int32_t>(row.IntAt(13))},
  };
  ASSIGN_OR_RETURN(entry.candidate.trace, TraceAt(row, 11, 12));
  const absl::StatusOr<Target> target = ParseTarget(row.BytesAt(9));
  if (!target.ok()) return Damaged(path, target.status().message());
  entry.candidate.target = *target;
  ASSIGN_OR_RETURN(entry.measurement, ParseMeasurement(row.BytesAt(15), row.BytesAt(16), path));
  entry.measurement.candidate_id = row.BytesAt(14);
  return entry;
}

std::string MeasurementBody(const Measurement& measurement) {
  v1::Measurement message = ToProto(measurement);
  // The candidate's id stands in its record, the environment in a row that many measurements share.
  // Both are put back by EntryAt.
  message.clear_candidate_id();
  message.clear_environment();
  return message.SerializeAsString();
}

std::string EnvironmentBody(const Measurement& measurement) {
  return ToProto(measurement).environment().SerializeAsString();
}

absl::StatusOr<Measurement> ParseMeasurement(absl::string_view body, absl::string_view environment,
                                             absl::string_view path) {
  v1::Measurement message;
  if (!message.ParseFromArray(body.data(), static_cast<int>(body.size())) ||
      !message.mutable_environment()->ParseFromArray(environment.data(),
                                                     static_cast<int>(environment.size()))) {
    return Damaged(path, "a measurement is no message");
  }
  absl::StatusOr<Measurement> measurement = FromProto(message);
  if (!measurement.ok()) return Damaged(path, measurement.status().message());
  return measurement;
}

}  // namespace burnish
