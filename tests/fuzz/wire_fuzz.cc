// libFuzzer target: every message that a process takes from another one is refused with
// INVALID_ARGUMENT, or means the same after it was sent on. The first byte says which one it is.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "base/check.h"
#include "proto/build_job.h"
#include "proto/compile.h"
#include "proto/measurement.h"
#include "proto/measurement.pb.h"
#include "proto/run_job.h"
#include "proto/study.h"
#include "proto/study.pb.h"
#include "proto/synchronize.h"
#include "proto/tracker.pb.h"
#include "tracker/tracker_messages.h"

namespace burnish {
namespace {

void CheckRefusal(const absl::Status& status) {
  CHECK(status.code() == absl::StatusCode::kInvalidArgument) << status;
}

// A message with a value type beside it.
template <typename Message>
void FuzzMessage(absl::string_view bytes) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  const auto value = FromProto(message);
  if (!value.ok()) return CheckRefusal(value.status());
  const auto again = FromProto(ToProto(*value));
  CHECK_OK(again);
  // By bytes and not by ==: a number may be NaN.
  CHECK_EQ(ToProto(*again).SerializeAsString(), ToProto(*value).SerializeAsString());
}

// A payload, which travels as bytes.
template <typename Decoder>
void FuzzPayload(absl::string_view bytes, Decoder decode) {
  const auto value = decode(bytes);
  if (!value.ok()) return CheckRefusal(value.status());
  const auto again = decode(Encode(*value));
  CHECK_OK(again);
  CHECK_EQ(Encode(*again), Encode(*value));
}

void FuzzSubmitJobs(absl::string_view bytes) {
  v1::SubmitJobsRequest message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  const auto jobs = JobsFromProto(message);
  if (!jobs.ok()) return CheckRefusal(jobs.status());
  const auto again = JobsFromProto(ToProto(message.tuner_id(), *jobs, message.resubmission()));
  CHECK_OK(again);
  CHECK(*again == *jobs);
}

}  // namespace
}  // namespace burnish

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  using namespace burnish;  // NOLINT: a C function has no namespace of its own.
  const absl::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 13) {
    case 0:
      FuzzMessage<v1::SynchronizeRequest>(bytes);
      break;
    case 1:
      FuzzMessage<v1::SynchronizeResponse>(bytes);
      break;
    case 2:
      FuzzMessage<v1::CollectResultsRequest>(bytes);
      break;
    case 3:
      FuzzMessage<v1::CollectResultsResponse>(bytes);
      break;
    case 4:
      FuzzSubmitJobs(bytes);
      break;
    case 5:
      FuzzMessage<v1::Measurement>(bytes);
      break;
    case 6:
      FuzzMessage<v1::StudySpec>(bytes);
      break;
    case 7:
      FuzzPayload(bytes, DecodeBuildJob);
      break;
    case 8:
      FuzzPayload(bytes, DecodeBuildResult);
      break;
    case 9:
      FuzzPayload(bytes, DecodeRunJob);
      break;
    case 10:
      FuzzPayload(bytes, DecodeRunResult);
      break;
    case 11:
      FuzzPayload(bytes, DecodeCompileRequest);
      break;
    case 12:
      // Not one that holds the status that a builder has sent instead, whatever its code.
      if (DecodeCompileReply(bytes).ok()) FuzzPayload(bytes, DecodeCompileReply);
      break;
  }
  return 0;
}
