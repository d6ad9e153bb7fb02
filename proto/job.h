// The tracker's unit of work and how it ended (proto/tracker.proto has the meaning of each field).
// The payload is opaque here: proto/build_job.h and proto/run_job.h say what it holds.
#ifndef PROTO_JOB_H_
#define PROTO_JOB_H_

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "proto/measurement.h"

namespace burnish {

namespace v1 {
class JobOutcome;
class JobSpec;
}  // namespace v1

// The numbers are those of v1.JobKind.
enum class JobKind { kBuild = 1, kRun = 2 };

// "build", "run".
absl::string_view JobKindName(JobKind kind);

using Labels = std::map<std::string, std::string>;

struct JobSpec {
  static constexpr int kIdBytesMax = 128;
  static constexpr int kPayloadBytesMax = 1 << 20;
  static constexpr int kCostMax = 64;
  static constexpr int kAvoidedMax = 16;
  static constexpr int kTextBytesMax = 256;  // Of any other text but the payload.

  std::string id = "";
  JobKind kind = JobKind::kBuild;
  std::string device_key = "";  // Empty: any slot of this kind.
  Labels labels = {};           // A slot must have all of these.
  std::string study = "";
  int32_t priority = 0;  // Higher first.
  int32_t cost = 1;      // For fairness between studies, in candidates; 1 to kCostMax.
  absl::Duration timeout = absl::ZeroDuration();  // Zero: a lease may last for ever.
  std::string payload = "";
  // Worker ids, at most kAvoidedMax: they get it only where no other worker could do it.
  std::vector<std::string> avoid_workers = {};

  bool operator==(const JobSpec&) const = default;
};

// The content store has forgotten these artifacts: the tuner has them built again.
struct ArtifactMissing {
  static constexpr int kCountMax = 1 << 13;  // Two of each candidate of a run job.

  std::vector<std::string> sha256;  // 32 raw bytes each; at least one.

  bool operator==(const ArtifactMissing&) const = default;
};

// The worker could not do its part, or crashed over the job: no fault of the candidate as far as
// anybody knows, so the job goes to another worker, at most three times.
struct WorkerFault {
  std::string message;
  // It came from outside, and is no evidence: somebody killed what ran, others hold the CPUs.
  bool interrupted = false;
  // The job's doing: this worker cannot do it as it is asked to.
  bool refused = false;

  bool operator==(const WorkerFault&) const = default;
};

// std::string: the result's payload, in which a candidate may have failed. Failure: the tracker's
// own, kCancelled, kPoisoned or kParked.
using JobOutcome = std::variant<std::string, Failure, ArtifactMissing, WorkerFault>;

v1::JobSpec ToProto(const JobSpec& job);
v1::JobOutcome ToProto(const JobOutcome& outcome);

// INVALID_ARGUMENT where an id is empty or too long, a kind is unknown, a cost or a size is out of
// its bounds, a duration is negative, or an outcome says nothing.
absl::StatusOr<JobSpec> FromProto(const v1::JobSpec& message);
absl::StatusOr<JobOutcome> FromProto(const v1::JobOutcome& message);

}  // namespace burnish

#endif  // PROTO_JOB_H_
