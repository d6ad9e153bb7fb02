// Programs of other versions at both ends of each conversation: a worker at a tracker, a tuner at a
// tracker, a command at a daemon. Those that share a protocol work together; others end by name.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/status_matchers.h"
#include "db/open.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "proto/job.h"
#include "proto/protocol.h"
#include "proto/rpc.h"
#include "proto/rpc_server.h"
#include "proto/tracker.grpc.pb.h"
#include "proto/tuner.grpc.pb.h"
#include "tracker/tracker_client.h"
#include "tracker/tracker_service.h"
#include "tuner/app/error.h"
#include "tuner/app/farm_client.h"
#include "tuner/serve/study_host.h"
#include "tuner/serve/tuner_client.h"
#include "tuner/serve/tuner_service.h"
#include "worker/agent/agent_client.h"
#include "worker/agent/fake_executor.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr absl::Duration kLong = absl::Seconds(60);  // Never reached when all is well.

// Two releases after this one, when nothing of this one's protocol is spoken any more.
Speaker Later(const std::string& program) {
  return {.program = program,
          .version = "9.0.0",
          .oldest = kProtocolNewest + 1,
          .newest = kProtocolNewest + 2};
}
// The next release: it still speaks what this one does.
Speaker Next(const std::string& program) {
  return {.program = program,
          .version = "8.0.0",
          .oldest = kProtocolNewest,
          .newest = kProtocolNewest + 1};
}

// The release before: all that it speaks is this one's oldest.
Speaker Before(const std::string& program) {
  return {
      .program = program, .version = "0.2.0", .oldest = kProtocolOldest, .newest = kProtocolOldest};
}

// ---- Servers of this version, called by others

class Servers {
 public:
  Servers() {
    database_ = *OpenDatabase("memory:");
    host_ = std::make_unique<StudyHost>(
        StudyHostOptions{.database = &database_, .clock = &Clock::Real()});
    tuner_ = *TunerService::Start(
        {.host = host_.get(), .database = &database_, .clock = &Clock::Real()});
    tracker_ = *TrackerService::Start({});
  }

  const std::string& tracker() const { return tracker_->address(); }
  const std::string& tuner() const { return tuner_->address(); }

 private:
  Database database_;
  std::unique_ptr<StudyHost> host_;
  std::unique_ptr<TunerService> tuner_;
  std::unique_ptr<TrackerService> tracker_;
};

// An empty message to the method, from a client that says this of itself; nothing: it says nothing,
// as version 0.1. A stream's first message looks the same.
grpc::Status Call(const std::string& address, const std::string& method,
                  const std::optional<std::string>& speaker) {
  grpc::GenericStub stub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoSeconds(kLong));
  if (speaker.has_value()) context.AddMetadata(kSpeakerMetadata, *speaker);
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareUnaryCall(&context, method, grpc::ByteBuffer(nullptr, 0), &queue);
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  EXPECT_TRUE(queue.Next(&tag, &ok));
  return status;
}

void ExpectRefusalsOf(const google::protobuf::ServiceDescriptor& service,
                      const std::string& address, const std::string& server) {
  for (int i = 0; i < service.method_count(); ++i) {
    const std::string method =
        absl::StrCat("/", service.full_name(), "/", service.method(i)->name());
    SCOPED_TRACE(method);
    EXPECT_THAT(FromGrpc(Call(address, method, ToText(Later("visitor")))),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("visitor 9.0.0 speaks protocol"),
                               HasSubstr(absl::StrCat("update the ", server)))));
    EXPECT_THAT(FromGrpc(Call(address, method, std::nullopt)),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr(" 0.1 speaks protocol 1, "), HasSubstr("update the "))));
    EXPECT_THAT(FromGrpc(Call(address, method, "nonsense")),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("is the other end")));
  }
}

