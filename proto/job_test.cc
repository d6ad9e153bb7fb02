#include "proto/job.h"

#include <cmath>
#include <string>

#include "absl/strings/string_view.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "gtest/gtest.h"
#include "proto/build_job.h"
#include "proto/job.pb.h"
#include "proto/run_job.h"
#include "proto/tracker.pb.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

const std::string kHashA(32, 'a');
const std::string kHashB(32, 'b');

JobSpec FullSpec() {
  return {.id = "study/7/build",
          .kind = JobKind::kRun,
          .device_key = "cpu-znver3",
          .labels = {{"epoch", "3"}, {"host", "h1"}},
          .study = "study",
          .priority = -2,
          .cost = 54,
          .timeout = absl::Seconds(90),
          .payload = std::string("\0\xff payload", 10),
          .avoid_workers = {"w1", "w2"}};
}

TEST(JobTest, SpecComesBackAsItWas) {
  EXPECT_THAT(FromProto(ToProto(FullSpec())), IsOkAndHolds(FullSpec()));
}

TEST(JobTest, SpecOutOfBoundsIsRefusedWithTheReason) {
  const auto refusal = [](auto change) {
    v1::JobSpec message = ToProto(FullSpec());
    change(message);
    return FromProto(message).status();
  };
  const auto refused = [](absl::string_view text) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(text)));
  };
  EXPECT_THAT(refusal([](auto& m) { m.clear_id(); }), refused("id of 0 bytes"));
  EXPECT_THAT(refusal([](auto& m) { m.set_id(std::string(129, 'x')); }), refused("129 bytes"));
  EXPECT_THAT(refusal([](auto& m) { m.clear_kind(); }), refused("kind=0"));
  EXPECT_THAT(refusal([](auto& m) { m.set_cost(0); }), refused("cost=0"));
  EXPECT_THAT(refusal([](auto& m) { m.set_cost(65); }), refused("cost=65"));
  EXPECT_THAT(refusal([](auto& m) { m.set_timeout_ns(-1); }), refused("timeout_ns=-1"));
  EXPECT_THAT(refusal([](auto& m) { m.set_study(std::string(300, 's')); }), refused("study"));
  EXPECT_THAT(refusal([](auto& m) { m.add_avoid_workers(std::string(300, 'w')); }),
              refused("a worker to avoid of 300 bytes"));
  EXPECT_THAT(refusal([](auto& m) {
                for (int i = 0; i < 15; ++i) m.add_avoid_workers("w");
              }),
              refused("17 workers to avoid"));
  EXPECT_THAT(refusal([](auto& m) { m.set_payload(std::string((1 << 20) + 1, 'p')); }),
              refused("payload of 1048577 bytes"));
}

TEST(JobTest, EveryOutcomeComesBackAsItWas) {
  for (const JobOutcome& outcome :
       {JobOutcome(std::string("payload")), JobOutcome(std::string()),
        JobOutcome(Failure{.kind = FailureKind::kPoisoned, .message = "killed w1, w2, w3"}),
        JobOutcome(ArtifactMissing{.sha256 = {kHashA, kHashB}}),
        JobOutcome(WorkerFault{.message = "disk full"}),
        JobOutcome(WorkerFault{.message = "killed", .interrupted = true}),
        JobOutcome(WorkerFault{.message = "another version", .refused = true})}) {
    EXPECT_THAT(FromProto(ToProto(outcome)), IsOkAndHolds(outcome));
  }
}

