// libFuzzer target: the messages of `tuner serve` to its clients, of clients to it, and of a
// study's process to it, are refused with INVALID_ARGUMENT, or mean the same after they were sent
// on. The first byte says which one follows.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "base/check.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/message.h"
#include "proto/study_process.pb.h"
#include "proto/tuner.pb.h"
#include "tuner/app/error.h"
#include "tuner/serve/tuner_messages.h"

namespace burnish {
namespace {

// Always in the same order: maps have none.
std::string BytesOf(const google::protobuf::Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    CHECK(message.SerializeToCodedStream(&coded));
  }
  return bytes;
}

template <typename Message>
void Fuzz(const Message& message) {
  const auto value = FromProto(message);
  if (!value.ok()) {
    CHECK(absl::IsInvalidArgument(value.status())) << value.status();
    return;
  }
  const auto again = FromProto(ToProto(*value));
  CHECK_OK(again);
  // By bytes and not by ==: a number may be NaN.
  CHECK_EQ(BytesOf(ToProto(*again)), BytesOf(ToProto(*value)));
}

void FuzzEnd(const v1::StudyEnd& message) {
  const StudyEnding ending = FromProto(message);
  const StudyEnding again = FromProto(ToProto(ending));
  CHECK(again.reason == ending.reason && again.error.code() == ending.error.code());
  ErrorCodeOf(ending.error);
}

// As tuner/serve/study_process.cc hears it.
void FuzzReport(const v1::StudyReport& message) {
  if (message.has_progress()) Fuzz(message.progress());
  if (message.has_end()) FuzzEnd(message.end());
}

// As tuner/serve/study_process_main.cc is told.
void FuzzOrder(const v1::StudyOrder& message) {
  if (message.has_create()) FromProto(message.create().spec()).status().IgnoreError();
}

template <typename Message, typename Function>
void With(absl::string_view bytes, Function function) {
  Message message;
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) function(message);
}

}  // namespace
}  // namespace burnish

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  using namespace burnish;  // NOLINT: a C function has no namespace of its own.
  const absl::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 9) {
    case 0:
      With<v1::StudySummary>(bytes, Fuzz<v1::StudySummary>);
      break;
    case 1:
      With<v1::StudyView>(bytes, Fuzz<v1::StudyView>);
      break;
    case 2:
      With<v1::StudyProgress>(bytes, Fuzz<v1::StudyProgress>);
      break;
    case 3:
      With<v1::StudyEnd>(bytes, FuzzEnd);
      break;
    case 4:
      With<v1::FindBestRequest>(bytes, Fuzz<v1::FindBestRequest>);
      break;
    case 5:
      With<v1::FindBestResponse>(bytes, Fuzz<v1::FindBestResponse>);
      break;
    case 6:
      With<v1::StudyReport>(bytes, FuzzReport);
      break;
    case 7:
      With<v1::StudyOrder>(bytes, FuzzOrder);
      break;
    case 8:
      // An error's details, as a client gets them.
      ErrorCodeOf(WithErrorDetail(absl::UnavailableError("x"), bytes));
      break;
  }
  return 0;
}
