// libFuzzer target: whatever message comes to whichever call of `tuner serve`, the daemon lives and
// answers. Over a real connection; the studies' processes cannot be started, so that none runs. The
// first byte says which call, the rest is the message.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/file.h"
#include "db/open.h"
#include "google/protobuf/descriptor.h"
#include "proto/protocol.h"
#include "proto/rpc.h"
#include "proto/tuner.pb.h"
#include "tuner/serve/study_host.h"
#include "tuner/serve/tuner_service.h"

namespace burnish {
namespace {

class Daemon {
 public:
  Daemon() : folder_(*TempDir::Create("tuner_calls_fuzz")), database_(*OpenDatabase("memory:")) {
    CHECK_OK(database_.studies->Create({.id = "study", .title = "t", .target = "cpu"}, {}));
    host_ = std::make_unique<StudyHost>(StudyHostOptions{.database = &database_,
                                                         .clock = &Clock::Real(),
                                                         .tracker = "unix:/nowhere",
                                                         .program = {.path = "/nowhere"},
                                                         .models_folder = folder_.path()});
    absl::StatusOr<std::unique_ptr<TunerService>> service =
        TunerService::Start({.listen = absl::StrCat("unix:", folder_.path(), "/daemon"),
                             .host = host_.get(),
                             .database = &database_,
                             .clock = &Clock::Real(),
                             .model_bytes_max = 1 << 12});
    CHECK_OK(service);
    service_ = *std::move(service);
    stub_ =
        std::make_unique<grpc::GenericStub>(OpenChannel(service_->address(), ThisVersion("tuner")));
  }

  grpc::Status Call(const std::string& method, const std::string& message) {
    grpc::ClientContext context;
    // The end of a study that is watched never comes.
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(300));
    grpc::CompletionQueue queue;
    const grpc::Slice slice(message);
    const auto call =
        stub_->PrepareUnaryCall(&context, method, grpc::ByteBuffer(&slice, 1), &queue);
    call->StartCall();
    grpc::ByteBuffer response;
    grpc::Status status;
    call->Finish(&response, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    CHECK(queue.Next(&tag, &ok));
    return status;
  }

 private:
  const TempDir folder_;
  const Database database_;
  std::unique_ptr<StudyHost> host_;
  std::unique_ptr<TunerService> service_;
  std::unique_ptr<grpc::GenericStub> stub_;
};

}  // namespace
}  // namespace burnish

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  using namespace burnish;  // NOLINT: a C function has no namespace of its own.
  static Daemon* const daemon = new Daemon();
  const auto* const service = v1::GetStudyRequest::descriptor()->file()->FindServiceByName("Tuner");
  const auto* const method = service->method(data[0] % service->method_count());
  const grpc::Status status =
      daemon->Call(absl::StrCat("/", service->full_name(), "/", method->name()),
                   std::string(reinterpret_cast<const char*>(data + 1), size - 1));
  CHECK(status.error_code() != grpc::StatusCode::UNAVAILABLE) << status.error_message();
  return 0;
}
