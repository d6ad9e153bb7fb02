#include "proto/synchronize.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "proto/calibration.pb.h"
#include "proto/tracker.pb.h"

namespace burnish {
namespace {

void LeaseToProto(const Lease& lease, v1::Lease* message) {
  message->set_job_id(lease.job_id);
  message->set_epoch(lease.epoch);
}

absl::StatusOr<Lease> LeaseFromProto(const v1::Lease& message) {
  if (message.job_id().empty() || message.job_id().size() > JobSpec::kIdBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrFormat("lease: got a job id of %d bytes, want 1 to %d", message.job_id().size(),
                        JobSpec::kIdBytesMax));
  }
  if (message.epoch() <= 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("lease: got epoch=%d, want > 0", message.epoch()));
  }
  return Lease{.job_id = message.job_id(), .epoch = message.epoch()};
}

// A tracker keeps it for each slot that ever reported.
absl::Status CheckInfo(const v1::SlotInfo& info) {
  if (info.kind() != v1::BUILD && info.kind() != v1::RUN) {
    return absl::InvalidArgumentError(
        absl::StrFormat("slot: got kind=%d, want BUILD or RUN", info.kind()));
  }
  if (info.device_keys_size() > SlotInfo::kDeviceKeysMax ||
      info.labels_size() > SlotInfo::kLabelsMax) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "slot: got %d device keys and %d labels, want at most %d and %d", info.device_keys_size(),
        info.labels_size(), SlotInfo::kDeviceKeysMax, SlotInfo::kLabelsMax));
  }
  size_t longest = 0;
  for (const std::string& key : info.device_keys()) longest = std::max(longest, key.size());
  for (const auto& [name, value] : info.labels()) {
    longest = std::max({longest, name.size(), value.size()});
  }
  if (longest <= SlotInfo::kTextBytesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("slot: got a device key or label of %d bytes, want at most %d", longest,
                      SlotInfo::kTextBytesMax));
}

absl::StatusOr<SlotReport> SlotFromProto(const v1::SlotReport& message) {
  const v1::SlotInfo& info = message.info();
  RETURN_IF_ERROR(CheckInfo(info));
  SlotReport slot{.info = {.kind = static_cast<JobKind>(info.kind()),
                           .device_keys = {info.device_keys().begin(), info.device_keys().end()},
                           .labels = {info.labels().begin(), info.labels().end()}}};
  if (message.has_executing()) {
    ASSIGN_OR_RETURN(slot.executing, LeaseFromProto(message.executing()));
  }
  slot.cancelling = message.cancelling();
  slot.waiting = message.waiting();
  // Twice the limit is refused: the limit itself is for when to stop taking jobs.
  if (message.results_size() > 2 * WorkerReport::kHeldResultsMax) {
    return absl::InvalidArgumentError(absl::StrFormat("slot: got %d results, want at most %d",
                                                      message.results_size(),
                                                      2 * WorkerReport::kHeldResultsMax));
  }
  for (const v1::HeldResult& held : message.results()) {
    ASSIGN_OR_RETURN(Lease lease, LeaseFromProto(held.lease()));
    HeldResult result{.lease = std::move(lease)};
    if (held.has_outcome()) {
      ASSIGN_OR_RETURN(result.outcome, FromProto(held.outcome()));
    }
    slot.results.push_back(std::move(result));
  }
  return slot;
}

absl::StatusOr<SlotOrders> OrdersFromProto(const v1::SlotOrders& message) {
  SlotOrders orders{.received = {message.received().begin(), message.received().end()},
                    .send = {message.send().begin(), message.send().end()},
                    .discard = {message.discard().begin(), message.discard().end()}};
  if (message.has_lease()) {
    ASSIGN_OR_RETURN(orders.lease, LeaseFromProto(message.lease()));
  }
  if (message.has_job()) {
    ASSIGN_OR_RETURN(orders.job, FromProto(message.job()));
    if (!orders.lease.has_value() || orders.lease->job_id != orders.job->id) {
      return absl::InvalidArgumentError(
          absl::StrFormat("orders: got job %s without its lease", orders.job->id));
    }
  }
  return orders;
}

}  // namespace

v1::SlotInfo ToProto(const SlotInfo& info) {
  v1::SlotInfo message;
  message.set_kind(static_cast<v1::JobKind>(info.kind));
  message.mutable_device_keys()->Add(info.device_keys.begin(), info.device_keys.end());
  message.mutable_labels()->insert(info.labels.begin(), info.labels.end());
  return message;
}

