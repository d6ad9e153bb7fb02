// What is asked of the builder, the one program that has the compiler, and what it answers
// (proto/compile.proto has the meaning of each field).
#ifndef PROTO_COMPILE_H_
#define PROTO_COMPILE_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "proto/measurement.h"

namespace burnish {

// What a run knows of a parameter (compiler/ir/known_rest.h has the meaning of each field).
struct ParameterRest {
  int parameter = 0;
  int axis = -1;
  double value = 0;
  int extent = -1;

  bool operator==(const ParameterRest&) const = default;
};

// A parameter that a run has in its own shape (compiler/ir/run_strides.h, as above).
struct ParameterStrides {
  int parameter = 0;
  std::vector<int> numbers = {};

  bool operator==(const ParameterStrides&) const = default;
};

struct CompileItem {
  std::string id = "";
  std::string workload = "";
  std::string contract = "";  // Canonical text, see compiler/ir/contract.h.
  std::string trace = "";     // Empty: the unscheduled program.
  // Axes of the only output of which calls may want a part (compiler/ir/guard_loops.h).
  std::vector<int> guarded_axes = {};
  std::vector<ParameterRest> rests = {};
  std::vector<ParameterStrides> strides = {};

  bool operator==(const CompileItem&) const = default;
};

// Numbers as in the message.
enum class CompileOutput {
  kArtifactEach = 1,
  kLibrary = 2,
  kText = 3,
};

struct CompileRequest {
  // By the wall clock an item may take so much longer than its limit. Four: beside three others on
  // one CPU. A choice.
  static constexpr int kWallPerCpu = 4;

  std::vector<CompileItem> items = {};
  std::string target = "";
  int32_t codegen_epoch = 0;
  CompileOutput output = CompileOutput::kArtifactEach;
  std::string pack_target = "";  // kLibrary; empty: `target`.
  std::string form = "";         // kText: "ir", "schedule", "lowered", "c", "llvm", "asm".
  absl::Duration time_limit = absl::Seconds(10);  // Of an item, in CPU time; > 0.
  int64_t memory_limit_bytes = int64_t{2} << 30;  // 0: no limit.

  bool operator==(const CompileRequest&) const = default;
};

// A buffer of a call: parameter `index` of the workload, number `index` of what `pack` writes, the
// table that guarded loops ask, or the strides of parameter `index`.
struct CallBuffer {
  enum class Kind { kParameter, kPacked, kLive, kStrides };

  Kind kind = Kind::kParameter;
  int32_t index = 0;

  bool operator==(const CallBuffer&) const = default;
};

struct CompiledKernel {
  BuildFacts build = {};
  Numerics numerics = {};  // The class by construction; the error is not measured.
  std::string artifact = "";
  std::string text = "";
  std::string contract = "";                  // With what the trace added.
  std::vector<CallBuffer> buffers = {};       // In the order of the call.
  std::vector<CallBuffer> pack_buffers = {};  // Empty: there is nothing to pack.
  int32_t kernel_index = 0;
  int32_t pack_index = 0;
  std::string pack_sha256 = "";  // Equal: the same function, in whatever library.

  bool operator==(const CompiledKernel&) const = default;
};

struct CompileResult {
  std::string id = "";
  std::variant<CompiledKernel, Failure> outcome = {};

  bool operator==(const CompileResult&) const = default;
};

struct CompileReply {
  std::vector<CompileResult> results = {};
  std::string library = "";
  std::string pack_library = "";

  bool operator==(const CompileReply&) const = default;
};

std::string Encode(const CompileRequest& request);
// A reply, or why there is none.
std::string Encode(const absl::StatusOr<CompileReply>& reply);

// INVALID_ARGUMENT: malformed. DecodeCompileReply also returns the status that the builder sent.
absl::StatusOr<CompileRequest> DecodeCompileRequest(absl::string_view bytes);
absl::StatusOr<CompileReply> DecodeCompileReply(absl::string_view bytes);

}  // namespace burnish

#endif  // PROTO_COMPILE_H_
