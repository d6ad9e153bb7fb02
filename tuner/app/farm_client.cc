#include "tuner/app/farm_client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/calibration.pb.h"
#include "proto/protocol.h"
#include "proto/rpc.h"
#include "proto/synchronize.h"
#include "proto/tracker.grpc.pb.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

absl::Duration FromNs(int64_t ns) { return absl::Nanoseconds(ns); }

const char* StateName(v1::WorkerStatus::State state) {
  switch (state) {
    case v1::WorkerStatus::ALIVE:
      return "alive";
    case v1::WorkerStatus::DRAINING:
      return "draining";
    case v1::WorkerStatus::LEAVING:
      return "leaving";
    case v1::WorkerStatus::LOST:
      return "lost";
    default:
      return "unknown";
  }
}

FarmSlot ToSlot(const v1::SlotStatus& message) {
  FarmSlot slot{.kind = message.info().kind() == v1::BUILD ? "build" : "run",
                .job_id = message.executing().job_id(),
                .executing_for = FromNs(message.executing_ns()),
                .done_count = message.done_count(),
                .fault_count = message.fault_count(),
                .paused_for = FromNs(message.paused_ns())};
  slot.device_keys.assign(message.info().device_keys().begin(), message.info().device_keys().end());
  slot.labels.insert(message.info().labels().begin(), message.info().labels().end());
  return slot;
}

absl::Status FarmError(const absl::Status& status, const std::string& tracker) {
  ErrorCode code = ErrorCode::kTrackerUnreachable;
  if (absl::IsUnimplemented(status) || absl::IsInvalidArgument(status) ||
      IsProtocolRefusal(status)) {
    code = ErrorCode::kTrackerProtocol;
  }
  if (absl::IsNotFound(status)) code = ErrorCode::kNoWorker;
  if (absl::IsPermissionDenied(status) || absl::IsUnauthenticated(status)) {
    code = ErrorCode::kPermission;
  }
  return WithError(status, code, tracker);
}

// `Method` of the stub, once.
template <typename Request, typename Response>
absl::StatusOr<Response> Call(const std::string& tracker, absl::Duration timeout,
                              grpc::Status (v1::Tracker::Stub::*method)(grpc::ClientContext*,
                                                                        const Request&, Response*),
                              const Request& request) {
  const std::unique_ptr<v1::Tracker::Stub> stub =
      v1::Tracker::NewStub(OpenChannel(tracker, ThisVersion("tuner")));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoNanoseconds(timeout));
  Response response;
  const grpc::Status status = (stub.get()->*method)(&context, request, &response);
  RETURN_IF_ERROR(FarmError(FromGrpc(status), tracker));
  return response;
}

}  // namespace

const FarmWorker* FirstWithRow(absl::Span<const FarmWorker> workers, absl::string_view device_key) {
  for (const FarmWorker& worker : workers) {
    if (!worker.calibration.has_value() || worker.state == "lost") continue;
    for (const FarmSlot& slot : worker.slots) {
      if (slot.kind == "run" && absl::c_linear_search(slot.device_keys, device_key)) return &worker;
    }
  }
  return nullptr;
}

std::optional<double> RowDeviation(absl::Span<const FarmWorker> workers, const FarmWorker& worker) {
  if (!worker.calibration.has_value()) return std::nullopt;
  for (const FarmSlot& slot : worker.slots) {
    if (slot.kind != "run" || slot.device_keys.empty()) continue;
    const FarmWorker* const first = FirstWithRow(workers, slot.device_keys.front());
    // A worker that is lost may be the only one of its key.
    return first == nullptr ? 0 : Drift(*first->calibration, *worker.calibration);
  }
  return std::nullopt;
}

absl::Status CheckThreads(absl::Span<const FarmWorker> workers, const Target& target) {
  const std::string key = target.DeviceKey();
  int most = 0;
  for (const FarmWorker& worker : workers) {
    if (worker.state == "lost" || worker.state == "leaving") continue;
    for (const FarmSlot& slot : worker.slots) {
      if (slot.kind != "run" || !absl::c_linear_search(slot.device_keys, key)) continue;
      const auto label = slot.labels.find(kThreadsLabel);
      int threads = 0;
      if (label == slot.labels.end() || !absl::SimpleAtoi(label->second, &threads)) {
        return absl::OkStatus();
      }
      most = std::max(most, threads);
    }
  }
  if (most == 0 || target.threads <= most) return absl::OkStatus();
  return MakeError(ErrorCode::kUsage,
                   absl::StrCat("the target has ", target.threads, " threads, and no worker of ",
                                key, " has more than ", most, most == 1 ? " CPU" : " CPUs"),
                   "", absl::StrCat("--threads ", most, ", or workers with --run of more CPUs"));
}

absl::StatusOr<std::vector<FarmWorker>> FarmClient::ListWorkers() const {
  ASSIGN_OR_RETURN(
      const v1::ListWorkersResponse response,
      Call(tracker_, timeout_, &v1::Tracker::Stub::ListWorkers, v1::ListWorkersRequest()));
  std::vector<FarmWorker> workers;
  for (const v1::WorkerStatus& message : response.workers()) {
    FarmWorker worker{.id = message.worker_id(),
                      .host = message.host(),
                      .state = StateName(message.state()),
                      .since_seen = FromNs(message.since_seen_ns())};
    for (const v1::SlotStatus& slot : message.slots()) worker.slots.push_back(ToSlot(slot));
    worker.doubted_by.assign(message.doubted_by().begin(), message.doubted_by().end());
    // A tracker passes rows on as it got them.
    absl::StatusOr<std::optional<CalibrationRow>> row =
        FromProtoIfKnown(message.has_calibration() ? &message.calibration() : nullptr);
    RETURN_IF_ERROR(FarmError(row.status(), tracker_));
    worker.calibration = *std::move(row);
    workers.push_back(std::move(worker));
  }
  return workers;
}

absl::StatusOr<FarmStatus> FarmClient::GetStatus() const {
  ASSIGN_OR_RETURN(const v1::GetStatusResponse response,
                   Call(tracker_, timeout_, &v1::Tracker::Stub::GetStatus, v1::GetStatusRequest()));
  return FarmStatus{.version = response.version(),
                    .uptime = FromNs(response.uptime_ns()),
                    .worker_count = response.worker_count(),
                    .queued_count = response.queued_count(),
                    .leased_count = response.leased_count()};
}

absl::Status FarmClient::Drain(const std::string& worker_id, bool undo,
                               const DrainRight& right) const {
  v1::DrainWorkerRequest request;
  request.set_worker_id(worker_id);
  request.set_undo(undo);
  request.set_worker_secret(right.worker_secret);
  request.set_operator_secret(right.operator_secret);
  return Call(tracker_, timeout_, &v1::Tracker::Stub::DrainWorker, request).status();
}

}  // namespace burnish
