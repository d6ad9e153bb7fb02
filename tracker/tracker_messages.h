// The core's tuner-side and people-side types to and from their messages (worker-side:
// proto/synchronize.h).
#ifndef TRACKER_TRACKER_MESSAGES_H_
#define TRACKER_TRACKER_MESSAGES_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tracker/tracker_types.h"

namespace burnish {

namespace v1 {
class CancelJobsRequest;
class CollectResultsRequest;
class CollectResultsResponse;
class GetStatusResponse;
class ListWorkersResponse;
class SubmitJobsRequest;
}  // namespace v1

inline constexpr int kJobsPerSubmitMax = 1024;

// INVALID_ARGUMENT: no or too long a tuner id, too many jobs, or a job that is malformed.
absl::StatusOr<std::vector<JobSpec>> JobsFromProto(const v1::SubmitJobsRequest& message);
v1::SubmitJobsRequest ToProto(const std::string& tuner_id, const std::vector<JobSpec>& jobs,
                              bool resubmission);

// INVALID_ARGUMENT: no or too long a tuner id, or ids of jobs that are too many or too long.
absl::Status Validate(const v1::CancelJobsRequest& message);

// INVALID_ARGUMENT: likewise, of acknowledgements.
absl::StatusOr<CollectRequest> FromProto(const v1::CollectResultsRequest& message);
v1::CollectResultsRequest ToProto(const CollectRequest& request);
v1::CollectResultsResponse ToProto(const Collected& collected);
// `urgent` is not on the wire. INVALID_ARGUMENT: an outcome that says nothing.
absl::StatusOr<Collected> FromProto(const v1::CollectResultsResponse& message);

v1::ListWorkersResponse ToProto(const std::vector<WorkerStatus>& workers);
v1::GetStatusResponse ToProto(const TrackerStatus& status);

}  // namespace burnish

#endif  // TRACKER_TRACKER_MESSAGES_H_
