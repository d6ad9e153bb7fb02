// What worker and tracker tell each other in one Synchronize call (proto/tracker.proto has the
// meaning of each field). Both sides say state, so losing or repeating a message does no harm.
#ifndef PROTO_SYNCHRONIZE_H_
#define PROTO_SYNCHRONIZE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/calibration_row.h"
#include "proto/job.h"

namespace burnish {

namespace v1 {
class SlotInfo;
class SynchronizeRequest;
class SynchronizeResponse;
}  // namespace v1

struct Lease {
  std::string job_id = "";
  int64_t epoch = 0;  // Unique over the tracker's life and its restarts; > 0.

  bool operator==(const Lease&) const = default;
};

// Label of a run slot: the most threads that a target of its jobs may have.
inline constexpr char kThreadsLabel[] = "threads";

// What a slot can do.
struct SlotInfo {
  static constexpr int kDeviceKeysMax = 64;
  static constexpr int kLabelsMax = 32;
  static constexpr int kTextBytesMax = 4096;  // A target's, with all of its features, has half.

  JobKind kind = JobKind::kBuild;
  std::vector<std::string> device_keys = {};  // Empty: any.
  Labels labels = {};

  bool operator==(const SlotInfo&) const = default;
};

struct HeldResult {
  Lease lease = {};
  std::optional<JobOutcome> outcome = std::nullopt;  // Absent: the tracker said that it has it.

  bool operator==(const HeldResult&) const = default;
};

struct SlotReport {
  SlotInfo info = {};
  std::optional<Lease> executing = std::nullopt;  // Absent: idle.
  bool cancelling = false;                        // `executing` was told to stop.
  bool waiting = false;                           // `executing` waits for others on its host.
  std::vector<HeldResult> results = {};           // At most WorkerReport::kHeldResultsMax.

  bool operator==(const SlotReport&) const = default;
};

struct WorkerReport {
  static constexpr int kIdBytesMax = 128;
  static constexpr int kHostBytesMax = 256;
  static constexpr int kSlotsMax = 256;
  static constexpr int64_t kEpochMax = int64_t{1} << 62;
  // A slot with so many gets no job. A study has 64 trials in flight, and the build of each is held
  // until its trial has ended. A build that those trials wait for, of their reference or of what
  // the store has forgotten, must find room behind them, or all wait for ever: four windows.
  static constexpr int kHeldResultsMax = 256;
  // Of all slots. A tracker remembers each for as long as it is reported.
  static constexpr int kHeldOfAllMax = 16 * 2 * kHeldResultsMax;

  std::string worker_id = "";  // Stays the same over restarts.
  std::string host = "";
  int64_t incarnation = 0;  // Of its process, drawn at random; > 0.
  int64_t epoch = 0;        // The highest that a tracker gave this incarnation; 0: none yet.
  int64_t sequence = 0;     // Higher in each report of an incarnation; > 0.
  bool leaving = false;     // Wants no more jobs.
  std::vector<SlotReport> slots = {};
  std::optional<CalibrationRow> calibration = std::nullopt;  // Of its machine.
  // Where the call came from: HostKey, or kOwnAddress. The tracker's to say, so that no message has
  // it.
  std::string address = "";

  bool operator==(const WorkerReport&) const = default;
};

struct SlotOrders {
  std::optional<Lease> lease = std::nullopt;  // Absent: execute nothing.
  std::optional<JobSpec> job = std::nullopt;  // Absent: the worker executes `lease` already.
  std::vector<std::string> received = {};     // Job ids: the outcome need not be sent again.
  std::vector<std::string> send = {};         // Job ids: send the outcome again.
  std::vector<std::string> discard = {};      // Job ids: nobody needs the result any more.

  bool operator==(const SlotOrders&) const = default;
};

struct WorkerOrders {
  int64_t sequence = 0;  // Of the report that this answers.
  int64_t epoch = 0;     // Of the incarnation.
  std::vector<SlotOrders> slots = {};
  bool draining = false;
  absl::Duration lease_duration = absl::ZeroDuration();

  bool operator==(const WorkerOrders&) const = default;
};

v1::SlotInfo ToProto(const SlotInfo& info);
v1::SynchronizeRequest ToProto(const WorkerReport& report);
v1::SynchronizeResponse ToProto(const WorkerOrders& orders);

// INVALID_ARGUMENT where ids or counts are out of their bounds, an epoch or a sequence is not
// positive, or a job or an outcome is malformed.
absl::StatusOr<WorkerReport> FromProto(const v1::SynchronizeRequest& message);
absl::StatusOr<WorkerOrders> FromProto(const v1::SynchronizeResponse& message);

}  // namespace burnish

#endif  // PROTO_SYNCHRONIZE_H_
