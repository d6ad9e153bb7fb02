// What the worker says to its child programs runner and checker, and what they answer: frames
// (base/frame.h) of little-endian bytes. Free of Abseil and Protobuf, which the runner does
// without. All three are of one build, so there are no versions; but a kernel that ran may have
// made the runner lie, so answers are bounds-checked like any file.
#ifndef WORKER_RUNNER_RUNNER_WIRE_H_
#define WORKER_RUNNER_RUNNER_WIRE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/runtime/kernel_manifest.h"
#include "compiler/runtime/tensor_info.h"

namespace burnish {

// A parameter of the workload: its values, and where they lie in a buffer (compiler/ir/program.h,
// Storage, has the meaning).
struct TensorSpec {
  ArgumentRole role = ArgumentRole::kInput;
  ElementType type = ElementType::kF32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;       // Elements, one per dimension, >= 0.
  std::vector<int64_t> border_below;  // Readable elements below index 0; both empty: no border.
  std::vector<int64_t> border_above;
  double border_value = 0;
  int64_t offset = 0;  // Elements before element [0,0,..].
  // Integers are uniform over [low, high].
  int64_t low = 0;
  int64_t high = 0;

  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

// Kernel 0 of an artifact, and the workload's parameters as it wants them.
struct KernelSpec {
  std::string artifact;
  std::vector<TensorSpec> parameters;
};

struct TimingSpec {
  int64_t warm_up_ns = 0;  // From the first timed kernel, the probe, on.
  int64_t repeat_min_ns = 0;
  int32_t repeat_count_min = 0;
  int32_t repeat_count_max = 0;  // So many where the median is below `near_ns`.
  int64_t near_ns = 0;           // 0: whatever it is.
  int64_t stop_above_ns = 0;     // 0: never.
  int64_t arena_bytes = 0;       // Of descriptor 4, with cold constants; 0: they stay warm.
  // Of files that the worker has opened: the runner may not be allowed to.
  std::vector<int32_t> lock_descriptors;  // See measuring_lock.h.
  // Of a page (base/pace_page.h) that says when a server's calls and its pacer disturb; -1: none.
  int32_t pace_descriptor = -1;
};

// Descriptors of the runner: 3, the file for outputs; 4, the arena, where `arena_bytes` > 0; behind
// them those that the timing names.
inline constexpr int kOutputsDescriptor = 3;
inline constexpr int kArenaDescriptor = 4;

// Kernels in a model's order instead of one alone. Each step has constants of its own; activations
// lie where a step shortly before wrote. Nothing is checked here: RunBench has had each run alone.
struct NetworkSpec {
  std::vector<KernelSpec> kernels;  // None: no network.
  int32_t step_count = 0;
  int32_t warm_up_pass_count = 0;
  std::vector<int32_t> order;  // [pass][step]: index into `kernels`.

  bool has_value() const { return !kernels.empty(); }
};

struct RunnerRequest {
  KernelSpec candidate;               // Of a request without a network.
  std::vector<KernelSpec> reference;  // Candidate 0, to be timed around it; at most one.
  uint64_t seed = 0;
  int32_t thread_count = 1;
  std::vector<int32_t> cpus;  // One per thread; empty: anywhere.
  uint64_t memory_bytes_max = 0;
  TimingSpec timing;  // With a network: warm-up, locks and the arena, from which it is filled.
  NetworkSpec network;
};

// The runner's answers, in this order; kFailed may come at any time and is the last. After kOutputs
// it waits for a frame, which says that the outputs are right and may be timed; at the end of its
// input it ends. With a network kOutputs says that it is loaded, and nothing is waited for.
enum class RunnerEvent : uint8_t { kOutputs = 1, kLocked = 2, kTimed = 3, kFailed = 4 };

// Numbers of FailureKind in proto/measurement.h.
enum class RunnerFailure : uint8_t { kRunError = 3, kWrongResult = 6, kOutOfMemory = 7 };

struct RunnerTiming {
  std::vector<int64_t> latency_ns;
  int64_t inner_count = 0;
  int64_t warm_up_count = 0;
  int64_t reference_before_ns = 0;
  int64_t reference_after_ns = 0;
  int64_t probe_before_ns = 0;
  int64_t probe_after_ns = 0;
  int64_t steal_ns = 0;
  int64_t throttle_count = 0;
  int64_t involuntary_switch_count = 0;
  int64_t page_fault_count = 0;
  int64_t huge_page_bytes = 0;
  int32_t vector_bytes = 0;
  bool stopped_early = false;
  bool cold_constants = false;  // As it was: nothing is rotated where constants are no floats.

  friend bool operator==(const RunnerTiming&, const RunnerTiming&) = default;
};

struct RunnerReply {
  RunnerEvent event = RunnerEvent::kFailed;
  RunnerFailure failure = RunnerFailure::kRunError;  // kFailed only, with `message`.
  std::string message;
  std::vector<uint64_t> output_bases;  // kOutputs: where in the file each output buffer begins.
  RunnerTiming timing;                 // kTimed; of a network without latencies.
  std::vector<int64_t> step_ns;        // kTimed of a network: [timed pass][step].
};

enum class CheckerCall : uint8_t {
  kPlan = 1,   // How the workload's parameters lie, and what indices are valid.
  kCheck = 2,  // Whether the outputs in descriptor 3 are right.
};

struct CheckerRequest {
  CheckerCall call = CheckerCall::kPlan;
  std::string workload;
  std::string contract;
  // kCheck:
  uint64_t seed = 0;
  std::string reference_id;   // Artifact hash of candidate 0; empty: there is none.
  bool is_reference = false;  // These are candidate 0's outputs: kept to compare with.
  double bound = 0;           // Of the tensor error, of float outputs.
  std::vector<uint64_t> output_bases;
};

enum class CheckerVerdict : uint8_t {
  kOk = 1,
  kWrong = 2,          // `message` says what is wrong with the outputs.
  kNeedReference = 3,  // Nothing is kept of candidate 0: check it first.
  kRefused = 4,        // `message` says why this workload or contract cannot be checked.
};

struct CheckerReply {
  CheckerVerdict verdict = CheckerVerdict::kRefused;
  std::string message;
  std::vector<TensorSpec> parameters;  // kPlan.
  // kCheck: max |got - want| / max |want| over the sampled elements of float outputs.
  double error = 0;
};

std::string EncodeFrame(const RunnerRequest& request);
std::string EncodeFrame(const RunnerReply& reply);
std::string EncodeFrame(const CheckerRequest& request);
std::string EncodeFrame(const CheckerReply& reply);

// nullopt: malformed.
std::optional<RunnerRequest> DecodeRunnerRequest(std::span<const uint8_t> bytes);
std::optional<RunnerReply> DecodeRunnerReply(std::span<const uint8_t> bytes);
std::optional<CheckerRequest> DecodeCheckerRequest(std::span<const uint8_t> bytes);
std::optional<CheckerReply> DecodeCheckerReply(std::span<const uint8_t> bytes);

}  // namespace burnish

#endif  // WORKER_RUNNER_RUNNER_WIRE_H_
