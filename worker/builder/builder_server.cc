#include "worker/builder/builder_server.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/sandbox.h"
#include "base/status_macros.h"
#include "compiler/codegen/codegen_epoch.h"
#include "compiler/target/target.h"

namespace burnish {
namespace {

// Of a child, which compiles 64 candidates at most: far more than these take.
constexpr int64_t kCpuSecondsMax = 3600;
constexpr int64_t kFileBytesMax = int64_t{1} << 30;
constexpr int64_t kOpenFilesMax = 64;
// A child comes to its first turn within this, however busy the host.
constexpr absl::Duration kWallMin = absl::Seconds(1);
// Of one child: what a compiler leaks stays small.
constexpr int kCallsMax = 64;

Failure BuildError(const absl::Status& status) {
  return {.kind = FailureKind::kBuildError, .message = std::string(status.message())};
}

ForkLimits LimitsOf(const CompileRequest& request, int64_t items) {
  return {
      .time_limit = request.time_limit * items,
      .wall_limit = std::max(kWallMin, CompileRequest::kWallPerCpu * request.time_limit * items),
      .memory_limit_bytes = request.memory_limit_bytes};
}

// One item to its result, which has no id.
CompileResult CompileOne(CandidateCompiler& compiler, const CompileRequest& request,
                         const Target& target) {
  CompileResult result;
  absl::StatusOr<CompiledKernel> kernel = CompiledKernel();
  if (request.output == CompileOutput::kText) {
    absl::StatusOr<std::string> text = compiler.Emit(request.items[0], target, request.form);
    if (text.ok()) {
      kernel->text = *std::move(text);
    } else {
      kernel = text.status();
    }
  } else {
    kernel = compiler.CompileArtifact(request.items[0], target);
  }
  if (kernel.ok()) {
    result.outcome = *std::move(kernel);
  } else {
    result.outcome = BuildError(kernel.status());
  }
  return result;
}

absl::StatusOr<Target> PackTargetOf(const CompileRequest& request) {
  return ParseTarget(request.pack_target.empty() ? request.target : request.pack_target);
}

// In the child: a library, or one item.
absl::StatusOr<CompileReply> Compile(CandidateCompiler& compiler, absl::string_view bytes) {
  ASSIGN_OR_RETURN(const CompileRequest request, DecodeCompileRequest(bytes));
  ASSIGN_OR_RETURN(const Target target, ParseTarget(request.target));
  if (request.output != CompileOutput::kLibrary) {
    return CompileReply{.results = {CompileOne(compiler, request, target)}};
  }
  ASSIGN_OR_RETURN(const Target pack_target, PackTargetOf(request));
  return compiler.CompileLibrary(request.items, target, pack_target);
}

}  // namespace

BuilderServer::BuilderServer(CandidateCompiler& compiler, const std::string& folder,
                             std::unique_ptr<MeasuringWatch> watch)
    : child_(
          [&compiler, folder, entered = false](const std::string& request) mutable {
            // Runs in children alone, so that each enters once. Memory is the caller's to limit,
            // call by call; time is the parent's.
            if (!entered) {
              EnterSandbox({.profile = SandboxOptions::Profile::kCompile,
                            .writable_folder = folder,
                            .cpu_time_seconds = kCpuSecondsMax,
                            .file_size_bytes = kFileBytesMax,
                            .open_files = kOpenFilesMax});
            }
            entered = true;
            return Encode(Compile(compiler, request));
          },
          kCallsMax, std::move(watch)) {}

CompileResult BuilderServer::BuildAlone(const CompileItem& item, const CompileRequest& request) {
  const CompileRequest alone = {.items = {item},
                                .target = request.target,
                                .codegen_epoch = request.codegen_epoch,
                                // Of a library: whether this item can be built at all.
                                .output = request.output == CompileOutput::kText
                                              ? CompileOutput::kText
                                              : CompileOutput::kArtifactEach,
                                .form = request.form,
                                .time_limit = request.time_limit,
                                .memory_limit_bytes = request.memory_limit_bytes};
  std::variant<std::string, Failure> answer = child_.Call(LimitsOf(request, 1), Encode(alone));
  CompileResult result{.id = item.id};
  if (const auto* failure = std::get_if<Failure>(&answer)) {
    result.outcome = *failure;
    return result;
  }
  absl::StatusOr<CompileReply> reply = DecodeCompileReply(std::get<std::string>(answer));
  if (reply.ok()) {
    result.outcome = std::move(reply->results[0].outcome);
  } else {
    result.outcome = BuildError(reply.status());
  }
  return result;
}

CompileReply BuilderServer::BuildLibrary(const CompileRequest& request) {
  const auto count = std::max<int64_t>(1, static_cast<int64_t>(request.items.size()));
  std::variant<std::string, Failure> answer =
      child_.Call(LimitsOf(request, count), Encode(request));
  Failure failure;
  if (std::holds_alternative<Failure>(answer)) {
    failure = std::get<Failure>(answer);
  } else {
    absl::StatusOr<CompileReply> reply = DecodeCompileReply(std::get<std::string>(answer));
    if (reply.ok()) return *std::move(reply);
    failure = BuildError(reply.status());
  }
  // A crash names nobody. Each item is compiled alone in its turn; the limits of one item hold for
  // each.
  // Who was it?
  CompileReply alone;
  bool found = false;
  for (const CompileItem& item : request.items) {
    alone.results.push_back(BuildAlone(item, request));
    found = found || std::holds_alternative<Failure>(alone.results.back().outcome);
  }
  if (!found) {
    // Memory may be the reason. There is no candidate to blame, so all have failed.
    failure.message = absl::StrCat("each builds alone, but not all together: ", failure.message);
    for (CompileResult& result : alone.results) result.outcome = failure;
  }
  return alone;
}

absl::StatusOr<CompileReply> BuilderServer::Build(const CompileRequest& request) {
  // A candidate's id names the epoch that compiles it. Code of another generator under that id
  // would make records compare that must not.
  if (request.codegen_epoch != kCodegenEpoch) {
    return absl::FailedPreconditionError(absl::StrCat("got a request for codegen epoch ",
                                                      request.codegen_epoch,
                                                      ", this builder is of ", kCodegenEpoch));
  }
  // A library may be empty: a model's steps may all be functions of the runtime.
  if (request.items.empty() && request.output != CompileOutput::kLibrary) {
    return absl::InvalidArgumentError("got a request without items");
  }
  // Here, before a fork, so that a request that is wrong for all items is refused once.
  RETURN_IF_ERROR(ParseTarget(request.target).status());
  if (request.output == CompileOutput::kLibrary) {
    RETURN_IF_ERROR(PackTargetOf(request).status());
    return BuildLibrary(request);
  }
  CompileReply reply;
  for (const CompileItem& item : request.items) {
    reply.results.push_back(BuildAlone(item, request));
  }
  return reply;
}

}  // namespace burnish
