// What came out of one candidate: times, or how it failed (proto/measurement.proto has units and
// meaning of each field). Code uses these value types; the messages are for wire and disk.
// Hashes are 32 raw bytes in a std::string; empty means not known.
#ifndef PROTO_MEASUREMENT_H_
#define PROTO_MEASUREMENT_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/numerics.h"

namespace burnish {

namespace v1 {
class Failure;
class Measurement;
class Numerics;
}  // namespace v1

// The numbers are those of v1.Failure.Kind and of stored rows: never reused.
enum class FailureKind {
  kBuildError = 1,
  kBuildTimeout = 2,
  kRunError = 3,
  kRunTimeout = 4,
  kCrashed = 5,
  kWrongResult = 6,
  kOutOfMemory = 7,
  kDeviceError = 8,
  kWorkerLost = 9,
  kCancelled = 10,
  kPoisoned = 11,
  kParked = 12,
};
inline constexpr int kFailureKindCount = 12;

// "build error", "crashed", ...: for people, tables and JSON.
absl::string_view FailureKindName(FailureKind kind);

// False for a cancelled job, a lost worker and a parked candidate: they are tried again and count
// against no budget.
bool CountsAsTrial(FailureKind kind);

struct Failure {
  static constexpr int kMessageBytesMax = 4096;

  FailureKind kind = FailureKind::kRunError;
  std::string message;  // Longer than the maximum is cut on the way to the message.

  bool operator==(const Failure&) const = default;
};

struct ProcessLatencies {
  std::vector<int64_t> latency_ns;
  int32_t inner_count = 1;
  int32_t warm_up_count = 0;
  int64_t reference_before_ns = 0;
  int64_t reference_after_ns = 0;
  int64_t probe_before_ns = 0;
  int64_t probe_after_ns = 0;
  int64_t steal_ns = 0;
  int64_t throttle_count = 0;
  int64_t involuntary_switch_count = 0;
  int64_t page_fault_count = 0;
  int64_t huge_page_bytes = 0;
  bool stopped_early = false;

  bool operator==(const ProcessLatencies&) const = default;
};

struct Latencies {
  std::vector<ProcessLatencies> processes;

  bool operator==(const Latencies&) const = default;
};

// Of the method that workers have (worker/runner/runner_executor.h). Timings of two versions do not
// compare.
inline constexpr int32_t kMeasureMethodVersion = 3;

enum class MeasureMode { kUnknown = 0, kIsolated = 1, kInNetwork = 2 };
enum class ColdPolicy { kUnknown = 0, kWarm = 1, kRotatedArena = 2, kModelOrder = 3 };

struct Environment {
  MeasureMode mode = MeasureMode::kUnknown;
  std::string model_sha256;
  ColdPolicy cold_policy = ColdPolicy::kUnknown;
  int64_t arena_bytes = 0;
  int32_t threads = 0;
  std::vector<int32_t> cpus;
  std::vector<int32_t> siblings;
  bool flush_denormals = false;
  int32_t vector_bytes = 0;
  std::string cpu_model;
  std::string microcode;
  std::string hypervisor;
  std::string kernel_release;
  std::string device;
  std::string host;
  std::string worker;
  uint64_t seed = 0;
  std::string distribution;
  int32_t method_version = 0;

  bool operator==(const Environment&) const = default;
};

struct BuildFacts {
  std::string llvm_version;
  int32_t codegen_epoch = 0;
  std::string artifact_sha256;
  std::string lowered_sha256;
  std::string code_sha256;
  int32_t spill_count = 0;
  int64_t code_bytes = 0;
  int64_t scratch_bytes = 0;
  int64_t packed_bytes = 0;
  int64_t build_ns = 0;

  bool operator==(const BuildFacts&) const = default;
};

// Wall time of a runner for one candidate, in nanoseconds; 0: not known.
struct Effort {
  int64_t check_ns = 0;
  int64_t wait_ns = 0;
  int64_t run_ns = 0;

  bool operator==(const Effort&) const = default;
};

// The address of workers at a tracker that only its own user's processes reach: whoever believes
// the tracker believes them.
inline constexpr char kOwnAddress[] = "own";

struct Measurement {
  std::string candidate_id;
  std::variant<Latencies, Failure> outcome;
  Environment environment;
  BuildFacts build;
  Numerics numerics;
  double network_factor = 0;  // > 0: of a `refine` in the network.
  Effort effort;
  // Both are the tuner's to say: where the worker's call came from, as its tracker saw it (empty:
  // not known), and whether no worker at another address has measured the same.
  std::string worker_address;
  bool unconfirmed = false;

  // Null where the outcome is the other one.
  const Latencies* latencies() const { return std::get_if<Latencies>(&outcome); }
  const Failure* failure() const { return std::get_if<Failure>(&outcome); }

  bool operator==(const Measurement&) const = default;
};

v1::Failure ToProto(const Failure& failure);
v1::Numerics ToProto(const Numerics& numerics);
v1::Measurement ToProto(const Measurement& measurement);

// INVALID_ARGUMENT where a message says no outcome, an unknown kind, a hash that is neither empty
// nor 32 bytes, times that are not positive, or processes without a repeat.
absl::StatusOr<Failure> FromProto(const v1::Failure& message);
absl::StatusOr<Measurement> FromProto(const v1::Measurement& message);

// Never refuses: a class that is not known here, or an algorithm with no name that one can have, is
// kUnknown, which no accuracy limit accepts.
Numerics FromProto(const v1::Numerics& message);

}  // namespace burnish

#endif  // PROTO_MEASUREMENT_H_
