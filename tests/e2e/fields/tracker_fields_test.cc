// At a tracker with a worker: no value of a field ends a daemon, pauses the honest worker, or
// outlives its sender. With --pairs N, N pairs of fields of each message as well.
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "compiler/codegen/codegen_epoch.h"
#include "compiler/target/target.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/artifact_codec.h"
#include "proto/build_job.h"
#include "proto/calibration_row.h"
#include "proto/job.h"
#include "proto/job.pb.h"
#include "proto/protocol.h"
#include "proto/rpc.h"
#include "proto/run_job.h"
#include "proto/tracker.pb.h"
#include "tests/e2e/fields/cases.h"
#include "tests/e2e/fields/farm.h"
#include "worker/runner/test_candidates.h"

namespace burnish {
namespace {

// A worker is remembered for ten minutes after it left, and a tracker knows 4,096.
constexpr int kCasesAFarm = 1000;
// A job that has not ended by then is cancelled: some values mean that it takes long.
constexpr absl::Duration kPatience = absl::Milliseconds(300);

class TrackerFieldsTest : public ::testing::Test {
 protected:
  // Anew after what has spoilt it, so that all that follows is seen as well.
  Farm& farm() {
    if (farm_ == nullptr || ++cases_ % kCasesAFarm == 0) {
      farm_ = nullptr;
      farm_ = std::make_unique<Farm>();
      channel_ = OpenChannel(farm_->tracker(), ThisVersion("stranger"));
    }
    return *farm_;
  }
  void Expect(const Case& one, const absl::Status& status) {
    EXPECT_THAT(status, IsOk()) << one.name;
    if (!status.ok()) farm_ = nullptr;
  }

  // While the call hangs, if it does, and after it.
  void Send(const std::string& method, const google::protobuf::Message& base) {
    for (const Case& one : CasesOf(base)) {
      Farm& now = farm();
      absl::Status status;
      {
        RawCall call(channel_, "/burnish.v1.Tracker/" + method, one.bytes);
        status = now.Check();
      }
      if (status.ok()) Withdraw(method, one.bytes);
      if (status.ok()) status = now.CheckClean();
      Expect(one, status);
    }
  }

  // As the sender of jobs does who wants them no more.
  void Withdraw(const std::string& method, const std::string& bytes) {
    v1::SubmitJobsRequest sent;
    if (method != "SubmitJobs" || !sent.ParseFromString(bytes)) return;
    v1::CancelJobsRequest request;
    request.set_tuner_id(sent.tuner_id());
    request.set_tuner_secret(sent.tuner_secret());
    for (const v1::JobSpec& job : sent.jobs()) request.add_job_ids(job.id());
    RawCall(channel_, "/burnish.v1.Tracker/CancelJobs", request.SerializeAsString())
        .Wait()
        .IgnoreError();
  }

  // By a tuner whose jobs are malformed.
  void Work(JobKind kind, const google::protobuf::Message& base) {
    for (const Case& one : CasesOf(base)) {
      if (one.bytes.size() > JobSpec::kPayloadBytesMax) continue;  // No client of ours sends it.
      absl::Status status = farm().Do(kind, one.bytes, kPatience).status();
      if (absl::IsCancelled(status)) status = absl::OkStatus();
      status.Update(farm().Check());
      Expect(one, status);
    }
  }

