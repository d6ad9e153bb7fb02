// What a build job and its result carry (proto/job.proto has the meaning of each field): between
// tuner and builder; the tracker moves the encoded bytes. Hashes are 32 raw bytes.
#ifndef PROTO_BUILD_JOB_H_
#define PROTO_BUILD_JOB_H_

#include <cstdint>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "proto/measurement.h"

namespace burnish {

struct BuildJob {
  // An hour of a core: a builder's child has no more for all that it compiles.
  static constexpr absl::Duration kTimeoutMax = absl::Hours(1);

  std::string candidate_id = "";
  std::string workload = "";
  std::string target = "";
  std::string contract = "";
  std::string trace = "";  // Empty: the unscheduled program.
  int32_t codegen_epoch = 0;
  // CPU time of the compiling child; > 0, at most kTimeoutMax.
  absl::Duration timeout = absl::Seconds(10);

  bool operator==(const BuildJob&) const = default;
};

struct BuiltArtifact {
  // A contract comes back with every run job, twice, and a job's payload has a bound: what a
  // builder says is refused while it is still that builder's. The same as of
  // compiler/ir/contract.h; a line a parameter, so that honest ones have some hundreds of bytes.
  static constexpr int kContractBytesMax = 256 << 10;

  BuildFacts build = {};      // `artifact_sha256` is set.
  Numerics numerics = {};     // The class by construction; the error is not measured yet.
  std::string contract = "";  // The job's, with the borders that the trace added.

  bool operator==(const BuiltArtifact&) const = default;
};

struct BuildResult {
  std::string candidate_id = "";
  std::variant<BuiltArtifact, Failure> outcome = {};

  bool operator==(const BuildResult&) const = default;
};

std::string Encode(const BuildJob& job);
std::string Encode(const BuildResult& result);

// INVALID_ARGUMENT: not such a message, a hash that is not 32 bytes, a time limit out of its
// bounds, no outcome, a contract that is too long.
absl::StatusOr<BuildJob> DecodeBuildJob(absl::string_view bytes);
absl::StatusOr<BuildResult> DecodeBuildResult(absl::string_view bytes);

}  // namespace burnish

#endif  // PROTO_BUILD_JOB_H_
