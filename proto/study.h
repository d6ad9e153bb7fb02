// What a user submitted, and what its tuner must remember to go on after a crash.
// proto/study.proto has the meaning and unit of each field.
#ifndef PROTO_STUDY_H_
#define PROTO_STUDY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/calibration_row.h"

namespace burnish {

namespace v1 {
class StudyLogEntry;
class StudySpec;
}  // namespace v1

struct StudySpec {
  static constexpr int64_t kTrialsUntilGain = -1;

  std::string task;
  std::string model_path;
  std::string model_sha256;
  std::string target;
  int64_t trials_max = kTrialsUntilGain;
  int64_t time_max_ns = 0;
  double gain_min = 0.005;
  int32_t early_stopping_trials = 0;
  std::map<std::string, std::string> shapes;
  int32_t batch = 1;
  std::string scheduler = "burnish";
  std::string strategy = "evolutionary";
  std::string task_scheduler = "gradient";
  std::string cost_model = "xgboost";
  bool no_default = false;
  bool deterministic = false;
  double error_max = 1e-4;
  bool strict = false;
  int32_t opt_level = 3;
  uint64_t seed = 0;
  std::string out_path;
  int32_t priority = 0;
  bool served = false;
  bool no_refine = false;
  std::optional<CalibrationRow> calibration;
  std::string client_sha256;
  std::string precision = "f32";
  std::string data_path;
  std::string data_sha256;
  std::map<std::string, std::string> layer_types;
  std::map<std::string, std::pair<double, double>> ranges;  // Least, greatest.

  bool operator==(const StudySpec&) const = default;
};

// The numbers are those of stored rows: never reused.
enum class StudyState {
  kQueued = 1,
  kRunning = 2,
  kInterrupted = 3,  // Its tuner stopped; `resume` goes on.
  kDone = 4,
  kFailed = 5,
  kCancelled = 6,
  // Nobody goes on with it until `resume`: its processes crashed, or the farm gave up.
  kParked = 7,
};
inline constexpr int kStudyStateCount = 7;

// "queued", "running", ...
absl::string_view StudyStateName(StudyState state);

// True for kDone, kFailed and kCancelled. A failed or cancelled study may be resumed, a done one
// is over.
bool IsTerminal(StudyState state);

// Whether a study may go from one state to the other. A state may follow itself: a retried change
// does no harm.
bool CanFollow(StudyState from, StudyState to);

enum class StudyLogKind { kUpdate = 1, kSnapshot = 2, kPhase = 3 };

struct StudyLogEntry {
  StudyLogKind kind = StudyLogKind::kUpdate;
  int32_t task_index = -1;
  std::vector<std::string> trial_ids;
  std::string snapshot_id;
  int64_t round = 0;

  bool operator==(const StudyLogEntry&) const = default;
};

v1::StudySpec ToProto(const StudySpec& spec);
v1::StudyLogEntry ToProto(const StudyLogEntry& entry);

// INVALID_ARGUMENT: neither a task nor a model (or both), numbers out of bounds, an unknown kind.
absl::StatusOr<StudySpec> FromProto(const v1::StudySpec& message);
absl::StatusOr<StudyLogEntry> FromProto(const v1::StudyLogEntry& message);

}  // namespace burnish

#endif  // PROTO_STUDY_H_
