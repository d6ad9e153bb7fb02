// Between the messages of proto/tuner.proto and the values that commands use. What comes from the
// network is checked: INVALID_ARGUMENT for what cannot be.
#ifndef TUNER_SERVE_TUNER_MESSAGES_H_
#define TUNER_SERVE_TUNER_MESSAGES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "db/record_store.h"
#include "db/study_store.h"
#include "proto/tuner.pb.h"
#include "tuner/app/query_records.h"
#include "tuner/app/study_view.h"
#include "tuner/study/study_types.h"

namespace burnish {

v1::StudySummary ToProto(const StudySummary& summary);
absl::StatusOr<StudySummary> FromProto(const v1::StudySummary& message);

v1::StudyView ToProto(const StudyView& view);
absl::StatusOr<StudyView> FromProto(const v1::StudyView& message);

// Without traces: a progress is for people.
v1::StudyProgress ToProto(const StudyProgress& progress);
absl::StatusOr<StudyProgress> FromProto(const v1::StudyProgress& message);

// How a run ended: by itself, or before the study was done.
struct StudyEnding {
  StopReason reason = StopReason::kNone;
  absl::Status error = {};  // OK: the study is done.
};
v1::StudyEnd ToProto(const StudyEnding& ending);
// A reason that has no name here, as of a newer version, is kNone: that it ended counts.
StudyEnding FromProto(const v1::StudyEnd& message);

v1::FindBestRequest ToProto(const BestQuery& query);
absl::StatusOr<BestQuery> FromProto(const v1::FindBestRequest& message);
v1::FindBestResponse ToProto(const BestAnswer& answer);
absl::StatusOr<BestAnswer> FromProto(const v1::FindBestResponse& message);

// Without `model_path`, which is of another machine.
v1::QueryRecordsRequest ToProto(const RecordsQuestion& question);
absl::StatusOr<RecordsQuestion> FromProto(const v1::QueryRecordsRequest& message);
v1::QueryRecordsResponse ToProto(const RecordsAnswer& answer);
absl::StatusOr<RecordsAnswer> FromProto(const v1::QueryRecordsResponse& message);

// An error's number, place and hint, serialised; empty for OK and where there is no number.
std::string ErrorDetailOf(const absl::Status& status);
// `status` with what ErrorDetailOf gave; without a number that this version knows, as it is.
absl::Status WithErrorDetail(const absl::Status& status, absl::string_view detail);

}  // namespace burnish

#endif  // TUNER_SERVE_TUNER_MESSAGES_H_
