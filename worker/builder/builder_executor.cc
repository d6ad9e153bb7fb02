#include "worker/builder/builder_executor.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "proto/build_job.h"

namespace burnish {
namespace {

CompileRequest RequestOf(const BuildJob& job) {
  return {.items = {{.id = job.candidate_id,
                     .workload = job.workload,
                     .contract = job.contract,
                     .trace = job.trace}},
          .target = job.target,
          .codegen_epoch = job.codegen_epoch,
          .output = CompileOutput::kArtifactEach,
          .time_limit = job.timeout};
}

std::string Failed(const BuildJob& job, Failure failure) {
  return Encode(BuildResult{.candidate_id = job.candidate_id, .outcome = std::move(failure)});
}

}  // namespace

BuilderExecutor::BuilderExecutor(std::unique_ptr<Builder> builder, PutArtifact put_artifact)
    : builder_(std::move(builder)),
      put_artifact_(std::move(put_artifact)),
      thread_([this] { Loop(); }) {}

BuilderExecutor::~BuilderExecutor() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
    next_.reset();
  }
  builder_->Cancel();
  thread_.join();
}

void BuilderExecutor::Start(const JobSpec& job, const Lease& lease, Done done) {
  const absl::MutexLock lock(&mutex_);
  CHECK(!next_.has_value());
  next_ = {.job = job, .lease = lease, .done = std::move(done)};
}

void BuilderExecutor::Cancel() { builder_->Cancel(); }

void BuilderExecutor::Loop() {
  const auto has_work = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return stopping_ || next_.has_value();
  };
  while (true) {
    Execution execution;
    {
      const absl::MutexLock lock(&mutex_, absl::Condition(&has_work));
      if (stopping_) return;
      execution = *std::exchange(next_, std::nullopt);
    }
    JobOutcome outcome = Execute(execution.job, execution.lease);
    {
      const absl::MutexLock lock(&mutex_);
      if (stopping_) return;
    }
    execution.done(std::move(outcome));
  }
}

JobOutcome BuilderExecutor::Execute(const JobSpec& spec, const Lease& lease) {
  const absl::StatusOr<BuildJob> job = DecodeBuildJob(spec.payload);
  if (!job.ok()) {
    return WorkerFault{.message = std::string(job.status().message()), .refused = true};
  }
  absl::StatusOr<CompileReply> reply = builder_->Build(RequestOf(*job));
  // The job is malformed, on every worker alike: a result, so that it is not tried elsewhere.
  if (absl::IsInvalidArgument(reply.status())) {
    return Failed(
        *job, {.kind = FailureKind::kBuildError, .message = std::string(reply.status().message())});
  }
  // A builder that cannot be started or keeps dying: another worker may do better. So may one of
  // the epoch that the job asks for, and this one is not at fault.
  if (!reply.ok()) {
    return WorkerFault{.message = reply.status().ToString(),
                       .interrupted = absl::IsAborted(reply.status()),
                       .refused = absl::IsFailedPrecondition(reply.status())};
  }
  if (auto* failure = std::get_if<Failure>(&reply->results[0].outcome)) {
    if (failure->kind == FailureKind::kWorkerLost) {
      return WorkerFault{.message = std::move(failure->message), .interrupted = true};
    }
    return Failed(*job, std::move(*failure));
  }
  auto& kernel = std::get<CompiledKernel>(reply->results[0].outcome);
  const absl::StatusOr<std::string> name = put_artifact_(kernel.artifact, lease);
  // The store refuses the artifact itself (too large): the candidate's failure. A store that is
  // away is the worker's.
  if (absl::IsInvalidArgument(name.status())) {
    return Failed(
        *job, {.kind = FailureKind::kBuildError, .message = std::string(name.status().message())});
  }
  if (!name.ok()) {
    return WorkerFault{.message = absl::StrCat("content store: ", name.status().message())};
  }
  return Encode(BuildResult{.candidate_id = job->candidate_id,
                            .outcome = BuiltArtifact{.build = std::move(kernel.build),
                                                     .numerics = kernel.numerics,
                                                     .contract = std::move(kernel.contract)}});
}

}  // namespace burnish
