// A daemon that asks for a secret does so in each call of its service, by the descriptors.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "db/open.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "proto/protocol.h"
#include "proto/rpc.h"
#include "proto/tracker.pb.h"
#include "proto/tuner.pb.h"
#include "tracker/tracker_service.h"
#include "tuner/serve/study_host.h"
#include "tuner/serve/tuner_service.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kVariable[] = "BURNISH_LOOPBACK_SECRET";

// The first call of each method, with an empty message; OK: no method refused it for the secret.
absl::Status CallEach(const std::string& address, const std::string& client,
                      const google::protobuf::ServiceDescriptor& service, int* refused_count) {
  // Opened here: it takes the secret of this moment.
  grpc::GenericStub stub(OpenChannel(address, ThisVersion(client)));
  absl::Status last;
  for (int i = 0; i < service.method_count(); ++i) {
    grpc::ClientContext context;
    // The two that hang when they are let in need no more than to be let in.
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    grpc::CompletionQueue queue;
    const grpc::Slice nothing("");
    const auto call = stub.PrepareUnaryCall(
        &context, absl::StrCat("/", service.full_name(), "/", service.method(i)->name()),
        grpc::ByteBuffer(&nothing, 1), &queue);
    call->StartCall();
    grpc::ByteBuffer response;
    grpc::Status status;
    call->Finish(&response, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    if (status.error_code() != grpc::StatusCode::UNAUTHENTICATED) continue;
    ++*refused_count;
    last = FromGrpc(status);
  }
  return last;
}

class CallerSecretTest : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv(kVariable); }

  void ExpectAsked(const std::string& address, const std::string& client,
                   const google::protobuf::ServiceDescriptor& service) {
    int refused = 0;
    setenv(kVariable, std::string(32, '1').c_str(), /*overwrite=*/1);
    EXPECT_THAT(CallEach(address, client, service, &refused), IsOk());
    EXPECT_EQ(refused, 0);
    setenv(kVariable, std::string(32, '2').c_str(), /*overwrite=*/1);
    EXPECT_THAT(
        CallEach(address, client, service, &refused),
        StatusIs(absl::StatusCode::kUnauthenticated,
                 AllOf(HasSubstr("got another"), HasSubstr(kVariable), HasSubstr("unix socket"))));
    EXPECT_EQ(refused, service.method_count());
    setenv(kVariable, "none", /*overwrite=*/1);
    EXPECT_THAT(CallEach(address, client, service, &refused),
                StatusIs(absl::StatusCode::kUnauthenticated,
                         AllOf(HasSubstr("got none"), HasSubstr("here: "))));
    EXPECT_EQ(refused, 2 * service.method_count());
  }
};

TEST_F(CallerSecretTest, EachCallOfATrackerAsksForIt) {
  ASSERT_OK_AND_ASSIGN(const auto tracker,
                       TrackerService::Start({.listen = "localhost:0",
                                              .secret = std::string(16, '\x11'),
                                              .hang_max = absl::Milliseconds(1)}));
  ExpectAsked(tracker->address(), "tuner",
              *v1::SynchronizeRequest::descriptor()->file()->FindServiceByName("Tracker"));
}

TEST_F(CallerSecretTest, EachCallOfATunerDaemonAsksForIt) {
  ASSERT_OK_AND_ASSIGN(const TempDir folder, TempDir::Create("caller-secret"));
  ASSERT_OK_AND_ASSIGN(const Database database, OpenDatabase("memory:"));
  StudyHost host({.database = &database,
                  .clock = &Clock::Real(),
                  .tracker = "unix:/nowhere",
                  .program = {.path = "/nowhere"},
                  .models_folder = folder.path()});
  ASSERT_OK_AND_ASSIGN(const auto tuner, TunerService::Start({.listen = "localhost:0",
                                                              .secret = std::string(16, '\x11'),
                                                              .host = &host,
                                                              .database = &database,
                                                              .clock = &Clock::Real()}));
  ExpectAsked(tuner->address(), "tuner",
              *v1::GetStudyRequest::descriptor()->file()->FindServiceByName("Tuner"));
}

}  // namespace
}  // namespace burnish
