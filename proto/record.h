// What a tuner stores: measurements of candidates (an append-only log), and the records derived
// from them. proto/record.proto has the meaning and unit of each field.
#ifndef PROTO_RECORD_H_
#define PROTO_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/target/target.h"
#include "proto/measurement.h"
#include "proto/workload.h"

namespace burnish {

namespace v1 {
class Candidate;
class MeasurementEntry;
class Record;
}  // namespace v1

struct Candidate {
  Workload workload;
  Target target;
  std::string contract;
  std::string trace;
  int32_t codegen_epoch = 0;

  // SHA-256 over workload, target, contract, trace and epoch, 32 raw bytes.
  std::string Id() const;

  bool operator==(const Candidate&) const = default;
};

// `workload_id`: 32 raw bytes. Each part is preceded by its length, so that no two candidates have
// the same bytes; never of the trace alone, which two workloads may share.
std::string CandidateId(absl::string_view workload_id, absl::string_view target_text,
                        absl::string_view contract, absl::string_view trace, int32_t codegen_epoch);

// The numbers are those of v1.MeasurementEntry.Purpose and of stored rows: never reused.
enum class Purpose { kTrial = 1, kReference = 2, kProbe = 3, kRefine = 4 };

struct MeasurementEntry {
  static constexpr size_t kNameBytesMax = 128;

  std::string study_id;  // May be empty: no study.
  std::string trial_id;
  Purpose purpose = Purpose::kTrial;
  int32_t number = 0;
  int64_t recorded_ns = 0;
  Candidate candidate;
  Measurement measurement;  // Its candidate_id is empty or that of `candidate`.

  bool operator==(const MeasurementEntry&) const = default;
};

// INVALID_ARGUMENT: names that are empty or too long, a TRIAL with another number than 0, another
// candidate's measurement, or a TRIAL of a lost worker or a cancelled job, which would take the
// place of the trial's real result; a factor that is no REFINE's or out of bounds.
absl::Status ValidateEntry(const MeasurementEntry& entry);

struct Record {
  int64_t row_id = 0;
  std::string candidate_id;
  int32_t method_version = 0;
  std::string workload_id;
  std::string anchor_id;
  std::string target;
  std::string contract;
  std::string trace;
  int32_t codegen_epoch = 0;
  int64_t rank_ns = 0;
  int64_t median_ns = 0;
  int64_t interval_low_ns = 0;
  int64_t interval_high_ns = 0;
  int32_t process_count = 0;
  int32_t repeat_count = 0;
  std::optional<Failure> failure;
  Numerics numerics;
  int64_t scratch_bytes = 0;
  int64_t packed_bytes = 0;
  int64_t code_bytes = 0;
  std::string lowered_sha256;
  std::string code_sha256;
  int64_t first_recorded_ns = 0;
  std::string first_trial_id;
  std::string host;
  // The last verdict of a `refine` in a network, which is in `rank_ns`; 1: none. The other
  // latencies are those alone.
  double network_factor = 1;

  // Workers of farms measured, all from one address (Measurement): the time is one machine's word.
  bool unconfirmed = false;

  // What it would be ranked by without the verdict.
  int64_t isolated_rank_ns() const;

  // It has latencies, and nothing that was measured later spoke against it.
  bool successful() const { return rank_ns > 0 && !failure.has_value(); }

  bool operator==(const Record&) const = default;
};

v1::Candidate ToProto(const Candidate& candidate);
absl::StatusOr<Candidate> FromProto(const v1::Candidate& message);
v1::MeasurementEntry ToProto(const MeasurementEntry& entry);
absl::StatusOr<MeasurementEntry> FromProto(const v1::MeasurementEntry& message);
v1::Record ToProto(const Record& record);
absl::StatusOr<Record> FromProto(const v1::Record& message);

}  // namespace burnish

#endif  // PROTO_RECORD_H_
