// The enums of tuner.proto and those of the code: the one place that knows both.
#ifndef TUNER_SERVE_WIRE_ENUMS_H_
#define TUNER_SERVE_WIRE_ENUMS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/record_store.h"
#include "proto/study.h"
#include "proto/tuner.pb.h"
#include "tuner/study/study_types.h"

namespace burnish {

v1::StudySummary::State ToProto(StudyState state);
v1::StudyEnd::Reason ToProto(StopReason reason);
v1::TaskProgress::BestOrigin ToProto(BestOrigin origin);
v1::FindBestResponse::WorkloadMatch ToProto(WorkloadMatch match);
v1::StatusCode::Value ToProto(absl::StatusCode code);

// INVALID_ARGUMENT: a number that has no name here, as of a newer version.
absl::StatusOr<StudyState> FromProto(v1::StudySummary::State state);
absl::StatusOr<StopReason> FromProto(v1::StudyEnd::Reason reason);
absl::StatusOr<BestOrigin> FromProto(v1::TaskProgress::BestOrigin origin);
absl::StatusOr<WorkloadMatch> FromProto(v1::FindBestResponse::WorkloadMatch match);
// A number that has no name is kUnknown: an error stays one.
absl::StatusCode FromProto(v1::StatusCode::Value code);

}  // namespace burnish

#endif  // TUNER_SERVE_WIRE_ENUMS_H_
