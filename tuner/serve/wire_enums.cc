#include "tuner/serve/wire_enums.h"

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace burnish {
namespace {

template <typename Value, typename Wire>
struct Row {
  Value value;
  Wire wire;
};

constexpr Row<StudyState, v1::StudySummary::State> kStates[] = {
    {StudyState::kQueued, v1::StudySummary::QUEUED},
    {StudyState::kRunning, v1::StudySummary::RUNNING},
    {StudyState::kInterrupted, v1::StudySummary::INTERRUPTED},
    {StudyState::kDone, v1::StudySummary::DONE},
    {StudyState::kFailed, v1::StudySummary::FAILED},
    {StudyState::kCancelled, v1::StudySummary::CANCELLED},
    {StudyState::kParked, v1::StudySummary::PARKED},
};

constexpr Row<StopReason, v1::StudyEnd::Reason> kReasons[] = {
    {StopReason::kNone, v1::StudyEnd::NOT_RUN_HERE},
    {StopReason::kTrials, v1::StudyEnd::TRIALS},
    {StopReason::kTime, v1::StudyEnd::TIME},
    {StopReason::kGain, v1::StudyEnd::GAIN},
    {StopReason::kNoTaskLeft, v1::StudyEnd::NO_TASK_LEFT},
    {StopReason::kInterrupted, v1::StudyEnd::INTERRUPTED},
    {StopReason::kCancelled, v1::StudyEnd::CANCELLED},
    {StopReason::kMeasurerSilent, v1::StudyEnd::MEASURER_SILENT},
    {StopReason::kNothingMeasured, v1::StudyEnd::NOTHING_MEASURED},
    {StopReason::kParked, v1::StudyEnd::PARKED},
};

constexpr Row<BestOrigin, v1::TaskProgress::BestOrigin> kOrigins[] = {
    {BestOrigin::kNone, v1::TaskProgress::NONE},
    {BestOrigin::kDefault, v1::TaskProgress::DEFAULT},
    {BestOrigin::kHistory, v1::TaskProgress::HISTORY},
    {BestOrigin::kTrial, v1::TaskProgress::TRIAL},
};

constexpr Row<WorkloadMatch, v1::FindBestResponse::WorkloadMatch> kMatches[] = {
    {WorkloadMatch::kNone, v1::FindBestResponse::NONE},
    {WorkloadMatch::kExact, v1::FindBestResponse::EXACT},
    {WorkloadMatch::kSameAnchor, v1::FindBestResponse::SAME_ANCHOR},
};

constexpr Row<absl::StatusCode, v1::StatusCode::Value> kCodes[] = {
    {absl::StatusCode::kOk, v1::StatusCode::OK},
    {absl::StatusCode::kCancelled, v1::StatusCode::CANCELLED},
    {absl::StatusCode::kUnknown, v1::StatusCode::UNKNOWN},
    {absl::StatusCode::kInvalidArgument, v1::StatusCode::INVALID_ARGUMENT},
    {absl::StatusCode::kDeadlineExceeded, v1::StatusCode::DEADLINE_EXCEEDED},
    {absl::StatusCode::kNotFound, v1::StatusCode::NOT_FOUND},
    {absl::StatusCode::kAlreadyExists, v1::StatusCode::ALREADY_EXISTS},
    {absl::StatusCode::kPermissionDenied, v1::StatusCode::PERMISSION_DENIED},
    {absl::StatusCode::kResourceExhausted, v1::StatusCode::RESOURCE_EXHAUSTED},
    {absl::StatusCode::kFailedPrecondition, v1::StatusCode::FAILED_PRECONDITION},
    {absl::StatusCode::kAborted, v1::StatusCode::ABORTED},
    {absl::StatusCode::kOutOfRange, v1::StatusCode::OUT_OF_RANGE},
    {absl::StatusCode::kUnimplemented, v1::StatusCode::UNIMPLEMENTED},
    {absl::StatusCode::kInternal, v1::StatusCode::INTERNAL},
    {absl::StatusCode::kUnavailable, v1::StatusCode::UNAVAILABLE},
    {absl::StatusCode::kDataLoss, v1::StatusCode::DATA_LOSS},
    {absl::StatusCode::kUnauthenticated, v1::StatusCode::UNAUTHENTICATED},
};

template <typename Value, typename Wire, size_t count>
Wire WireOf(const Row<Value, Wire> (&rows)[count], Value value) {
  for (const Row<Value, Wire>& row : rows) {
    if (row.value == value) return row.wire;
  }
  CHECK(false) << "no number on the wire for " << static_cast<int>(value);
  return rows[0].wire;
}

template <typename Value, typename Wire, size_t count>
absl::StatusOr<Value> ValueOf(const Row<Value, Wire> (&rows)[count], Wire wire,
                              absl::string_view what) {
  for (const Row<Value, Wire>& row : rows) {
    if (row.wire == wire) return row.value;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("got ", what, " ", static_cast<int>(wire), ", which has no name here"));
}

}  // namespace

v1::StudySummary::State ToProto(StudyState state) { return WireOf(kStates, state); }
v1::StudyEnd::Reason ToProto(StopReason reason) { return WireOf(kReasons, reason); }
v1::TaskProgress::BestOrigin ToProto(BestOrigin origin) { return WireOf(kOrigins, origin); }
v1::FindBestResponse::WorkloadMatch ToProto(WorkloadMatch match) { return WireOf(kMatches, match); }

// Abseil has codes of its own beside the listed ones; an error never becomes OK.
v1::StatusCode::Value ToProto(absl::StatusCode code) {
  for (const auto& row : kCodes) {
    if (row.value == code) return row.wire;
  }
  return v1::StatusCode::UNKNOWN;
}

absl::StatusOr<StudyState> FromProto(v1::StudySummary::State state) {
  return ValueOf(kStates, state, "study state");
}
absl::StatusOr<StopReason> FromProto(v1::StudyEnd::Reason reason) {
  return ValueOf(kReasons, reason, "reason");
}
absl::StatusOr<BestOrigin> FromProto(v1::TaskProgress::BestOrigin origin) {
  return ValueOf(kOrigins, origin, "best origin");
}
absl::StatusOr<WorkloadMatch> FromProto(v1::FindBestResponse::WorkloadMatch match) {
  return ValueOf(kMatches, match, "match");
}
absl::StatusCode FromProto(v1::StatusCode::Value code) {
  return ValueOf(kCodes, code, "status code").value_or(absl::StatusCode::kUnknown);
}

}  // namespace burnish