// Each of them, so that a call that is added later cannot be forgotten.
TEST(VersionsTest, EveryCallRefusesClientsThatSpeakNoCommonProtocol) {
  const Servers servers;
  ExpectRefusalsOf(*v1::SynchronizeRequest::descriptor()->file()->FindServiceByName("Tracker"),
                   servers.tracker(), "tracker");
  ExpectRefusalsOf(*v1::GetStudyRequest::descriptor()->file()->FindServiceByName("Tuner"),
                   servers.tuner(), "tuner serve");
  // Before anything came of the calls.
  ASSERT_OK_AND_ASSIGN(const FarmStatus status, FarmClient(servers.tracker()).GetStatus());
  EXPECT_EQ(status.worker_count, 0);
  EXPECT_EQ(status.version, VersionLine(ThisVersion("tracker")));
}

std::unique_ptr<AgentClient> StartWorker(const std::string& tracker, FakeLab& lab,
                                         const Speaker& self) {
  std::vector<AgentSlot> slots(1);
  slots[0].info = {.kind = JobKind::kRun, .device_keys = {"cpu"}};
  slots[0].executor = lab.MakeExecutor();
  return std::make_unique<AgentClient>(
      AgentOptions{
          .tracker = tracker, .identity = {.worker_id = "w", .incarnation = 1}, .self = self},
      std::move(slots));
}

absl::Status AwaitRefusal(TrackerClient& tuner) {
  const absl::Time end = Clock::Real().SteadyNow() + kLong;
  while (tuner.state().refused.ok() && Clock::Real().SteadyNow() < end) {
    tuner.Collect(absl::Milliseconds(5));  // As a pause.
  }
  return tuner.state().refused;
}

TEST(VersionsTest, WorkersTunersAndCommandsOfOtherVersionsEndByName) {
  const Servers servers;
  FakeLab lab(absl::ZeroDuration(), &EchoOutcome);
  for (const bool later : {false, true}) {
    const auto as = [later](const std::string& program) {
      return later ? Later(program) : FirstVersion(program);
    };
    const absl::Status worker =
        StartWorker(servers.tracker(), lab, as("worker"))->WaitUntilRefused(kLong);
    EXPECT_TRUE(IsProtocolRefusal(worker)) << worker;
    EXPECT_THAT(worker.message(), HasSubstr(later ? "update the tracker" : "update the worker"));

    TrackerClient tuner({.tracker = servers.tracker(), .tuner_id = "t", .self = as("tuner")});
    EXPECT_THAT(AwaitRefusal(tuner).message(),
                HasSubstr(later ? "update the tracker" : "update the tuner"));

    const absl::Status command =
        TunerClient(servers.tuner(), nullptr, as("tuner")).Get("").status();
    EXPECT_EQ(ErrorCodeOf(command), ErrorCode::kServerProtocol) << command;
    EXPECT_THAT(command.message(),
                HasSubstr(later ? "update the tuner serve" : "update the tuner"));
  }
}

// ---- Servers of other versions, called by this one

// Answers every call with OK and no word of what it speaks, as a server of version 0.1 might; with
// `speaker` it says so.
class StrangeTracker : public v1::Tracker::Service {
 public:
  explicit StrangeTracker(std::optional<std::string> speaker) : speaker_(std::move(speaker)) {
    server_ = *RpcServer::Start(
        "localhost:0", [this](grpc::ServerBuilder& builder) { builder.RegisterService(this); });
  }

  grpc::Status Synchronize(grpc::ServerContext* context, const v1::SynchronizeRequest*,
                           v1::SynchronizeResponse*) override {
    return Answer(*context);
  }
  grpc::Status CollectResults(grpc::ServerContext* context, const v1::CollectResultsRequest*,
                              v1::CollectResultsResponse*) override {
    return Answer(*context);
  }
  grpc::Status SubmitJobs(grpc::ServerContext* context, const v1::SubmitJobsRequest*,
                          v1::SubmitJobsResponse*) override {
    return Answer(*context);
  }
  grpc::Status GetStatus(grpc::ServerContext* context, const v1::GetStatusRequest*,
                         v1::GetStatusResponse*) override {
    return Answer(*context);
  }