  std::unique_ptr<Farm> farm_;
  std::shared_ptr<grpc::Channel> channel_;
  int cases_ = 0;
};

v1::SynchronizeRequest Report() {
  v1::SynchronizeRequest report;
  report.set_worker_id("stranger");
  report.set_host("elsewhere");
  report.set_sequence(1);
  report.set_incarnation(7);
  report.set_worker_secret(StrangersSecret());
  *report.mutable_calibration() = ToProto(StrangersRow());
  v1::SlotReport* const slot = report.add_slots();
  slot->mutable_info()->set_kind(v1::RUN);
  slot->mutable_info()->add_device_keys("nobody's");
  (*slot->mutable_info()->mutable_labels())["colour"] = "blue";
  slot->mutable_executing()->set_job_id("unknown");
  slot->mutable_executing()->set_epoch(3);
  v1::HeldResult* const result = slot->add_results();
  result->mutable_lease()->set_job_id("old");
  result->mutable_lease()->set_epoch(2);
  result->mutable_outcome()->set_payload("x");
  return report;
}

v1::SubmitJobsRequest Jobs() {
  v1::SubmitJobsRequest request;
  request.set_tuner_id("stranger");
  request.set_tuner_secret(StrangersSecret());
  v1::JobSpec* const job = request.add_jobs();
  job->set_id("strange job");
  job->set_kind(v1::RUN);
  job->set_device_key("nobody's");
  (*job->mutable_labels())["colour"] = "red";
  job->set_study("study");
  job->set_cost(1);
  job->set_timeout_ns(1'000'000'000);
  job->set_payload("no payload of ours");
  job->add_avoid_workers("somebody");
  return request;
}

Bases TrackerBases() {
  Bases bases;
  Add(bases, "Synchronize", Report());
  Add(bases, "SubmitJobs", Jobs());
  v1::CollectResultsRequest collect;
  collect.set_tuner_id("stranger");
  collect.set_tuner_secret(StrangersSecret());
  collect.add_acknowledged("job");
  collect.set_seen_number(1);
  collect.set_session(1);
  collect.set_wait_ns(1);
  collect.add_unwanted(1);
  Add(bases, "CollectResults", collect);
  v1::CancelJobsRequest cancel;
  cancel.set_tuner_id("stranger");
  cancel.set_tuner_secret(StrangersSecret());
  cancel.add_job_ids("job");
  cancel.set_study("study");
  Add(bases, "CancelJobs", cancel);
  v1::PutArtifactRequest put;
  put.set_sha256(ArtifactSha256("artifact"));
  put.set_zstd(*CompressArtifact("artifact"));
  put.set_worker_id("stranger");
  put.set_incarnation(7);
  put.mutable_lease()->set_job_id("job");
  put.mutable_lease()->set_epoch(1);
  Add(bases, "PutArtifact", put);
  v1::GetArtifactRequest get;
  get.set_sha256(ArtifactSha256("artifact"));
  Add(bases, "GetArtifact", get);
  Add(bases, "ListWorkers", v1::ListWorkersRequest());
  v1::DrainWorkerRequest drain;
  drain.set_worker_id("stranger");
  drain.set_worker_secret(StrangersSecret());
  Add(bases, "DrainWorker", drain);
  Add(bases, "GetStatus", v1::GetStatusRequest());
  return bases;
}

TEST_F(TrackerFieldsTest, OfReports) { Send("Synchronize", Report()); }

TEST_F(TrackerFieldsTest, OfJobs) { Send("SubmitJobs", Jobs()); }

// The honest worker can do it, and finds no job of its kind in it.
TEST_F(TrackerFieldsTest, OfJobsThatTheWorkerTakes) {
  v1::SubmitJobsRequest request = Jobs();
  request.mutable_jobs(0)->clear_device_key();
  request.mutable_jobs(0)->clear_labels();
  Send("SubmitJobs", request);
}

TEST_F(TrackerFieldsTest, OfEachOtherCall) {
  const Bases bases = TrackerBases();
  ExpectAllIn(*v1::SynchronizeRequest::descriptor()->file()->FindServiceByName("Tracker"), bases);
  for (const auto& [method, base] : bases) {
    if (method != "Synchronize" && method != "SubmitJobs") Send(method, *base);
  }
}

BuildJob HonestBuild() {
  return {.candidate_id = std::string(32, 'c'),
          .workload = VectorWorkload(),
          .target = ParseTarget(VectorJob("RIGHT").target)->ToText(),
          .codegen_epoch = kCodegenEpoch,
          .timeout = absl::Seconds(1)};
}

TEST_F(TrackerFieldsTest, OfBuildJobs) {
  v1::BuildJob job;
  ASSERT_TRUE(job.ParseFromString(Encode(HonestBuild())));
  Work(JobKind::kBuild, job);
}

TEST_F(TrackerFieldsTest, OfRunJobs) {
  ASSERT_OK_AND_ASSIGN(const JobOutcome outcome,
                       farm().Do(JobKind::kBuild, Encode(HonestBuild()), absl::Minutes(1)));
  ASSERT_TRUE(std::holds_alternative<std::string>(outcome));
  ASSERT_OK_AND_ASSIGN(const BuildResult result, DecodeBuildResult(std::get<std::string>(outcome)));
  const auto* const built = std::get_if<BuiltArtifact>(&result.outcome);
  ASSERT_NE(built, nullptr) << std::get<Failure>(result.outcome).message;
  RunJob base = VectorJob("RIGHT");
  base.method.timeout = absl::Seconds(1);
  base.candidates[0].artifact_sha256 = built->build.artifact_sha256;
  base.candidates[0].reference_artifact_sha256 = built->build.artifact_sha256;
  base.candidates[0].numerics = built->numerics;
  // What is mutated is sound.
  ASSERT_OK_AND_ASSIGN(const JobOutcome ran,
                       farm().Do(JobKind::kRun, Encode(base), absl::Minutes(1)));
  ASSERT_TRUE(std::holds_alternative<std::string>(ran));
  ASSERT_OK_AND_ASSIGN(const RunResult measured, DecodeRunResult(std::get<std::string>(ran)));
  ASSERT_EQ(measured.measurements.size(), 1u);
  ASSERT_NE(measured.measurements[0].latencies(), nullptr)
      << measured.measurements[0].failure()->message;
  v1::RunJob job;
  ASSERT_TRUE(job.ParseFromString(Encode(base)));
  Work(JobKind::kRun, job);
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) { return burnish::RunFieldsTests(argc, argv); }
