// What people ask a tracker: who works for it, and how it is.
#ifndef TUNER_APP_FARM_CLIENT_H_
#define TUNER_APP_FARM_CLIENT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "compiler/target/target.h"
#include "proto/calibration_row.h"

namespace burnish {

struct FarmSlot {
  std::string kind;  // "build" or "run"
  std::vector<std::string> device_keys;
  std::map<std::string, std::string> labels;
  std::string job_id;  // Empty: idle.
  absl::Duration executing_for;
  int64_t done_count = 0;
  int64_t fault_count = 0;
  absl::Duration paused_for;  // After faults.
};

struct FarmWorker {
  std::string id;
  std::string host;
  std::string state;  // "alive", "draining", "leaving" or "lost"
  absl::Duration since_seen;
  std::vector<FarmSlot> slots;
  std::optional<CalibrationRow> calibration;  // Of its machine; nothing: it was not measured.
  std::vector<std::string> doubted_by;        // Studies that avoid it: they doubt its results.
};

// Whose row holds for studies of the device key: the first worker's that runs jobs of it, is not
// lost and has one; in the tracker's order, which is the same for everybody who asks. Null: none.
const FarmWorker* FirstWithRow(absl::Span<const FarmWorker> workers, absl::string_view device_key);

// How far the worker's row is from the one that holds for its first device key (Drift); 0: it is
// that one. Nothing: it has no row, or runs no jobs.
std::optional<double> RowDeviation(absl::Span<const FarmWorker> workers, const FarmWorker& worker);

// Errors, B0101 with the number of threads that would do: workers run jobs of the target's device
// key, and none of them has a CPU for each of its threads. OK where no worker has the key: such a
// study waits for one. A worker that does not say how many it has may have enough.
absl::Status CheckThreads(absl::Span<const FarmWorker> workers, const Target& target);

struct FarmStatus {
  std::string version;
  absl::Duration uptime;
  int64_t worker_count = 0;
  int64_t queued_count = 0;
  int64_t leased_count = 0;
};

// By which of these the caller may, it does not know; empty: it has none (proto/farm_secrets.h).
struct DrainRight {
  std::string worker_secret;
  std::string operator_secret;
};

// One call each, which waits for at most `timeout`. Errors: B0701 no tracker is there, B0702
// another version or something else answers, B0703 no such worker, B0904 no secret.
class FarmClient {
 public:
  explicit FarmClient(std::string tracker, absl::Duration timeout = absl::Seconds(3))
      : tracker_(std::move(tracker)), timeout_(timeout) {}

  absl::StatusOr<std::vector<FarmWorker>> ListWorkers() const;
  absl::StatusOr<FarmStatus> GetStatus() const;
  // `undo`: it gets jobs again. B0904: neither secret is right.
  absl::Status Drain(const std::string& worker_id, bool undo, const DrainRight& right) const;

 private:
  std::string tracker_;
  absl::Duration timeout_;
};

}  // namespace burnish

#endif  // TUNER_APP_FARM_CLIENT_H_
