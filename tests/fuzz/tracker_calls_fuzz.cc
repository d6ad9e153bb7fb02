// libFuzzer target: whatever messages come, in whatever order, the tracker lives and its counts
// agree. The input is a list of calls: which one, a length of two bytes, the message.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/check.h"
#include "proto/synchronize.h"
#include "proto/tracker.pb.h"
#include "tracker/tracker_core.h"
#include "tracker/tracker_messages.h"

namespace burnish {
namespace {

template <typename Message>
bool Read(absl::string_view bytes, Message& message) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

void Call(TrackerCore& core, absl::Time now, int which, absl::string_view bytes) {
  if (which == 0) {
    v1::SynchronizeRequest message;
    if (!Read(bytes, message)) return;
    if (const auto report = FromProto(message); report.ok()) {
      core.Synchronize(now, *report).IgnoreError();
    }
  } else if (which == 1) {
    v1::SubmitJobsRequest message;
    if (!Read(bytes, message)) return;
    if (auto jobs = JobsFromProto(message); jobs.ok()) {
      core.Submit(now, message.tuner_id(), *std::move(jobs), message.resubmission()).IgnoreError();
    }
  } else if (which == 2) {
    v1::CollectResultsRequest message;
    if (!Read(bytes, message)) return;
    if (const auto request = FromProto(message); request.ok()) core.Collect(now, *request);
  } else {
    v1::CancelJobsRequest message;
    if (!Read(bytes, message)) return;
    core.Cancel(now, message.tuner_id(), {message.job_ids().begin(), message.job_ids().end()},
                message.study());
  }
}

}  // namespace
}  // namespace burnish

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace burnish;  // NOLINT: a C function has no namespace of its own.
  absl::Time now = absl::UnixEpoch() + absl::Hours(1);
  TrackerCore core({.jobs_max = 20, .workers_max = 4, .tuners_max = 4}, now);
  while (size >= 3) {
    const int which = data[0] % 4;
    // The high bits of the first byte: how much time goes by before the call.
    now += absl::Seconds(data[0] / 4);
    const size_t length = std::min<size_t>(data[1] + 256 * data[2], size - 3);
    if (core.NextTick() <= now) core.Tick(now);
    Call(core, now, which, absl::string_view(reinterpret_cast<const char*>(data + 3), length));
    for (const std::string& id : core.TakeReadyWorkers()) core.OrdersFor(now, id, 0);
    core.TakeReadyTuners();
    const TrackerStatus status = core.GetStatus(now);
    CHECK_GE(status.queued_count, 0);
    CHECK_LE(status.queued_count + status.leased_count + status.unacknowledged_count, 20);
    core.ListWorkers(now);
    data += 3 + length;
    size -= 3 + length;
  }
  return 0;
}
