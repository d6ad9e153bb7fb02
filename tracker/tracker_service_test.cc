// The service on a real port, in this process, through generated stubs.
#include "tracker/tracker_service.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include <latch>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/secret.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/artifact_client.h"
#include "proto/artifact_codec.h"
#include "proto/measurement.h"
#include "proto/protocol.h"
#include "proto/rpc.h"
#include "proto/tracker.grpc.pb.h"
#include "tracker/retry_after.h"
#include "tracker/tracker_client.h"
#include "worker/agent/agent_client.h"
#include "worker/agent/fake_executor.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr absl::Duration kLong = absl::Minutes(1);
constexpr char kSecret[] = "known to its tuner alone";

JobSpec RunSpec(const std::string& id) {
  return {.id = id, .kind = JobKind::kRun, .device_key = "cpu", .study = "s", .payload = id};
}

const std::string kOwner(32, 'o'), kOperator(32, 'p'), kStranger(32, 's');

// A SynchronizeRequest of a worker with one idle run slot.
v1::SynchronizeRequest IdleWorker(const std::string& id, int64_t sequence) {
  return ToProto(
      WorkerReport{.worker_id = id,
                   .incarnation = 1,
                   .sequence = sequence,
                   .slots = {{.info = {.kind = JobKind::kRun, .device_keys = {"cpu"}}}}});
}

// The same with a build slot for any device.
v1::SynchronizeRequest IdleBuilder(const std::string& id, int64_t sequence) {
  return ToProto(WorkerReport{.worker_id = id,
                              .incarnation = 1,
                              .sequence = sequence,
                              .slots = {{.info = {.kind = JobKind::kBuild}}}});
}

// An asynchronous Synchronize, for calls that hang.
struct SyncCall {
  SyncCall(v1::Tracker::Stub& stub, v1::SynchronizeRequest message) : request(std::move(message)) {
    stub.async()->Synchronize(&context, &request, &response, [this](grpc::Status result) {
      status = std::move(result);
      done.count_down();
    });
  }
  ~SyncCall() {
    context.TryCancel();
    done.wait();
  }

  grpc::ClientContext context;
  v1::SynchronizeRequest request;
  v1::SynchronizeResponse response;
  grpc::Status status;
  std::latch done{1};
};

// One message to `method` and the first one back, as encoded bytes: for services whose generated
// code is not installed. A unary call looks like a stream with one message each way.
std::string CallRaw(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                    const std::string& request) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto next = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call =
      stub.PrepareCall(&context, method, &queue);
  call->StartCall(nullptr);
  EXPECT_TRUE(next());
  const grpc::Slice slice(request);
  call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
  EXPECT_TRUE(next());
  grpc::ByteBuffer response;
  call->Read(&response, nullptr);
  EXPECT_TRUE(next()) << method;
  grpc::Status status;
  call->Finish(&status, nullptr);
  next();
  EXPECT_TRUE(status.ok()) << status.error_message();
  grpc::Slice whole;
  EXPECT_TRUE(response.DumpToSingleSlice(&whole).ok());
  return std::string(reinterpret_cast<const char*>(whole.begin()), whole.size());
}

class TrackerServiceTest : public ::testing::Test {
 protected:
  TrackerServiceTest() { Start({}); }

  void Start(TrackerServiceOptions options) {
    service_.reset();
    absl::StatusOr<std::unique_ptr<TrackerService>> service = TrackerService::Start(options);
    ASSERT_THAT(service, IsOk());
    service_ = *std::move(service);
    channel_ = OpenChannel(service_->address(), ThisVersion("tuner"));
    stub_ = v1::Tracker::NewStub(channel_);
  }

  grpc::Status Submit(const v1::SubmitJobsRequest& request) {
    grpc::ClientContext context;
    v1::SubmitJobsResponse response;
    return stub_->SubmitJobs(&context, request, &response);
  }

  v1::GetStatusResponse GetStatus() {
    grpc::ClientContext context;
    v1::GetStatusResponse response;
    EXPECT_TRUE(stub_->GetStatus(&context, {}, &response).ok());
    return response;
  }

