#include "proto/record.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "proto/measurement.pb.h"
#include "proto/record.pb.h"
#include "proto/workload.pb.h"

namespace burnish {
namespace {

constexpr size_t kHashBytes = 32;
// No candidate's rank is this far from the truth: a factor outside is somebody's mistake.
constexpr double kNetworkFactorMin = 0.01, kNetworkFactorMax = 100;

absl::Status CheckName(absl::string_view field, absl::string_view name, size_t bytes_min) {
  if (name.size() >= bytes_min && name.size() <= MeasurementEntry::kNameBytesMax) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrFormat("entry: got %s of %d bytes, want %d..%d", field,
                                                    name.size(), bytes_min,
                                                    MeasurementEntry::kNameBytesMax));
}

absl::Status CheckNetworkFactor(const MeasurementEntry& entry) {
  const double factor = entry.measurement.network_factor;
  if (factor == 0) return absl::OkStatus();
  if (entry.purpose != Purpose::kRefine || entry.measurement.latencies() == nullptr ||
      !(factor >= kNetworkFactorMin && factor <= kNetworkFactorMax)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "entry %s: got network_factor %g, want 0, or %g..%g with the latencies of a refine",
        entry.trial_id, factor, kNetworkFactorMin, kNetworkFactorMax));
  }
  return absl::OkStatus();
}

absl::Status CheckHash(absl::string_view field, absl::string_view hash) {
  if (hash.empty() || hash.size() == kHashBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("record: got %s of %d bytes, want none or 32", field, hash.size()));
}

}  // namespace

std::string CandidateId(absl::string_view workload_id, absl::string_view target_text,
                        absl::string_view contract, absl::string_view trace,
                        int32_t codegen_epoch) {
  std::string bytes;
  // With their sizes: parts that are cut elsewhere give another id.
  for (absl::string_view part : {workload_id, target_text, contract, trace}) {
    absl::StrAppend(&bytes, part.size(), ":", part);
  }
  absl::StrAppend(&bytes, codegen_epoch);
  return Sha256Bytes(bytes);
}

std::string Candidate::Id() const {
  return CandidateId(workload.id, target.ToText(), contract, trace, codegen_epoch);
}

absl::Status ValidateEntry(const MeasurementEntry& entry) {
  RETURN_IF_ERROR(CheckName("study_id", entry.study_id, 0));
  RETURN_IF_ERROR(CheckName("trial_id", entry.trial_id, 1));
  const int purpose = static_cast<int>(entry.purpose);
  if (purpose < 1 || purpose > static_cast<int>(Purpose::kRefine)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("entry %s: got purpose %d, want 1..4", entry.trial_id, purpose));
  }
  if (entry.number < 0 || (entry.purpose == Purpose::kTrial && entry.number != 0)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("entry %s: got number %d, want %s", entry.trial_id, entry.number,
                        entry.purpose == Purpose::kTrial ? "0 for a trial" : ">= 0"));
  }
  RETURN_IF_ERROR(CheckNetworkFactor(entry));
  if (entry.candidate.workload.id.size() != kHashBytes ||
      entry.candidate.workload.anchor_id.size() != kHashBytes ||
      entry.candidate.workload.text.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("entry ", entry.trial_id, ": the candidate has no workload"));
  }
  // Where it says one: another candidate's latency must never become this one's.
  const std::string& measured_id = entry.measurement.candidate_id;
  if (!measured_id.empty() && measured_id != entry.candidate.Id()) {
    return absl::InvalidArgumentError(
        absl::StrCat("entry ", entry.trial_id, ": the measurement is another candidate's"));
  }
  if (const Latencies* latencies = entry.measurement.latencies()) {
    if (latencies->processes.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("entry ", entry.trial_id, ": latencies of no process"));
    }
    for (const ProcessLatencies& process : latencies->processes) {
      if (process.latency_ns.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat("entry ", entry.trial_id, ": a process without a repeat"));
      }
      for (const int64_t latency_ns : process.latency_ns) {
        if (latency_ns <= 0) {
          return absl::InvalidArgumentError(
              absl::StrFormat("entry %s: got latency %d ns, want > 0", entry.trial_id, latency_ns));
        }
      }
    }
    return absl::OkStatus();
  }
  const FailureKind kind = entry.measurement.failure()->kind;
  if (entry.purpose == Purpose::kTrial && !CountsAsTrial(kind)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("entry %s: got a trial that failed by '%s', which is queued again and not "
                        "recorded",
                        entry.trial_id, FailureKindName(kind)));
  }
  return absl::OkStatus();
}

int64_t Record::isolated_rank_ns() const {
  // Below 2^63, as the rank itself (db/record_summary.cc): a conversion that wraps would make the
  // slowest candidate the fastest.
  constexpr double kMaxNs = 9223372036854774784.0;
  return std::llround(std::min(static_cast<double>(rank_ns) / network_factor, kMaxNs));
}

