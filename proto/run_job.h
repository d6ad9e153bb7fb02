// What a run job and its result carry (proto/job.proto has the meaning of each field): between
// tuner and runner; the tracker moves the encoded bytes. Hashes are 32 raw bytes.
#ifndef PROTO_RUN_JOB_H_
#define PROTO_RUN_JOB_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "proto/job.h"
#include "proto/measurement.h"

namespace burnish {

struct RunCandidate {
  static constexpr int64_t kIncumbentNsMax = int64_t{1} << 50;  // Thirteen days of one call.

  std::string candidate_id = "";
  std::string artifact_sha256 = "";
  std::string workload = "";
  std::string contract = "";                   // Of the artifact as built.
  std::string reference_artifact_sha256 = "";  // Of candidate 0; empty: none.
  uint64_t seed = 0;                           // Of the inputs.
  Numerics numerics = {};               // As the builder declared: sets the bound of the check.
  int64_t incumbent_ns = 0;             // For early stop; 0: none.
  std::string reference_contract = "";  // Of the reference artifact as built.

  bool operator==(const RunCandidate&) const = default;
};

// Zero in a number means the runner's default for `version`.
struct MeasureMethod {
  // What one job may ask of a farm at most. Times: a runner ends a candidate's process after ten
  // minutes. Arena: twice the largest last cache that a socket has (1.1 GiB would be as cold with
  // less), which a worker keeps in memory. Ratio: far above any that stops early.
  static constexpr absl::Duration kTimeMax = absl::Minutes(10);
  static constexpr int64_t kArenaBytesMax = int64_t{1} << 30;
  static constexpr double kEarlyStopRatioMax = 1e6;

  int32_t version = kMeasureMethodVersion;
  int32_t process_count = 1;
  int32_t repeat_count_min = 0;
  int32_t repeat_count_max = 0;
  absl::Duration repeat_duration_min = absl::ZeroDuration();
  absl::Duration warm_up_min = absl::ZeroDuration();
  double early_stop_ratio = 0;  // 0: never stop early.
  ColdPolicy cold_policy = ColdPolicy::kUnknown;
  int64_t arena_bytes = 0;
  absl::Duration timeout = absl::Seconds(10);  // Of one candidate's child; > 0.
  std::string distribution = "";               // Of float inputs; empty: "normal".
  int64_t model_constant_bytes = 0;            // Of all its constants; 0: not known.

  bool operator==(const MeasureMethod&) const = default;
};

// [pass][step]: which candidate runs there.
struct ModelOrder {
  int32_t step_count = 1;
  int32_t warm_up_pass_count = 0;
  std::vector<int32_t> candidates = {};

  int64_t pass_count() const { return static_cast<int64_t>(candidates.size()) / step_count; }

  bool operator==(const ModelOrder&) const = default;
};

struct RunJob {
  // The tasks of the largest models, twice. Each has an artifact in the worker's memory.
  static constexpr int kCandidatesMax = ArtifactMissing::kCountMax / 2;

  std::vector<RunCandidate> candidates = {};  // At least one; run in this order in one window.
  MeasureMethod method = {};
  std::string target = "";
  std::string model_sha256 = "";  // As in Environment; empty: no model.
  std::optional<ModelOrder> model_order = std::nullopt;

  bool operator==(const RunJob&) const = default;
};

struct RunResult {
  std::vector<Measurement> measurements = {};  // One per candidate, in order.

  bool operator==(const RunResult&) const = default;
};

std::string Encode(const RunJob& job);
std::string Encode(const RunResult& result);

// INVALID_ARGUMENT: not such a message, a number out of the bounds above (or none at all), no
// candidate, a hash that is not 32 bytes, no time limit, an order that is not of whole passes or
// names no candidate, or one without its cold policy. What a slot bounds beyond that is the
// runner's to say.
absl::StatusOr<RunJob> DecodeRunJob(absl::string_view bytes);
absl::StatusOr<RunResult> DecodeRunResult(absl::string_view bytes);

}  // namespace burnish

#endif  // PROTO_RUN_JOB_H_
