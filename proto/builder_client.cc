#include "proto/builder_client.h"

#include <signal.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/oom_kills.h"
#include "base/pace_page.h"
#include "base/self_path.h"
#include "base/status_macros.h"

namespace burnish {
namespace {

// The builder itself enforces the limits of items; this is for a builder that hangs.
constexpr absl::Duration kSlack = absl::Seconds(20);
constexpr size_t kReplyBytesMax = size_t{1} << 30;

absl::Duration TimeoutOf(const CompileRequest& request) {
  // A library whose one build fails is then built item by item.
  return kSlack + 2 * CompileRequest::kWallPerCpu * request.time_limit *
                      static_cast<int64_t>(request.items.size());
}

// What of this process's environment the builder works with. Whoever takes one of its children over
// reads its environment, where others keep keys.
std::vector<std::string> EnvironmentOfBuilder() {
  std::vector<std::string> environment;
  for (const char* name : {"LD_LIBRARY_PATH", "TMPDIR", kPaceVariable}) {
    const char* const value = std::getenv(name);
    if (value != nullptr) environment.push_back(absl::StrCat(name, "=", value));
  }
  return environment;
}

}  // namespace

BuilderClient::BuilderClient(BuilderClientOptions options) : options_(std::move(options)) {}

BuilderClient::~BuilderClient() {
  const absl::MutexLock lock(&mutex_);
  if (child_ == nullptr) return;
  // Then it ends by itself, and takes its temporary files along. What hangs is killed.
  child_->CloseStdin();
  (void)child_->Wait(absl::Seconds(2));
}

absl::Status BuilderClient::Start() {
  ChildOptions child = {
      .program = options_.program, .extra_env = EnvironmentOfBuilder(), .empty_environment = true};
  if (!options_.measuring_folder.empty()) {
    child.args = {"--stand-aside", options_.measuring_folder};
  }
  if (child.program.empty()) {
    ASSIGN_OR_RETURN(child.program, FindProgram("worker/builder/builder"));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Child> started, Child::Start(child));
  const absl::MutexLock lock(&mutex_);
  child_ = std::move(started);
  return absl::OkStatus();
}

absl::StatusOr<CompileReply> BuilderClient::Ask(const std::string& request,
                                                absl::Duration timeout) {
  Child* child = nullptr;
  {
    const absl::MutexLock lock(&mutex_);
    child = child_.get();
  }
  if (child == nullptr) {
    RETURN_IF_ERROR(Start());
    const absl::MutexLock lock(&mutex_);
    child = child_.get();
  }
  const OomKillWatch oom_kills;
  absl::Status status = child->WriteFrame(request, timeout);
  if (status.ok()) {
    const absl::StatusOr<std::string> reply = child->ReadFrame(timeout, kReplyBytesMax);
    if (reply.ok()) return DecodeCompileReply(*reply);
    status = reply.status();
  }
  std::string cause = absl::StrCat("builder: ", status.message());
  bool was_killed = false;
  if (absl::StatusOr<ExitInfo> exit = child->Wait(absl::Seconds(1)); exit.ok()) {
    absl::StrAppend(&cause, ", ", Describe(*exit));
    was_killed = exit->signal == SIGKILL && !oom_kills.SawAny();
  }
  std::unique_ptr<Child> dead;  // Ended outside of the lock.
  const absl::MutexLock lock(&mutex_);
  dead = std::move(child_);
  if (was_killed) return absl::AbortedError(cause);
  return absl::UnavailableError(cause);
}

absl::StatusOr<CompileReply> BuilderClient::Build(const CompileRequest& request) {
  const std::string bytes = Encode(request);
  {
    const absl::MutexLock lock(&mutex_);
    cancelled_ = false;
  }
  for (bool again = false;; again = true) {
    absl::StatusOr<CompileReply> reply = Ask(bytes, TimeoutOf(request));
    bool cancelled = false;
    {
      const absl::MutexLock lock(&mutex_);
      cancelled = cancelled_;
    }
    if (cancelled) return absl::CancelledError("the build was cancelled");
    if (reply.ok() && reply->results.size() != request.items.size()) {
      return absl::InternalError(absl::StrCat("builder: got ", reply->results.size(),
                                              " results, want ", request.items.size()));
    }
    const bool died = absl::IsUnavailable(reply.status()) || absl::IsAborted(reply.status());
    if (reply.ok() || again || !died) return reply;
  }
}

void BuilderClient::Cancel() {
  const absl::MutexLock lock(&mutex_);
  cancelled_ = true;
  if (child_ != nullptr) child_->Kill();
}

}  // namespace burnish