v1::SynchronizeRequest ToProto(const WorkerReport& report) {
  v1::SynchronizeRequest message;
  message.set_worker_id(report.worker_id);
  message.set_host(report.host);
  message.set_incarnation(report.incarnation);
  message.set_epoch(report.epoch);
  message.set_sequence(report.sequence);
  message.set_leaving(report.leaving);
  if (report.calibration.has_value()) {
    *message.mutable_calibration() = ToProto(*report.calibration);
  }
  for (const SlotReport& slot : report.slots) {
    v1::SlotReport* out = message.add_slots();
    *out->mutable_info() = ToProto(slot.info);
    if (slot.executing.has_value()) LeaseToProto(*slot.executing, out->mutable_executing());
    out->set_cancelling(slot.cancelling);
    out->set_waiting(slot.waiting);
    for (const HeldResult& held : slot.results) {
      v1::HeldResult* result = out->add_results();
      LeaseToProto(held.lease, result->mutable_lease());
      if (held.outcome.has_value()) *result->mutable_outcome() = ToProto(*held.outcome);
    }
  }
  return message;
}

v1::SynchronizeResponse ToProto(const WorkerOrders& orders) {
  v1::SynchronizeResponse message;
  message.set_sequence(orders.sequence);
  message.set_epoch(orders.epoch);
  message.set_draining(orders.draining);
  message.set_lease_duration_ns(absl::ToInt64Nanoseconds(orders.lease_duration));
  for (const SlotOrders& slot : orders.slots) {
    v1::SlotOrders* out = message.add_slots();
    if (slot.lease.has_value()) LeaseToProto(*slot.lease, out->mutable_lease());
    if (slot.job.has_value()) *out->mutable_job() = ToProto(*slot.job);
    out->mutable_received()->Add(slot.received.begin(), slot.received.end());
    out->mutable_send()->Add(slot.send.begin(), slot.send.end());
    out->mutable_discard()->Add(slot.discard.begin(), slot.discard.end());
  }
  return message;
}

namespace {

absl::Status CheckReport(const v1::SynchronizeRequest& message) {
  if (message.worker_id().empty() || message.worker_id().size() > WorkerReport::kIdBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrFormat("report: got a worker id of %d bytes, want 1 to %d",
                        message.worker_id().size(), WorkerReport::kIdBytesMax));
  }
  if (message.incarnation() <= 0 || message.sequence() <= 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "report: got incarnation=%d and sequence=%d, want > 0, for %s: this tracker "
        "wants a worker of its own version",
        message.incarnation(), message.sequence(), message.worker_id()));
  }
  if (message.epoch() < 0 || message.epoch() > WorkerReport::kEpochMax) {
    return absl::InvalidArgumentError(absl::StrFormat("report: got epoch=%d, want 0 to %d, for %s",
                                                      message.epoch(), WorkerReport::kEpochMax,
                                                      message.worker_id()));
  }
  if (message.slots_size() > WorkerReport::kSlotsMax) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "report: got %d slots, want at most %d", message.slots_size(), WorkerReport::kSlotsMax));
  }
  if (message.host().size() > WorkerReport::kHostBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrFormat("report: got a host of %d bytes, want at most %d, for %s",
                        message.host().size(), WorkerReport::kHostBytesMax, message.worker_id()));
  }
  int held_count = 0;
  for (const v1::SlotReport& slot : message.slots()) held_count += slot.results_size();
  if (held_count <= WorkerReport::kHeldOfAllMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("report: got %d results, want at most %d, for %s", held_count,
                      WorkerReport::kHeldOfAllMax, message.worker_id()));
}

}  // namespace

absl::StatusOr<WorkerReport> FromProto(const v1::SynchronizeRequest& message) {
  RETURN_IF_ERROR(CheckReport(message));
  WorkerReport report{.worker_id = message.worker_id(),
                      .host = message.host(),
                      .incarnation = message.incarnation(),
                      .epoch = message.epoch(),
                      .sequence = message.sequence(),
                      .leaving = message.leaving()};
  for (const v1::SlotReport& slot : message.slots()) {
    ASSIGN_OR_RETURN(SlotReport parsed, SlotFromProto(slot));
    report.slots.push_back(std::move(parsed));
  }
  ASSIGN_OR_RETURN(report.calibration,
                   FromProtoIfKnown(message.has_calibration() ? &message.calibration() : nullptr));
  return report;
}

absl::StatusOr<WorkerOrders> FromProto(const v1::SynchronizeResponse& message) {
  WorkerOrders orders{.sequence = message.sequence(),
                      .epoch = message.epoch(),
                      .draining = message.draining(),
                      .lease_duration = absl::Nanoseconds(message.lease_duration_ns())};
  for (const v1::SlotOrders& slot : message.slots()) {
    ASSIGN_OR_RETURN(SlotOrders parsed, OrdersFromProto(slot));
    orders.slots.push_back(std::move(parsed));
  }
  return orders;
}

}  // namespace burnish
