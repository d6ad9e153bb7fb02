#include "tests/e2e/fields/farm.h"

#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/entropy.h"
#include "base/self_path.h"
#include "base/status_macros.h"
#include "proto/protocol.h"
#include "proto/rpc.h"
#include "tuner/app/farm_client.h"
#include "worker/agent/agent_client.h"
#include "worker/agent/fake_executor.h"

namespace burnish {

RawCall::RawCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                 const std::string& message)
    : stub_(channel) {
  const grpc::Slice slice(message);
  call_ = stub_.PrepareUnaryCall(&context_, method, grpc::ByteBuffer(&slice, 1), &queue_);
  call_->StartCall();
  call_->Finish(&response_, &status_, nullptr);
}

grpc::Status RawCall::Wait() {
  void* tag = nullptr;
  bool ok = false;
  if (!ended_) CHECK(queue_.Next(&tag, &ok));
  ended_ = true;
  return status_;
}

RawCall::~RawCall() {
  context_.TryCancel();
  Wait();
  queue_.Shutdown();
}

absl::Status CheckRuns(Child& child, const std::string& name) {
  const absl::StatusOr<ExitInfo> exit = child.Wait(absl::ZeroDuration());
  if (absl::IsDeadlineExceeded(exit.status())) return absl::OkStatus();
  RETURN_IF_ERROR(exit.status());
  return absl::InternalError(absl::StrCat("the ", name, " ended: ", Describe(*exit)));
}

Farm::Farm()
    : folder_(*TempDir::Create("fields")),
      tracker_address_(absl::StrCat("unix:", folder_.path(), "/tracker")) {
  // With a home, for the secrets by which a worker's id is its own.
  const auto start = [this](const std::string& program, std::vector<std::string> args) {
    args.insert(args.end(), {"--log-level", "error"});
    return *Child::Start({.program = *FindProgram(program),
                          .args = std::move(args),
                          .extra_env = {absl::StrCat("XDG_STATE_HOME=", folder_.path())}});
  };
  tracker_ = start("tracker/tracker", {"--listen", tracker_address_});
  CHECK_OK(tracker_->ReadLine(kServedWithin));
  worker_ = start("worker/worker",
                  {"--tracker", tracker_address_, "--id", kHonest, "--build", "1", "--run", "cpu",
                   "--lock-folder", folder_.path(), "--calibration", "table"});
  tuner_ = std::make_unique<TrackerClient>(
      TrackerClientOptions{.tracker = tracker_address_, .tuner_id = kHonest, .seed = 1});
  const absl::Time end = Clock::Real().SteadyNow() + kServedWithin;
  while (!CheckWorker().ok() && Clock::Real().SteadyNow() < end) std::this_thread::yield();
}

Farm::~Farm() = default;

absl::Status Farm::CheckWorker() const {
  ASSIGN_OR_RETURN(const std::vector<FarmWorker> workers,
                   FarmClient(tracker_address_, kServedWithin).ListWorkers());
  for (const FarmWorker& worker : workers) {
    if (worker.id != kHonest) continue;
    if (worker.state != "alive") return absl::InternalError("the honest worker: " + worker.state);
    for (const FarmSlot& slot : worker.slots) {
      if (slot.paused_for == absl::ZeroDuration()) continue;
      return absl::InternalError(absl::StrCat("the honest worker's ", slot.kind,
                                              " slot is paused, ", slot.fault_count, " faults"));
    }
    return absl::OkStatus();
  }
  return absl::InternalError("the honest worker is not there");
}

absl::Status Farm::CheckFresh() {
  const std::string name = absl::StrCat("fresh", ++count_);
  FakeLab lab(absl::ZeroDuration(), &EchoOutcome);
  std::vector<AgentSlot> slots;
  slots.push_back(
      {.info = {.kind = JobKind::kRun, .device_keys = {name}}, .executor = lab.MakeExecutor()});
  const AgentClient worker({.tracker = tracker_address_,
                            .identity = {.worker_id = name, .incarnation = EntropyNumber()}},
                           std::move(slots));
  TrackerClient tuner({.tracker = tracker_address_, .tuner_id = name, .seed = 1});
  RETURN_IF_ERROR(tuner.Submit(
      {{.id = name, .kind = JobKind::kRun, .device_key = name, .study = name, .payload = "x"}}));
  const std::vector<ResultEntry> results = tuner.Collect(kServedWithin);
  if (results.size() != 1 || results[0].outcome != JobOutcome("result of x")) {
    return absl::InternalError("a fresh worker and a fresh tuner are not served");
  }
  return absl::OkStatus();
}

absl::Status Farm::Check() {
  RETURN_IF_ERROR(CheckRuns(*tracker_, "tracker"));
  RETURN_IF_ERROR(CheckRuns(*worker_, "worker"));
  RETURN_IF_ERROR(CheckFresh());
  RETURN_IF_ERROR(CheckWorker());
  return CheckRuns(*tracker_, "tracker");
}

absl::Status Farm::CheckClean() {
  const absl::Time end = Clock::Real().SteadyNow() + kServedWithin;
  FarmStatus status;
  while (Clock::Real().SteadyNow() < end) {
    ASSIGN_OR_RETURN(status, FarmClient(tracker_address_, kServedWithin).GetStatus());
    if (status.queued_count == 0 && status.leased_count == 0) return absl::OkStatus();
  }
  return absl::InternalError(absl::StrCat("its sender left ", status.queued_count,
                                          " queued jobs and ", status.leased_count, " leased"));
}

absl::StatusOr<JobOutcome> Farm::Do(JobKind kind, const std::string& payload,
                                    absl::Duration patience) {
  const std::string id = absl::StrCat("job", ++count_);
  RETURN_IF_ERROR(tuner_->Submit({{.id = id, .kind = kind, .payload = payload}}));
  std::vector<ResultEntry> results = tuner_->Collect(patience);
  const bool in_time = !results.empty();
  if (!in_time) {
    RETURN_IF_ERROR(tuner_->Cancel({id}));
    results = tuner_->Collect(kServedWithin);
  }
  if (results.size() != 1 || results[0].job_id != id) {
    return absl::InternalError(absl::StrCat("got ", results.size(), " results of ", id));
  }
  tuner_->Acknowledge({id});
  if (!in_time) return absl::CancelledError("no end");
  return std::move(results[0].outcome);
}

}  // namespace burnish
