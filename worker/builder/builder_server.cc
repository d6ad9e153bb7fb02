#include "worker/builder/builder_server.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/codegen/codegen_epoch.h"
#include "worker/builder/forked_call.h"

namespace burnish {
namespace {

Failure BuildError(const absl::Status& status) {
  return {.kind = FailureKind::kBuildError, .message = std::string(status.message())};
}

ForkLimits LimitsOf(const CompileRequest& request, int64_t items) {
  return {.time_limit = request.time_limit * items,
          .memory_limit_bytes = request.memory_limit_bytes};
}

}  // namespace

CompileResult BuilderServer::BuildAlone(const CompileItem& item, const CompileRequest& request,
                                        const Target& target) {
  std::variant<std::string, Failure> answer = CallInFork(LimitsOf(request, 1), [&] {
    CompileReply reply;
    CompileResult& result = reply.results.emplace_back();
    absl::StatusOr<CompiledKernel> kernel = CompiledKernel();
    if (request.output == CompileOutput::kText) {
      absl::StatusOr<std::string> text = compiler_.Emit(item, target, request.form);
      if (text.ok()) {
        kernel->text = *std::move(text);
      } else {
        kernel = text.status();
      }
    } else {
      kernel = compiler_.CompileArtifact(item, target);
    }
    if (kernel.ok()) {
      result.outcome = *std::move(kernel);
    } else {
      result.outcome = BuildError(kernel.status());
    }
    return Encode(reply);
  });
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

CompileReply BuilderServer::BuildLibrary(const CompileRequest& request, const Target& target,
                                         const Target& pack_target) {
  const auto count = static_cast<int64_t>(request.items.size());
  std::variant<std::string, Failure> answer = CallInFork(LimitsOf(request, count), [&] {
    return Encode(compiler_.CompileLibrary(request.items, target, pack_target));
  });
  Failure failure;
  if (std::holds_alternative<Failure>(answer)) {
    failure = std::get<Failure>(answer);
  } else {
    absl::StatusOr<CompileReply> reply = DecodeCompileReply(std::get<std::string>(answer));
    if (reply.ok()) return *std::move(reply);
    failure = BuildError(reply.status());
  }
  // Who was it?
  CompileReply alone;
  bool found = false;
  for (const CompileItem& item : request.items) {
    alone.results.push_back(BuildAlone(item, request, target));
    found = found || std::holds_alternative<Failure>(alone.results.back().outcome);
  }
  if (!found) {
    failure.message = absl::StrCat("each builds alone, but not all together: ", failure.message);
    for (CompileResult& result : alone.results) result.outcome = failure;
  }
  return alone;
}

absl::StatusOr<CompileReply> BuilderServer::Build(const CompileRequest& request) {
  if (request.codegen_epoch != kCodegenEpoch) {
    return absl::FailedPreconditionError(absl::StrCat("got a request for codegen epoch ",
                                                      request.codegen_epoch,
                                                      ", this builder is of ", kCodegenEpoch));
  }
  if (request.items.empty()) return absl::InvalidArgumentError("got a request without items");
  ASSIGN_OR_RETURN(const Target target, ParseTarget(request.target));
  if (request.output == CompileOutput::kLibrary) {
    Target pack_target = target;
    if (!request.pack_target.empty()) {
      ASSIGN_OR_RETURN(pack_target, ParseTarget(request.pack_target));
    }
    return BuildLibrary(request, target, pack_target);
  }
  CompileReply reply;
  for (const CompileItem& item : request.items) {
    reply.results.push_back(BuildAlone(item, request, target));
  }
  return reply;
}

}  // namespace burnish