  const std::string& address() const { return server_->address(); }
  int call_count() const { return call_count_; }

 private:
  grpc::Status Answer(grpc::ServerContext& context) {
    ++call_count_;
    if (speaker_.has_value()) context.AddInitialMetadata(kSpeakerMetadata, *speaker_);
    return grpc::Status::OK;
  }

  const std::optional<std::string> speaker_;
  std::atomic<int> call_count_ = 0;
  std::unique_ptr<RpcServer> server_;
};

class StrangeDaemon : public v1::Tuner::Service {
 public:
  StrangeDaemon() {
    server_ = *RpcServer::Start(
        "localhost:0", [this](grpc::ServerBuilder& builder) { builder.RegisterService(this); });
  }
  grpc::Status GetStudy(grpc::ServerContext*, const v1::GetStudyRequest*,
                        v1::GetStudyResponse*) override {
    return grpc::Status::OK;
  }
  grpc::Status WatchStudy(grpc::ServerContext*, const v1::WatchStudyRequest*,
                          grpc::ServerWriter<v1::StudyUpdate>*) override {
    return {grpc::StatusCode::NOT_FOUND, "no such study"};
  }
  const std::string& address() const { return server_->address(); }

 private:
  std::unique_ptr<RpcServer> server_;
};

struct StrangeCase {
  std::optional<std::string> speaker;
  std::string words;
};

std::vector<StrangeCase> StrangeCases() {
  return {{std::nullopt, "tracker 0.1 speaks protocol 1: update the tracker"},
          {ToText(Later("tracker")), "update the "},
          {"nonsense", "is the other end Burnish?"}};
}

TEST(VersionsTest, AWorkerEndsAtATrackerOfAnotherVersion) {
  FakeLab lab(absl::ZeroDuration(), &EchoOutcome);
  for (const StrangeCase& strange : StrangeCases()) {
    const StrangeTracker tracker(strange.speaker);
    const auto worker = StartWorker(tracker.address(), lab, ThisVersion("worker"));
    const absl::Status refused = worker->WaitUntilRefused(kLong);
    EXPECT_TRUE(IsProtocolRefusal(refused)) << refused;
    EXPECT_THAT(refused.message(), HasSubstr(strange.words));
  }
}

TEST(VersionsTest, ATunerAsksATrackerOfAnotherVersionNoMore) {
  for (const StrangeCase& strange : StrangeCases()) {
    const StrangeTracker tracker(strange.speaker);
    TrackerClient tuner({.tracker = tracker.address(), .tuner_id = "t", .seed = 1});
    const absl::Status refused = AwaitRefusal(tuner);
    EXPECT_TRUE(IsProtocolRefusal(refused)) << refused;
    EXPECT_THAT(refused.message(), HasSubstr(strange.words));
    ASSERT_THAT(tuner.Submit({{.id = "job", .kind = JobKind::kRun}}), IsOk());
    EXPECT_THAT(tuner.Collect(absl::Milliseconds(300)), SizeIs(0));
    EXPECT_EQ(tracker.call_count(), 1);  // The first CollectResults.
  }
}

TEST(VersionsTest, PeopleHearOfATrackerOfAnotherVersion) {
  for (const StrangeCase& strange : StrangeCases()) {
    const StrangeTracker tracker(strange.speaker);
    const absl::Status status = FarmClient(tracker.address()).GetStatus().status();
    EXPECT_EQ(ErrorCodeOf(status), ErrorCode::kTrackerProtocol) << status;
    EXPECT_THAT(status.message(), HasSubstr(strange.words));
  }
}