  v1::SubmitJobsRequest OneJob(const std::string& id) {
    v1::SubmitJobsRequest request;
    request.set_tuner_id("tuner");
    request.set_tuner_secret(kSecret);
    *request.add_jobs() = ToProto(RunSpec(id));
    return request;
  }

  v1::SubmitJobsRequest OneBuild(const std::string& id) {
    v1::SubmitJobsRequest request = OneJob(id);
    request.mutable_jobs(0)->set_kind(v1::BUILD);
    return request;
  }

  // A worker that has begun this build, and nothing else.
  ArtifactSource Build(const std::string& id) {
    const std::string worker = absl::StrCat("builder of ", id);
    SyncCall sync(*stub_, IdleBuilder(worker, 1));
    EXPECT_TRUE(Submit(OneBuild(id)).ok());
    sync.done.wait();
    EXPECT_EQ(sync.response.slots_size(), 1) << sync.status.error_message();
    const v1::Lease lease =
        sync.response.slots_size() == 1 ? sync.response.slots(0).lease() : v1::Lease();
    return {.worker_id = worker,
            .incarnation = 1,
            .lease = {.job_id = lease.job_id(), .epoch = lease.epoch()}};
  }

  grpc::Status Collect(const v1::CollectResultsRequest& request,
                       v1::CollectResultsResponse* response) {
    grpc::ClientContext context;
    return stub_->CollectResults(&context, request, response);
  }

  grpc::Status Drain(const std::string& worker, const std::string& worker_secret,
                     const std::string& operator_secret) {
    grpc::ClientContext context;
    v1::DrainWorkerRequest request;
    v1::DrainWorkerResponse response;
    request.set_worker_id(worker);
    request.set_worker_secret(worker_secret);
    request.set_operator_secret(operator_secret);
    return stub_->DrainWorker(&context, request, &response);
  }

  std::unique_ptr<TrackerService> service_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Tracker::Stub> stub_;
};

