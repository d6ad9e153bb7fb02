#include "proto/measurement.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/measurement.pb.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

Measurement FullMeasurement() {
  return {
      .candidate_id = std::string(32, 'c'),
      .outcome = Latencies{.processes = {{.latency_ns = {10, 12, 11},
                                          .inner_count = 7,
                                          .warm_up_count = 3,
                                          .reference_before_ns = 20,
                                          .reference_after_ns = 21,
                                          .probe_before_ns = 5,
                                          .probe_after_ns = 6,
                                          .steal_ns = 1,
                                          .throttle_count = 2,
                                          .involuntary_switch_count = 4,
                                          .page_fault_count = 8,
                                          .huge_page_bytes = 1 << 21,
                                          .stopped_early = true},
                                         {.latency_ns = {9}}}},
      .environment = {.mode = MeasureMode::kInNetwork,
                      .model_sha256 = std::string(32, 'b'),
                      .cold_policy = ColdPolicy::kModelOrder,
                      .arena_bytes = 4096,
                      .threads = 2,
                      .cpus = {0, 1},
                      .siblings = {2, 3},
                      .flush_denormals = true,
                      .vector_bytes = 32,
                      .cpu_model = "cpu",
                      .microcode = "0x1",
                      .hypervisor = "kvm",
                      .kernel_release = "6.1",
                      .device = "cpu:0-1",
                      .host = "host",
                      .worker = "worker",
                      .seed = ~uint64_t{0},
                      .distribution = "normal",
                      .method_version = 1},
      .build = {.llvm_version = "19.1.7",
                .codegen_epoch = 1,
                .artifact_sha256 = std::string(32, 'a'),
                .lowered_sha256 = std::string(32, 'l'),
                .code_sha256 = std::string(32, 'k'),
                .spill_count = 1,
                .code_bytes = 2,
                .scratch_bytes = 3,
                .packed_bytes = 4,
                .build_ns = 5},
      .numerics = {.kind = NumericsClass::kAlgorithm,
                   .algorithm = "winograd",
                   .parameter = 4,
                   .error = 1e-5},
      .effort = {.check_ns = 6, .wait_ns = 7, .run_ns = 8},
  };
}

TEST(MeasurementTest, EveryFieldSurvivesTheWire) {
  const Measurement want = FullMeasurement();
  v1::Measurement message;
  ASSERT_TRUE(message.ParseFromString(ToProto(want).SerializeAsString()));
  const absl::StatusOr<Measurement> got = FromProto(message);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(*got, want);
}

TEST(MeasurementTest, TimesThatGoBackwardsAreNotKnown) {
  v1::Measurement message = ToProto(FullMeasurement());
  message.mutable_effort()->set_run_ns(-5);
  const absl::StatusOr<Measurement> got = FromProto(message);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->effort, (Effort{.check_ns = 6, .wait_ns = 7, .run_ns = 0}));
}

// The fields 1 to 3 alone, as before algorithms had names: kind 3 was Winograd's, 2 its tile.
TEST(MeasurementTest, NumericsOfAnOlderWriterAreTheAlgorithmThatThereWas) {
  v1::Numerics message;
  ASSERT_TRUE(message.ParseFromString("\x08\x03\x10\x04"));
  EXPECT_EQ(
      FromProto(message),
      (Numerics{
          .kind = NumericsClass::kAlgorithm, .algorithm = "winograd", .parameter = 4, .error = 0}));
  ASSERT_TRUE(message.ParseFromString("\x08\x02"));
  EXPECT_EQ(FromProto(message).algorithm, "");
}

TEST(MeasurementTest, NumericsThatNobodyCanNameAreUnknown) {
  v1::Numerics message = ToProto(FullMeasurement().numerics);
  message.set_algorithm("of_a_newer_writer");
  EXPECT_EQ(FromProto(message).algorithm, "of_a_newer_writer");
  message.set_algorithm(std::string(Numerics::kAlgorithmBytesMax + 1, 'a'));
  EXPECT_EQ(FromProto(message).kind, NumericsClass::kUnknown);
  message.set_kind(static_cast<v1::Numerics::Kind>(99));
  EXPECT_EQ(FromProto(message).kind, NumericsClass::kUnknown);
}

TEST(MeasurementTest, EveryFailureKindSurvivesTheWireUnderItsOwnName) {
  for (int kind = 1; kind <= kFailureKindCount; ++kind) {
    const Failure want = {.kind = static_cast<FailureKind>(kind), .message = "why"};
    const v1::Failure message = ToProto(want);
    std::string name = v1::Failure::Kind_Name(message.kind());
    for (char& c : name) c = c == '_' ? ' ' : static_cast<char>(c - 'A' + 'a');
    EXPECT_EQ(FailureKindName(want.kind), name);
    const absl::StatusOr<Failure> got = FromProto(message);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(*got, want);
  }
}

TEST(MeasurementTest, LostCancelledAndParkedJobsAreNoTrials) {
  EXPECT_FALSE(CountsAsTrial(FailureKind::kWorkerLost));
  EXPECT_FALSE(CountsAsTrial(FailureKind::kCancelled));
  EXPECT_TRUE(CountsAsTrial(FailureKind::kPoisoned));
  EXPECT_FALSE(CountsAsTrial(FailureKind::kParked));
  EXPECT_TRUE(CountsAsTrial(FailureKind::kBuildError));
}

TEST(MeasurementTest, LongFailureMessageIsCutBetweenCharacters) {
  std::string text(4095, 'x');
  text += "\u00e9 and more";  // Two bytes, of which one would fit.
  EXPECT_EQ(ToProto(Failure{.message = text}).message(), std::string(4095, 'x'));
}

TEST(MeasurementTest, BytesThatAreNoUtf8StillCrossTheWire) {
  const v1::Failure message = ToProto(Failure{.message = "a\xff\xc3 \xed\xa0\x80z"});
  EXPECT_EQ(message.message(), "a" + std::string(2, '?') + " " + std::string(3, '?') + "z");
  v1::Failure parsed;
  EXPECT_TRUE(parsed.ParseFromString(message.SerializeAsString()));
}

TEST(MeasurementTest, MessageWithoutOutcomeIsRefused) {
  v1::Measurement message = ToProto(FullMeasurement());
  message.clear_outcome();
  EXPECT_THAT(FromProto(message).status().ToString(), HasSubstr("neither"));
}

TEST(MeasurementTest, ImpossibleNumbersAreRefused) {
  v1::Measurement message = ToProto(FullMeasurement());
  message.mutable_latencies()->mutable_processes(0)->set_latency_ns(1, 0);
  EXPECT_THAT(FromProto(message).status().ToString(), HasSubstr("got latency 0 ns"));
  message = ToProto(FullMeasurement());
  message.mutable_latencies()->mutable_processes(1)->clear_latency_ns();
  EXPECT_THAT(FromProto(message).status().ToString(), HasSubstr("without a repeat"));
  message = ToProto(FullMeasurement());
  message.mutable_latencies()->clear_processes();
  EXPECT_THAT(FromProto(message).status().ToString(), HasSubstr("no process"));
  message = ToProto(FullMeasurement());
  message.set_candidate_id("short");
  EXPECT_THAT(FromProto(message).status().ToString(), HasSubstr("candidate_id of 5 bytes"));
  v1::Failure failure;
  EXPECT_FALSE(FromProto(failure).ok());
}

}  // namespace
}  // namespace burnish