// Also where an old server has no answer: it would be a riddle to a newer client.
TEST(VersionsTest, ACommandEndsAtADaemonOfTheFirstVersion) {
  const StrangeDaemon daemon;
  TunerClient client(daemon.address());
  EXPECT_EQ(ErrorCodeOf(client.Get("").status()), ErrorCode::kServerProtocol);
  const absl::Status followed = client.Follow("", [](const StudyProgress&) {}).status();
  EXPECT_EQ(ErrorCodeOf(followed), ErrorCode::kServerProtocol);
  EXPECT_THAT(followed.message(), HasSubstr("tuner serve 0.1 speaks protocol 1: update the"));
}

TEST(VersionsTest, AnEndThatIsNotThereSpeaksNoOtherProtocol) {
  EXPECT_EQ(ErrorCodeOf(FarmClient("localhost:1").GetStatus().status()),
            ErrorCode::kTrackerUnreachable);
  EXPECT_EQ(ErrorCodeOf(TunerClient("localhost:1").Get("").status()),
            ErrorCode::kServerUnreachable);
}

// ---- Neighbours

// Whichever of the three is updated first, or last.
TEST(VersionsTest, ProgramsOfNeighbouringVersionsDoAJobTogether) {
  for (const int other : {0, 1, 2, 3, -1, -2, -3}) {
    const auto as = [other](int program, const std::string& name) {
      return other == program ? Next(name) : other == -program ? Before(name) : ThisVersion(name);
    };
    ASSERT_OK_AND_ASSIGN(const auto tracker, TrackerService::Start({.self = as(1, "tracker")}));
    FakeLab lab(absl::ZeroDuration(), &EchoOutcome);
    const auto worker = StartWorker(tracker->address(), lab, as(2, "worker"));
    TrackerClient tuner(
        {.tracker = tracker->address(), .tuner_id = "t", .seed = 1, .self = as(3, "tuner")});
    ASSERT_THAT(
        tuner.Submit({{.id = "job", .kind = JobKind::kRun, .device_key = "cpu", .payload = "x"}}),
        IsOk());
    const std::vector<ResultEntry> results = tuner.Collect(kLong);
    ASSERT_THAT(results, SizeIs(1)) << other;
    EXPECT_EQ(std::get<std::string>(results[0].outcome), "result of x");
  }
}

// A report of protocol 2, byte for byte: it has no secret. One of protocol 3 has.
TEST(VersionsTest, AWorkerOfProtocol2WorksOnButTakesNoIdThatCameWithASecret) {
  const auto report = [](const std::string& id, const std::string& secret) {
    v1::SynchronizeRequest request;
    request.set_worker_id(id);
    request.set_incarnation(7);
    request.set_sequence(1);
    request.add_slots()->mutable_info()->set_kind(v1::RUN);
    request.set_worker_secret(secret);
    return request;
  };
  const std::string secret(32, 's');
  for (const bool is_required : {false, true}) {
    ASSERT_OK_AND_ASSIGN(const auto tracker,
                         TrackerService::Start(
                             {.hang_max = absl::Milliseconds(1), .require_identity = is_required}));
    const auto send = [&](const Speaker& self, const v1::SynchronizeRequest& request) {
      const auto stub = v1::Tracker::NewStub(OpenChannel(tracker->address(), self));
      grpc::ClientContext context;
      v1::SynchronizeResponse response;
      return stub->Synchronize(&context, request, &response).error_code();
    };
    const auto denied = grpc::StatusCode::PERMISSION_DENIED;
    EXPECT_EQ(send(Before("worker"), report("old", "")),
              is_required ? denied : grpc::StatusCode::OK);
    EXPECT_EQ(send(ThisVersion("worker"), report("new", secret)), grpc::StatusCode::OK);
    EXPECT_EQ(send(Before("worker"), report("new", "")), denied);
    EXPECT_EQ(send(ThisVersion("worker"), report("new", std::string(32, 't'))), denied);
  }
}

}  // namespace
}  // namespace burnish