TEST_F(TrackerServiceTest, AddressNamesThePortThatWasTaken) {
  EXPECT_THAT(service_->address(), ::testing::MatchesRegex("localhost:[1-9][0-9]*"));
  EXPECT_THAT(TrackerService::Start({.listen = service_->address()}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("cannot listen")));
  EXPECT_THAT(TrackerService::Start({.listen = "nonsense"}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(TrackerServiceTest, HangingWorkerIsAnsweredWhenAJobComes) {
  SyncCall sync(*stub_, IdleWorker("w", 1));
  ASSERT_TRUE(Submit(OneJob("job")).ok());
  sync.done.wait();
  ASSERT_TRUE(sync.status.ok()) << sync.status.error_message();
  ASSERT_THAT(sync.response.slots(), SizeIs(1));
  EXPECT_EQ(sync.response.slots(0).job().id(), "job");
}

// A tuner is told where a result came from by the tracker, whatever the worker says of its host.
TEST_F(TrackerServiceTest, ResultNamesTheAddressOfItsWorkersCall) {
  const TempDir own = *TempDir::Create("tracker-service-test");
  const TempDir shared = *TempDir::Create("tracker-service-test");
  ASSERT_EQ(chmod(shared.path().c_str(), 0755), 0);
  const std::pair<std::string, std::string> cases[] = {
      {"localhost:0", "local"},
      {absl::StrCat("unix:", shared.path(), "/socket"), "local"},
      {absl::StrCat("unix:", own.path(), "/socket"), kOwnAddress}};
  for (const auto& [listen, address] : cases) {
    Start({.listen = listen});
    ASSERT_TRUE(Submit(OneJob("job")).ok());
    v1::SynchronizeRequest request = IdleWorker("w", 1);
    request.set_host("another machine, honestly");
    SyncCall begun(*stub_, request);
    begun.done.wait();
    ASSERT_EQ(begun.response.slots_size(), 1) << begun.status.error_message();
    request.set_sequence(2);
    request.set_epoch(begun.response.epoch());
    v1::HeldResult* held = request.mutable_slots(0)->add_results();
    *held->mutable_lease() = begun.response.slots(0).lease();
    held->mutable_outcome()->set_payload("done");
    SyncCall done(*stub_, request);
    v1::CollectResultsRequest collect;
    collect.set_tuner_id("tuner");
    collect.set_tuner_secret(kSecret);
    v1::CollectResultsResponse response;
    while (response.results_size() == 0) ASSERT_TRUE(Collect(collect, &response).ok());
    EXPECT_EQ(response.results(0).worker_id(), "w");
    EXPECT_EQ(response.results(0).worker_address(), address) << listen;
  }
}

TEST_F(TrackerServiceTest, HangingCallsAreAnsweredWhenTheirTimeIsUp) {
  Start({.hang_max = absl::Milliseconds(50)});
  SyncCall sync(*stub_, IdleWorker("w", 1));
  sync.done.wait();
  ASSERT_TRUE(sync.status.ok());
  EXPECT_FALSE(sync.response.slots(0).has_lease());
  EXPECT_EQ(sync.response.sequence(), 1);
  grpc::ClientContext first_context, second_context;
  v1::CollectResultsRequest request;
  request.set_tuner_id("tuner");
  request.set_tuner_secret(kSecret);
  request.set_wait_ns(absl::ToInt64Nanoseconds(kLong));
  v1::CollectResultsResponse response;
  ASSERT_TRUE(stub_->CollectResults(&first_context, request, &response).ok());
  request.set_session(response.session());
  ASSERT_TRUE(stub_->CollectResults(&second_context, request, &response).ok());
  EXPECT_THAT(response.results(), ::testing::IsEmpty());
}

TEST_F(TrackerServiceTest, NewerCallOfAWorkerEndsTheOlder) {
  SyncCall older(*stub_, IdleWorker("w", 1));
  while (GetStatus().worker_count() == 0) std::this_thread::yield();
  SyncCall newer(*stub_, IdleWorker("w", 2));
  older.done.wait();
  EXPECT_EQ(older.status.error_code(), grpc::StatusCode::ABORTED);
  SyncCall stale(*stub_, IdleWorker("w", 1));
  stale.done.wait();
  EXPECT_EQ(stale.status.error_code(), grpc::StatusCode::ABORTED);
}

TEST_F(TrackerServiceTest, WorkerThatBreaksItsCallGetsNoJob) {
  {
    SyncCall sync(*stub_, IdleWorker("w", 1));
    while (GetStatus().worker_count() == 0) std::this_thread::yield();
  }
  // Its cancellation may take a moment to arrive; another worker gets the job then.
  ASSERT_TRUE(Submit(OneJob("job")).ok());
  EXPECT_EQ(GetStatus().queued_count() + GetStatus().leased_count(), 1);
}

TEST_F(TrackerServiceTest, FullTrackerSaysWhenToTryAgain) {
  Start({.core = {.jobs_max = 1}});
  ASSERT_TRUE(Submit(OneJob("a")).ok());
  grpc::ClientContext context;
  v1::SubmitJobsResponse response;
  const grpc::Status status = stub_->SubmitJobs(&context, OneJob("b"), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(context.GetServerTrailingMetadata().count(kRetryAfterMetadata), 1u);
}

TEST_F(TrackerServiceTest, MalformedRequestsAreRefusedWithTheReason) {
  v1::SubmitJobsRequest bad = OneJob("job");
  bad.mutable_jobs(0)->set_cost(0);
  EXPECT_EQ(Submit(bad).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(Submit(bad).error_message(), HasSubstr("cost=0"));
  bad = OneJob("job");
  bad.clear_tuner_id();
  EXPECT_EQ(Submit(bad).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  SyncCall sync(*stub_, {});
  sync.done.wait();
  EXPECT_EQ(sync.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(GetStatus().queued_count(), 0);
}

TEST_F(TrackerServiceTest, MessageThatIsTooLargeIsRefused) {
  v1::SubmitJobsRequest huge = OneJob("job");
  huge.mutable_jobs(0)->set_payload(std::string(kRpcMessageBytesMax, 'x'));
  EXPECT_EQ(Submit(huge).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

// Each of the three calls of a tuner, by whoever does not know its secret.
TEST_F(TrackerServiceTest, AStrangerUnderATunersIdIsTurnedAway) {
  ASSERT_TRUE(Submit(OneJob("job")).ok());
  for (const std::string& secret : {std::string(32, 'x'), std::string(), std::string("short")}) {
    v1::SubmitJobsRequest submit = OneJob("another");
    submit.set_tuner_secret(secret);
    const grpc::Status refused = Submit(submit);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_THAT(refused.error_message(), HasSubstr("tuner"));
    v1::CollectResultsRequest collect;
    collect.set_tuner_id("tuner");
    collect.set_tuner_secret(secret);
    collect.add_acknowledged("job");
    v1::CollectResultsResponse collected;
    EXPECT_EQ(Collect(collect, &collected).error_code(), grpc::StatusCode::PERMISSION_DENIED);
    v1::CancelJobsRequest cancel;
    cancel.set_tuner_id("tuner");
    cancel.set_tuner_secret(secret);
    cancel.add_job_ids("job");
    cancel.set_study("s");
    grpc::ClientContext context;
    v1::CancelJobsResponse cancelled;
    EXPECT_EQ(stub_->CancelJobs(&context, cancel, &cancelled).error_code(),
              grpc::StatusCode::PERMISSION_DENIED);
  }
  EXPECT_EQ(GetStatus().queued_count(), 1);
  EXPECT_EQ(GetStatus().counters().at("cancelled"), 0);
}

TEST_F(TrackerServiceTest, AStrangersCollectDoesNotEndTheTuners) {
  grpc::ClientContext context;
  v1::CollectResultsRequest hanging;
  hanging.set_tuner_id("tuner");
  hanging.set_tuner_secret(kSecret);
  v1::CollectResultsResponse first;
  ASSERT_TRUE(Collect(hanging, &first).ok());
  hanging.set_session(first.session());
  hanging.set_wait_ns(absl::ToInt64Nanoseconds(kLong));
  grpc::Status end;
  v1::CollectResultsResponse response;
  std::latch done{1};
  stub_->async()->CollectResults(&context, &hanging, &response, [&](grpc::Status status) {
    end = std::move(status);
    done.count_down();
  });
  v1::CollectResultsRequest stranger = hanging;
  stranger.set_tuner_secret(std::string(32, 'x'));
  stranger.set_wait_ns(0);
  v1::CollectResultsResponse none;
  EXPECT_EQ(Collect(stranger, &none).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  // By its own newer call, as ever, or by the end of its time.
  hanging.set_wait_ns(0);
  EXPECT_TRUE(Collect(hanging, &none).ok());
  done.wait();
  EXPECT_NE(end.error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(TrackerServiceTest, TunersThatAreMadeUpAreBounded) {
  Start({.core = {.tuners_max = 1}});
  ASSERT_TRUE(Submit(OneJob("job")).ok());
  for (int i = 0; i < 3; ++i) {
    v1::CollectResultsRequest collect;
    collect.set_tuner_id(absl::StrCat("made up ", i));
    collect.set_tuner_secret(kSecret);
    v1::CollectResultsResponse none;
    EXPECT_EQ(Collect(collect, &none).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  EXPECT_EQ(GetStatus().tuner_count(), 1);
  v1::CollectResultsRequest collect;
  collect.set_tuner_id("tuner");
  collect.set_tuner_secret(kSecret);
  v1::CollectResultsResponse collected;
  EXPECT_TRUE(Collect(collect, &collected).ok()) << "one that is known";
}

TEST_F(TrackerServiceTest, AForgottenTunersIdIsWhosoeverComesNext) {
  Start({.core = {.tuner_timeout = absl::Milliseconds(1)}});
  ASSERT_TRUE(Submit(OneJob("job")).ok());
  while (GetStatus().tuner_count() > 0) std::this_thread::yield();
  v1::SubmitJobsRequest other = OneJob("job");
  other.set_tuner_secret(std::string(32, 'x'));
  EXPECT_TRUE(Submit(other).ok());
}

TEST_F(TrackerServiceTest, ArtifactsAreKeptByTheirHash) {
  ArtifactClient client(channel_);
  ASSERT_OK_AND_ASSIGN(const std::string sha256, client.Put("some code", Build("b")));
  EXPECT_EQ(sha256, ArtifactSha256("some code"));
  EXPECT_THAT(client.Get(sha256), IsOkAndHolds("some code"));
  EXPECT_THAT(client.Get(ArtifactSha256("never put")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("artifact missing")));
  EXPECT_EQ(GetStatus().artifact_count(), 1);
}

TEST_F(TrackerServiceTest, BytesThatWereNotMadeUnderABuildersLeaseAreNotTaken) {
  ArtifactClient client(channel_);
  ArtifactSource source = Build("b");
  ++source.lease.epoch;
  EXPECT_THAT(client.Put("some code", source), StatusIs(absl::StatusCode::kPermissionDenied));
  SyncCall runner(*stub_, IdleWorker("runner", 1));
  ASSERT_TRUE(Submit(OneJob("job")).ok());
  runner.done.wait();
  const v1::Lease& lease = runner.response.slots(0).lease();
  EXPECT_THAT(
      client.Put("some code", {.worker_id = "runner",
                               .incarnation = 1,
                               .lease = {.job_id = lease.job_id(), .epoch = lease.epoch()}}),
      StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("no lease of a build")));
  EXPECT_EQ(GetStatus().artifact_count(), 0);
}

// The bytes are ready before worker and tuner have come back.
TEST_F(TrackerServiceTest, ABuilderDeliversToATrackerThatWasRestarted) {
  ASSERT_OK_AND_ASSIGN(const TempDir folder, TempDir::Create("tracker"));
  const std::string address = absl::StrCat("unix:", folder.path(), "/socket");
  Start({.listen = address});
  const ArtifactSource source = Build("b");
  Start({.listen = address});
  ArtifactClient client(OpenChannel(address, ThisVersion("worker")));
  absl::StatusOr<std::string> put;
  std::thread builder([&] { put = client.Put("some code", source); });
  v1::SubmitJobsRequest again = OneBuild("b");
  again.set_resubmission(true);
  EXPECT_TRUE(Submit(again).ok());
  v1::SynchronizeRequest report = IdleBuilder("builder of b", 2);
  report.mutable_slots(0)->mutable_executing()->set_job_id(source.lease.job_id);
  report.mutable_slots(0)->mutable_executing()->set_epoch(source.lease.epoch);
  SyncCall sync(*stub_, report);
  builder.join();
  EXPECT_THAT(put, IsOk());
  EXPECT_EQ(GetStatus().artifact_count(), 1);
}

TEST_F(TrackerServiceTest, DamagedArtifactIsNotTaken) {
  const ArtifactSource source = Build("b");
  v1::PutArtifactRequest request;
  request.set_worker_id(source.worker_id);
  request.set_incarnation(source.incarnation);
  request.mutable_lease()->set_job_id(source.lease.job_id);
  request.mutable_lease()->set_epoch(source.lease.epoch);
  request.set_sha256(ArtifactSha256("some code"));
  ASSERT_OK_AND_ASSIGN(*request.mutable_zstd(), CompressArtifact("other code"));
  grpc::ClientContext context;
  v1::PutArtifactResponse response;
  EXPECT_EQ(stub_->PutArtifact(&context, request, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(GetStatus().artifact_count(), 0);
}

TEST_F(TrackerServiceTest, WorkersAreListedAndDrained) {
  Start({.operator_sha256 = FingerprintOf(kOperator)});
  SyncCall sync(*stub_, IdleWorker("w", 1));
  while (GetStatus().worker_count() == 0) std::this_thread::yield();
  EXPECT_EQ(Drain("w", "", kStranger).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  ASSERT_TRUE(Drain("w", "", kOperator).ok());
  sync.done.wait();
  grpc::ClientContext list_context;
  EXPECT_TRUE(sync.response.draining());
  v1::ListWorkersResponse list;
  ASSERT_TRUE(stub_->ListWorkers(&list_context, {}, &list).ok());
  ASSERT_THAT(list.workers(), SizeIs(1));
  EXPECT_EQ(list.workers(0).state(), v1::WorkerStatus::DRAINING);
  EXPECT_THAT(list.workers(0).slots(0).info().device_keys(), ElementsAre("cpu"));
  EXPECT_EQ(Drain("nobody", "", kOperator).error_code(), grpc::StatusCode::NOT_FOUND);
}

// Its own calls go on whatever strangers say; and its user alone drains it where there is no
// operator.
TEST_F(TrackerServiceTest, AWorkerIdBelongsToTheSecretThatItCameWith) {
  const auto report = [](int64_t incarnation, int64_t sequence, const std::string& secret) {
    v1::SynchronizeRequest request = IdleWorker("w", sequence);
    request.set_incarnation(incarnation);
    request.set_worker_secret(secret);
    return request;
  };
  SyncCall own(*stub_, report(1, 1, kOwner));
  while (GetStatus().worker_count() == 0) std::this_thread::yield();
  for (const std::string& secret : {std::string(), kStranger, std::string(15, 'o')}) {
    for (const int64_t epoch : {0, 1, 2, 3}) {  // The second call of who takes over echoes one.
      v1::SynchronizeRequest request = report(2, 1, secret);
      request.set_epoch(epoch);
      SyncCall stranger(*stub_, request);
      stranger.done.wait();
      EXPECT_EQ(stranger.status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    }
    EXPECT_EQ(Drain("w", secret, secret).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  }
  ASSERT_TRUE(Submit(OneJob("job")).ok());
  own.done.wait();
  ASSERT_TRUE(own.status.ok()) << own.status.error_message();
  EXPECT_EQ(own.response.slots(0).job().id(), "job");
  // Its next process.
  SyncCall next(*stub_, report(3, 1, kOwner));
  next.done.wait();
  v1::SynchronizeRequest echo = report(3, 2, kOwner);
  echo.set_epoch(next.response.epoch());
  SyncCall taken(*stub_, echo);
  ASSERT_TRUE(Drain("w", kOwner, "").ok());
  taken.done.wait();
  EXPECT_TRUE(taken.status.ok()) << taken.status.error_message();
}

TEST_F(TrackerServiceTest, WhereIdentityIsRequiredAWorkerWithoutASecretIsTurnedAway) {
  Start({.require_identity = true});
  SyncCall without(*stub_, IdleWorker("w", 1));
  without.done.wait();
  EXPECT_EQ(without.status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  v1::SynchronizeRequest request = IdleWorker("w", 1);
  request.set_worker_secret(kOwner);
  SyncCall with(*stub_, request);
  while (GetStatus().worker_count() == 0) std::this_thread::yield();
}

TEST_F(TrackerServiceTest, StatusCountsAndNamesWhatIsMissing) {
  ASSERT_TRUE(Submit(OneJob("job")).ok());
  const v1::GetStatusResponse status = GetStatus();
  EXPECT_EQ(status.queued_count(), 1);
  EXPECT_EQ(status.counters().at("submitted"), 1);
  ASSERT_THAT(status.unmatched(), SizeIs(1));
  EXPECT_EQ(status.unmatched(0).reason(), "no worker has a run slot");
}

TEST_F(TrackerServiceTest, HealthServiceSaysThatItServes) {
  // HealthCheckResponse{status: SERVING}.
  EXPECT_EQ(CallRaw(channel_, "/grpc.health.v1.Health/Check", ""), "\x08\x01");
}

TEST_F(TrackerServiceTest, ReflectionListsTheService) {
  // ServerReflectionRequest{list_services: "*"}.
  EXPECT_THAT(CallRaw(channel_, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                      "\x3a\x01*"),
              HasSubstr("burnish.v1.Tracker"));
}

TEST_F(TrackerServiceTest, StoppingServiceAnswersHangingCalls) {
  SyncCall sync(*stub_, IdleWorker("w", 1));
  while (GetStatus().worker_count() == 0) std::this_thread::yield();
  service_.reset();
  sync.done.wait();
  EXPECT_EQ(sync.status.error_code(), grpc::StatusCode::UNAVAILABLE);
}

// ---- With the real agent and the real client ----

class WholeWayTest : public TrackerServiceTest {
 protected:
  std::unique_ptr<AgentClient> MakeWorker(const std::string& id, FakeLab& lab,
                                          int64_t incarnation = 1) {
    std::vector<AgentSlot> slots;
    for (int i = 0; i < 2; ++i) {
      slots.push_back({.info = {.kind = JobKind::kRun, .device_keys = {"cpu"}},
                       .executor = lab.MakeExecutor()});
    }
    return std::make_unique<AgentClient>(
        AgentOptions{.tracker = service_->address(),
                     .identity = {.worker_id = id, .host = "h", .incarnation = incarnation}},
        std::move(slots));
  }
};

TEST_F(WholeWayTest, EveryJobsResultComesOnce) {
  FakeLab lab(absl::ZeroDuration(), &EchoOutcome);
  const auto w1 = MakeWorker("w1", lab), w2 = MakeWorker("w2", lab);
  TrackerClient client({.tracker = service_->address(), .tuner_id = "tuner"});
  std::map<std::string, int> count;
  std::vector<JobSpec> jobs;
  for (int i = 0; i < 500; ++i) jobs.push_back(RunSpec(absl::StrCat("job", i)));
  ASSERT_THAT(client.Submit(jobs), IsOk());
  while (count.size() < jobs.size()) {
    const std::vector<ResultEntry> results = client.Collect(kLong);
    ASSERT_FALSE(results.empty());
    for (const ResultEntry& result : results) {
      EXPECT_EQ(result.outcome, EchoOutcome({.payload = result.job_id}));
      EXPECT_EQ(++count[result.job_id], 1) << result.job_id;
      client.Acknowledge({result.job_id});
    }
  }
  EXPECT_EQ(client.state().open_count, 0);
  w1->Leave();
  EXPECT_TRUE(w1->WaitUntilEmpty(kLong)) << "once its results are acknowledged";
}

TEST_F(WholeWayTest, CancelledJobStopsAtTheWorker) {
  FakeLab lab(absl::Hours(1), &EchoOutcome);
  const auto worker = MakeWorker("w", lab);
  TrackerClient client({.tracker = service_->address(), .tuner_id = "tuner"});
  ASSERT_THAT(client.Submit({RunSpec("job")}), IsOk());
  while (lab.started_count() == 0) std::this_thread::yield();
  ASSERT_THAT(client.Cancel({}, "s"), IsOk());
  const std::vector<ResultEntry> results = client.Collect(kLong);
  ASSERT_THAT(results, SizeIs(1));
  EXPECT_EQ(std::get<Failure>(results[0].outcome).kind, FailureKind::kCancelled);
  EXPECT_TRUE(worker->WaitUntilEmpty(kLong));
}

TEST_F(WholeWayTest, CancellationDoesNotOvertakeItsJob) {
  TrackerClient client({.tracker = service_->address(), .tuner_id = "tuner"});
  for (int i = 0; i < 200; ++i) {
    const std::string id = absl::StrCat("job", i);
    ASSERT_THAT(client.Submit({RunSpec(id)}), IsOk());
    ASSERT_THAT(client.Cancel({id}), IsOk());
    const std::vector<ResultEntry> results = client.Collect(kLong);  // No worker would end it.
    ASSERT_THAT(results, SizeIs(1));
    EXPECT_EQ(results[0].job_id, id);
  }
}

TEST_F(WholeWayTest, SecondProcessWithTheSameWorkerIdTurnsTheFirstAway) {
  FakeLab lab(absl::ZeroDuration(), &EchoOutcome);
  const auto first = MakeWorker("w", lab, /*incarnation=*/1);
  while (GetStatus().worker_count() == 0) std::this_thread::yield();
  const auto second = MakeWorker("w", lab, /*incarnation=*/2);
  EXPECT_THAT(first->WaitUntilRefused(kLong), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(WholeWayTest, ClientWaitsWhileTheTrackerIsFull) {
  Start({.core = {.jobs_max = 2}});
  FakeLab lab(absl::ZeroDuration(), &EchoOutcome);
  const auto worker = MakeWorker("w", lab);
  TrackerClient client({.tracker = service_->address(), .tuner_id = "tuner"});
  for (int i = 0; i < 4; ++i) {
    ASSERT_THAT(client.Submit({RunSpec(absl::StrCat("job", i))}), IsOk());
    const std::vector<ResultEntry> results = client.Collect(kLong);
    ASSERT_THAT(results, SizeIs(1));
    client.Acknowledge({results[0].job_id});
  }
}

// Two processes under one id: the second one learns it, and asks no more.
TEST_F(WholeWayTest, AClientThatIsAStrangerSaysSoAndFallsSilent) {
  TrackerClient first({.tracker = service_->address(), .tuner_id = "tuner"});
  ASSERT_THAT(first.Submit({RunSpec("job")}), IsOk());
  while (GetStatus().queued_count() == 0) std::this_thread::yield();
  TrackerClient second({.tracker = service_->address(), .tuner_id = "tuner"});
  while (second.state().refused.ok()) std::this_thread::yield();
  EXPECT_THAT(second.state().refused,
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("by another secret")));
  EXPECT_THAT(first.state().refused, IsOk());
  EXPECT_EQ(second.state().unreachable_since, absl::InfiniteFuture());
}

TEST_F(WholeWayTest, ARestartedTunerIsKnownByItsSecret) {
  for (int run = 0; run < 2; ++run) {
    TrackerClient client(
        {.tracker = service_->address(), .tuner_id = "tuner", .tuner_secret = kSecret});
    ASSERT_THAT(client.Submit({RunSpec(absl::StrCat("job", run))}), IsOk());
    while (GetStatus().queued_count() <= run) std::this_thread::yield();
    EXPECT_THAT(client.state().refused, IsOk());
  }
}

// The client sends as much as fits into a message, and knows nothing of a tracker's limits.
TEST_F(WholeWayTest, BatchThatIsLargerThanTheTrackerIsTakenInParts) {
  Start({.core = {.jobs_max = 4}});
  FakeLab lab(absl::ZeroDuration(), &EchoOutcome);
  const auto worker = MakeWorker("w", lab);
  TrackerClient client({.tracker = service_->address(), .tuner_id = "tuner"});
  std::vector<JobSpec> jobs;
  for (int i = 0; i < 8; ++i) jobs.push_back(RunSpec(absl::StrCat("job", i)));
  ASSERT_THAT(client.Submit(jobs), IsOk());
  for (size_t count = 0; count < jobs.size();) {
    const std::vector<ResultEntry> results = client.Collect(kLong);
    ASSERT_FALSE(results.empty());
    count += results.size();
  }
}

TEST_F(WholeWayTest, MalformedJobIsRefusedBeforeItIsSent) {
  TrackerClient client({.tracker = service_->address(), .tuner_id = "tuner"});
  EXPECT_THAT(client.Submit({RunSpec("good"), RunSpec("")}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(client.state().open_count, 0);
}

TEST_F(WholeWayTest, UnixSocketServesToo) {
  ASSERT_OK_AND_ASSIGN(const TempDir folder, TempDir::Create("tracker"));
  Start({.listen = absl::StrCat("unix:", folder.path(), "/socket")});
  FakeLab lab(absl::ZeroDuration(), &EchoOutcome);
  const auto worker = MakeWorker("w", lab);
  TrackerClient client({.tracker = service_->address(), .tuner_id = "tuner"});
  ASSERT_THAT(client.Submit({RunSpec("job")}), IsOk());
  EXPECT_THAT(client.Collect(kLong), SizeIs(1));
  service_.reset();
}

TEST_F(WholeWayTest, ClientSaysThatTheTrackerCannotBeReached) {
  service_.reset();
  TrackerClient client({.tracker = "localhost:1", .tuner_id = "tuner"});
  while (client.state().unreachable_since == absl::InfiniteFuture()) std::this_thread::yield();
  EXPECT_THAT(client.state().last_error, StatusIs(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace burnish
