#include "db/sqlite/record_rows.h"

#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "db/sqlite/damaged_row.h"
#include "proto/trace.h"
#include "proto/workload.h"

namespace burnish {
namespace {

constexpr size_t kHashBytes = 32;

// Rows of which a trace is made, by number.
struct TraceRows {
  int64_t record = 0, sketch = 0;
  std::string sketch_hash;
};

absl::StatusOr<std::string> TraceAt(const SqliteQuery& row, int sketch_column, int decisions_column,
                                    const TraceRows& rows, absl::string_view path) {
  const std::string sketch = row.BytesAt(sketch_column);
  const absl::StatusOr<std::string> trace =
      JoinTrace({.sketch = sketch, .decisions = row.BytesAt(decisions_column)});
  if (trace.ok()) return trace;
  // This program wrote it, so what does not join was changed by something else. Many records may
  // share the sketch.
  if (Sha256Bytes(sketch) != rows.sketch_hash) {
    return DamagedRow(path, "sketch", rows.sketch, "its text is not what its hash says");
  }
  return DamagedRow(path, "record", rows.record, trace.status().message());
}

// Null: nothing that would be a wrong answer, or that a reader stumbles over.
const char* WhatIsWrongWith(const Record& record) {
  if (record.candidate_id.size() != kHashBytes) return "its candidate is no hash";
  if (!std::isfinite(record.network_factor) || record.network_factor < 0) {
    return "its factor in a network is no factor";
  }
  if (std::isnan(record.numerics.error)) return "its error is no number";
  if (record.failure.has_value()) {
    const auto kind = static_cast<int64_t>(record.failure->kind);
    return kind < 1 || kind > kFailureKindCount ? "its failure is of no kind" : nullptr;
  }
  return record.rank_ns < 0 || record.median_ns < 0 ? "its time is none" : nullptr;
}

}  // namespace

// CROSS JOIN fixes the order: the row of `record` is found first, then what it names by row id.
const char kSelectRecord[] = R"sql(
SELECT r.id, r.candidate_id, r.method_version, w.sha256, w.anchor_sha256, t.text, c.text, k.text,
  r.decisions, r.codegen_epoch, r.rank_ns, r.median_ns, r.interval_low_ns, r.interval_high_ns,
  r.process_count, r.repeat_count, r.failure_kind, r.failure_text, r.numerics_kind,
  r.numerics_parameter, r.numerics_error, r.scratch_bytes, r.packed_bytes, r.code_bytes,
  r.lowered_sha256, r.code_sha256,
  r.first_recorded_ns, r.first_trial_id, r.host, r.network_factor, r.numerics_algorithm,
  k.id, k.sha256, w.id, r.unconfirmed
FROM record r CROSS JOIN workload w ON w.id = r.workload_id CROSS JOIN target t ON t.id = r.target_id
  CROSS JOIN contract c ON c.id = r.contract_id CROSS JOIN sketch k ON k.id = r.sketch_id
)sql";

absl::StatusOr<Record> RecordAt(const SqliteQuery& row, absl::string_view path) {
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
      .unconfirmed = row.IntAt(34) != 0,
  };
  if (!row.IsNull(16)) {
    record.failure =
        Failure{.kind = static_cast<FailureKind>(row.IntAt(16)), .message = row.BytesAt(17)};
  }
  if (const char* wrong = WhatIsWrongWith(record); wrong != nullptr) {
    return DamagedRow(path, "record", record.row_id, wrong);
  }
  if (record.workload_id.size() != kHashBytes || record.anchor_id.size() != kHashBytes) {
    return DamagedRow(path, "workload", row.IntAt(33), "its name is no hash");
  }
  ASSIGN_OR_RETURN(
      record.trace,
      TraceAt(row, 7, 8,
              {.record = record.row_id, .sketch = row.IntAt(31), .sketch_hash = row.BytesAt(32)},
              path));
  return record;
}

const char kSelectEntry[] = R"sql(
SELECT m.id, s.name, m.trial_id, m.purpose, m.number, m.recorded_ns, w.text, w.sha256,
  w.anchor_sha256, t.text, c.text, k.text, r.decisions, r.codegen_epoch, r.candidate_id, m.body,
  e.body, e.id, r.id, k.id, k.sha256, t.id
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
  const int64_t number = row.IntAt(0);
  if (row.IntAt(3) < 1 || row.IntAt(3) > static_cast<int64_t>(Purpose::kRefine)) {
    return DamagedRow(path, "measurement", number, "it has no purpose");
  }
  ASSIGN_OR_RETURN(
      entry.candidate.trace,
      TraceAt(row, 11, 12,
              {.record = row.IntAt(18), .sketch = row.IntAt(19), .sketch_hash = row.BytesAt(20)},
              path));
  const absl::StatusOr<Target> target = ParseTarget(row.BytesAt(9));
  if (!target.ok()) {
    return DamagedRow(path, "target", row.IntAt(21), target.status().message());
  }
  entry.candidate.target = *target;
  v1::Environment environment;
  if (!environment.ParseFromString(row.BytesAt(16))) {
    return DamagedRow(path, "environment", row.IntAt(17), "it is no message");
  }
  ASSIGN_OR_RETURN(entry.measurement,
                   ParseMeasurement(row.BytesAt(15), std::move(environment), number, path));
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

absl::StatusOr<Measurement> ParseMeasurement(absl::string_view body, v1::Environment environment,
                                             int64_t row_id, absl::string_view path) {
  v1::Measurement message;
  if (!message.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return DamagedRow(path, "measurement", row_id, "it is no message");
  }
  *message.mutable_environment() = std::move(environment);
  absl::StatusOr<Measurement> measurement = FromProto(message);
  if (!measurement.ok()) {
    return DamagedRow(path, "measurement", row_id, measurement.status().message());
  }
  return measurement;
}

}  // namespace burnish