v1::Candidate ToProto(const Candidate& candidate) {
  v1::Candidate message;
  *message.mutable_workload() = ToProto(candidate.workload);
  message.set_target(candidate.target.ToText());
  message.set_contract(candidate.contract);
  message.set_trace(candidate.trace);
  message.set_codegen_epoch(candidate.codegen_epoch);
  return message;
}

absl::StatusOr<Candidate> FromProto(const v1::Candidate& message) {
  Candidate candidate;
  ASSIGN_OR_RETURN(candidate.workload, FromProto(message.workload()));
  ASSIGN_OR_RETURN(candidate.target, ParseTarget(message.target()));
  candidate.contract = message.contract();
  candidate.trace = message.trace();
  candidate.codegen_epoch = message.codegen_epoch();
  return candidate;
}

v1::MeasurementEntry ToProto(const MeasurementEntry& entry) {
  v1::MeasurementEntry message;
  message.set_study_id(entry.study_id);
  message.set_trial_id(entry.trial_id);
  message.set_purpose(static_cast<v1::MeasurementEntry::Purpose>(entry.purpose));
  message.set_number(entry.number);
  message.set_recorded_ns(entry.recorded_ns);
  *message.mutable_candidate() = ToProto(entry.candidate);
  *message.mutable_measurement() = ToProto(entry.measurement);
  return message;
}

absl::StatusOr<MeasurementEntry> FromProto(const v1::MeasurementEntry& message) {
  MeasurementEntry entry = {
      .study_id = message.study_id(),
      .trial_id = message.trial_id(),
      .purpose = static_cast<Purpose>(message.purpose()),
      .number = message.number(),
      .recorded_ns = message.recorded_ns(),
  };
  ASSIGN_OR_RETURN(entry.candidate, FromProto(message.candidate()));
  ASSIGN_OR_RETURN(entry.measurement, FromProto(message.measurement()));
  RETURN_IF_ERROR(ValidateEntry(entry));
  return entry;
}

v1::Record ToProto(const Record& record) {
  v1::Record message;
  message.set_row_id(record.row_id);
  message.set_candidate_id(record.candidate_id);
  message.set_method_version(record.method_version);
  message.set_workload_id(record.workload_id);
  message.set_anchor_id(record.anchor_id);
  message.set_target(record.target);
  message.set_contract(record.contract);
  message.set_trace(record.trace);
  message.set_codegen_epoch(record.codegen_epoch);
  message.set_rank_ns(record.rank_ns);
  message.set_median_ns(record.median_ns);
  message.set_interval_low_ns(record.interval_low_ns);
  message.set_interval_high_ns(record.interval_high_ns);
  message.set_process_count(record.process_count);
  message.set_repeat_count(record.repeat_count);
  if (record.failure.has_value()) *message.mutable_failure() = ToProto(*record.failure);
  *message.mutable_numerics() = ToProto(record.numerics);
  message.set_scratch_bytes(record.scratch_bytes);
  message.set_packed_bytes(record.packed_bytes);
  message.set_code_bytes(record.code_bytes);
  message.set_lowered_sha256(record.lowered_sha256);
  message.set_code_sha256(record.code_sha256);
  message.set_first_recorded_ns(record.first_recorded_ns);
  message.set_first_trial_id(record.first_trial_id);
  message.set_host(record.host);
  message.set_network_factor(record.network_factor);
  message.set_unconfirmed(record.unconfirmed);
  return message;
}

absl::StatusOr<Record> FromProto(const v1::Record& message) {
  for (const std::string* hash :
       {&message.candidate_id(), &message.workload_id(), &message.anchor_id(),
        &message.lowered_sha256(), &message.code_sha256()}) {
    RETURN_IF_ERROR(CheckHash("a hash", *hash));
  }
  Record record = {
      .row_id = message.row_id(),
      .candidate_id = message.candidate_id(),
      .method_version = message.method_version(),
      .workload_id = message.workload_id(),
      .anchor_id = message.anchor_id(),
      .target = message.target(),
      .contract = message.contract(),
      .trace = message.trace(),
      .codegen_epoch = message.codegen_epoch(),
      .rank_ns = message.rank_ns(),
      .median_ns = message.median_ns(),
      .interval_low_ns = message.interval_low_ns(),
      .interval_high_ns = message.interval_high_ns(),
      .process_count = message.process_count(),
      .repeat_count = message.repeat_count(),
      .numerics = FromProto(message.numerics()),
      .scratch_bytes = message.scratch_bytes(),
      .packed_bytes = message.packed_bytes(),
      .code_bytes = message.code_bytes(),
      .lowered_sha256 = message.lowered_sha256(),
      .code_sha256 = message.code_sha256(),
      .first_recorded_ns = message.first_recorded_ns(),
      .first_trial_id = message.first_trial_id(),
      .host = message.host(),
      // 0 where a program older than the field wrote it: as measured alone.
      .network_factor = message.network_factor() > 0 ? message.network_factor() : 1,
      .unconfirmed = message.unconfirmed(),
  };
  if (message.has_failure()) {
    ASSIGN_OR_RETURN(record.failure, FromProto(message.failure()));
  }
  return record;
}

}  // namespace burnish