TEST(JobTest, WhatAWorkerSaysIsBounded) {
  v1::JobOutcome fault;
  fault.set_worker_fault(std::string(100'000, 'x'));
  ASSERT_OK_AND_ASSIGN(const JobOutcome cut, FromProto(fault));
  EXPECT_EQ(std::get<WorkerFault>(cut).message.size(), size_t{Failure::kMessageBytesMax});
  v1::JobOutcome missing;
  for (int i = 0; i <= ArtifactMissing::kCountMax; ++i) {
    missing.mutable_artifact_missing()->add_sha256(kHashA);
  }
  EXPECT_THAT(FromProto(missing), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("8193")));
}

TEST(JobTest, OutcomeThatSaysNothingIsRefused) {
  EXPECT_THAT(FromProto(v1::JobOutcome()), StatusIs(absl::StatusCode::kInvalidArgument));
  v1::JobOutcome nothing_missing;
  nothing_missing.mutable_artifact_missing();
  EXPECT_THAT(FromProto(nothing_missing), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(BuildJobTest, JobAndBothResultsComeBackAsTheyWere) {
  const BuildJob job{.candidate_id = kHashA,
                     .workload = "workload/1 ...",
                     .target = "cpu:arch=znver3",
                     .contract = "plain",
                     .trace = "trace/1: parallel@1 p",
                     .codegen_epoch = 4,
                     .timeout = absl::Milliseconds(2500)};
  EXPECT_THAT(DecodeBuildJob(Encode(job)), IsOkAndHolds(job));
  BuiltArtifact artifact;
  artifact.build.llvm_version = "19.1.7";
  artifact.build.artifact_sha256 = kHashB;
  artifact.build.spill_count = 2;
  artifact.numerics = {.kind = NumericsClass::kAlgorithm, .algorithm = "winograd", .parameter = 4};
  artifact.contract = "bordered";
  const BuildResult built{.candidate_id = kHashA, .outcome = artifact};
  EXPECT_THAT(DecodeBuildResult(Encode(built)), IsOkAndHolds(built));
  const BuildResult failed{
      .candidate_id = kHashA,
      .outcome = Failure{.kind = FailureKind::kBuildTimeout, .message = "2.5 s"}};
  EXPECT_THAT(DecodeBuildResult(Encode(failed)), IsOkAndHolds(failed));
}

TEST(BuildJobTest, MalformedBytesAreRefused) {
  EXPECT_THAT(DecodeBuildJob("\xff\xff"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(DecodeBuildJob(Encode(BuildJob{.candidate_id = "short"})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("5 bytes")));
  for (const absl::Duration timeout :
       {absl::ZeroDuration(), absl::Nanoseconds(-1), absl::Minutes(61), absl::Hours(2'000'000)}) {
    EXPECT_THAT(DecodeBuildJob(Encode(BuildJob{.candidate_id = kHashA, .timeout = timeout})),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("timeout_ns")));
  }
  EXPECT_THAT(DecodeBuildResult(Encode(BuildResult{.candidate_id = kHashA})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("artifact_sha256")));
  BuiltArtifact artifact{.contract = std::string(BuiltArtifact::kContractBytesMax, 'x')};
  artifact.build.artifact_sha256 = kHashB;
  EXPECT_THAT(DecodeBuildResult(Encode(BuildResult{.candidate_id = kHashA, .outcome = artifact})),
              IsOk());
  artifact.contract += "x";
  EXPECT_THAT(DecodeBuildResult(Encode(BuildResult{.candidate_id = kHashA, .outcome = artifact})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("contract of 262145 bytes")));
}

TEST(RunJobTest, JobAndResultComeBackAsTheyWere) {
  const RunJob job{.candidates = {{.candidate_id = kHashA,
                                   .artifact_sha256 = kHashB,
                                   .workload = "workload/1 ...",
                                   .contract = "plain",
                                   .reference_artifact_sha256 = kHashA,
                                   .seed = 0xfedcba9876543210,
                                   .numerics = {.kind = NumericsClass::kExact},
                                   .incumbent_ns = 123456,
                                   .reference_contract = "bordered"},
                                  {.candidate_id = kHashB, .artifact_sha256 = kHashA}},
                   .method = {.version = 2,
                              .process_count = 3,
                              .repeat_count_min = 5,
                              .repeat_count_max = 50,
                              .repeat_duration_min = absl::Milliseconds(1),
                              .warm_up_min = absl::Milliseconds(20),
                              .early_stop_ratio = 1.5,
                              .cold_policy = ColdPolicy::kModelOrder,
                              .arena_bytes = 1 << 20,
                              .timeout = absl::Seconds(3),
                              .distribution = "normal",
                              .model_constant_bytes = int64_t{102} << 20},
                   .target = "cpu:arch=znver3",
                   .model_sha256 = kHashB,
                   .model_order = ModelOrder{
                       .step_count = 2, .warm_up_pass_count = 1, .candidates = {0, 1, 1, 0, 0, 0}}};
  EXPECT_THAT(DecodeRunJob(Encode(job)), IsOkAndHolds(job));
  RunResult result;
  result.measurements.resize(2);
  result.measurements[0].candidate_id = kHashA;
  result.measurements[0].outcome =
      Latencies{.processes = {{.latency_ns = {5, 6, 7}, .inner_count = 9}}};
  result.measurements[1].candidate_id = kHashB;
  result.measurements[1].outcome = Failure{.kind = FailureKind::kCrashed, .message = "signal 11"};
  EXPECT_THAT(DecodeRunResult(Encode(result)), IsOkAndHolds(result));
}

TEST(RunJobTest, OrdersThatNameNoPassOrNoCandidateAreRefused) {
  const auto refusal = [](const ModelOrder& order, ColdPolicy policy = ColdPolicy::kModelOrder) {
    const RunJob job{.candidates = {{.candidate_id = kHashA, .artifact_sha256 = kHashB}},
                     .method = {.cold_policy = policy},
                     .model_order = order};
    return DecodeRunJob(Encode(job)).status();
  };
  const auto refused = [](const char* text) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text));
  };
  const ModelOrder good{.step_count = 2, .warm_up_pass_count = 1, .candidates = {0, 0, 0, 0}};
  EXPECT_THAT(refusal(good), IsOk());
  EXPECT_THAT(refusal(good, ColdPolicy::kRotatedArena), refused("need each other"));
  ModelOrder bad = good;
  bad.step_count = 3;
  EXPECT_THAT(refusal(bad), refused("whole passes of 3 steps"));
  bad.step_count = 0;
  EXPECT_THAT(refusal(bad), refused("whole passes of 0 steps"));
  bad = good;
  bad.warm_up_pass_count = 2;
  EXPECT_THAT(refusal(bad), refused("2 passes of warm-up of 2"));
  bad = good;
  bad.candidates[3] = 1;
  EXPECT_THAT(refusal(bad), refused("candidate 1 in an order of 1"));
}

// Each number of a job at its extremes, by the descriptor: whoever adds one has to bound it here.
TEST(RunJobTest, NumbersOfTheMethodOutOfBoundsAreRefused) {
  v1::RunJob message;
  ASSERT_TRUE(message.ParseFromString(Encode(
      RunJob{.candidates = {{.candidate_id = kHashA, .artifact_sha256 = kHashB}}, .method = {}})));
  ASSERT_THAT(DecodeRunJob(message.SerializeAsString()), IsOk());
  const auto* method = v1::MeasureMethod::descriptor();
  for (int i = 0; i < method->field_count(); ++i) {
    const google::protobuf::FieldDescriptor* field = method->field(i);
    using Type = google::protobuf::FieldDescriptor;
    const auto refusal = [&](auto set) {
      v1::RunJob changed = message;
      set(*changed.mutable_method()->GetReflection(), *changed.mutable_method());
      return DecodeRunJob(changed.SerializeAsString()).status();
    };
    const bool takes_any = field->name() == "version";  // The runner's to compare.
    if (field->cpp_type() == Type::CPPTYPE_INT64) {
      const auto with = [&](int64_t value) {
        return refusal([&](const auto& reflection, auto& changed) {
          reflection.SetInt64(&changed, field, value);
        });
      };
      EXPECT_FALSE(with(INT64_MIN).ok()) << field->name();
      EXPECT_FALSE(with(-1).ok()) << field->name();
      const bool is_clamped =
          field->name() == "timeout_ns" || field->name() == "model_constant_bytes";
      EXPECT_EQ(with(INT64_MAX).ok(), is_clamped) << field->name();
    } else if (field->cpp_type() == Type::CPPTYPE_INT32 && !takes_any) {
      EXPECT_FALSE(refusal([&](const auto& reflection, auto& changed) {
                     reflection.SetInt32(&changed, field, -1);
                   }).ok())
          << field->name();
    } else if (field->cpp_type() == Type::CPPTYPE_DOUBLE) {
      for (const double value : {-1.0, std::nan(""), HUGE_VAL, -HUGE_VAL, 1e300}) {
        EXPECT_FALSE(refusal([&](const auto& reflection, auto& changed) {
                       reflection.SetDouble(&changed, field, value);
                     }).ok())
            << field->name() << " " << value;
      }
    }
  }
  message.mutable_method()->set_arena_bytes(int64_t{1} << 50);
  EXPECT_THAT(DecodeRunJob(message.SerializeAsString()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("arena_bytes")));
  message.mutable_method()->clear_arena_bytes();
  for (const int64_t incumbent_ns : {int64_t{-1}, INT64_MAX}) {
    v1::RunJob changed = message;
    changed.mutable_candidates(0)->set_incumbent_ns(incumbent_ns);
    EXPECT_THAT(DecodeRunJob(changed.SerializeAsString()),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("incumbent_ns")));
  }
  while (message.candidates_size() <= RunJob::kCandidatesMax) {
    *message.add_candidates() = message.candidates(0);
  }
  EXPECT_THAT(DecodeRunJob(message.SerializeAsString()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4097 candidates")));
}

TEST(RunJobTest, MalformedBytesAreRefused) {
  EXPECT_THAT(DecodeRunJob("\xff\xff"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(DecodeRunJob(Encode(RunJob())),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no candidate")));
  EXPECT_THAT(DecodeRunJob(Encode(RunJob{.candidates = {{.candidate_id = kHashA}}})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("artifact_sha256")));
}

}  // namespace
}  // namespace burnish
