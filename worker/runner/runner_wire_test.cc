#include "worker/runner/runner_wire.h"

#include <string>

#include "gtest/gtest.h"

namespace burnish {
namespace {

std::span<const uint8_t> Bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

TensorSpec BorderedTensor() {
  return {.role = ArgumentRole::kConstant,
          .type = ElementType::kI8,
          .shape = {2, 3},
          .strides = {5, 1},
          .border_below = {0, 1},
          .border_above = {0, 1},
          .border_value = -0.1,
          .offset = 64,
          .low = -128,
          .high = 127};
}

RunnerReply TimedReply() {
  return {.event = RunnerEvent::kTimed,
          .timing = {.latency_ns = {5, 6}, .inner_count = 7, .steal_ns = 8, .vector_bytes = 32},
          .step_ns = {11, 12}};
}

TEST(RunnerWireTest, RequestComesBackAsItWas) {
  RunnerRequest request{.seed = 0xfedcba9876543210, .thread_count = 2, .cpus = {1, 0}};
  request.candidate = {.artifact = "bytes", .parameters = {BorderedTensor(), TensorSpec()}};
  request.reference.push_back({.artifact = "zero"});
  request.timing.lock_descriptors = {5, 6};
  request.timing.pace_descriptor = 7;
  request.network = {.kernels = {{.artifact = "one"}, {.artifact = "two"}},
                     .step_count = 2,
                     .warm_up_pass_count = 1,
                     .order = {0, 1, 1, 0}};
  const auto decoded = DecodeRunnerRequest(Bytes(EncodeFrame(request)));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->candidate.artifact, "bytes");
  EXPECT_EQ(decoded->candidate.parameters, request.candidate.parameters);
  ASSERT_EQ(decoded->reference.size(), 1u);
  EXPECT_EQ(decoded->reference[0].artifact, "zero");
  ASSERT_EQ(decoded->network.kernels.size(), 2u);
  EXPECT_EQ(decoded->network.kernels[1].artifact, "two");
  EXPECT_EQ(decoded->network.step_count, 2);
  EXPECT_EQ(decoded->network.warm_up_pass_count, 1);
  EXPECT_EQ(decoded->network.order, request.network.order);
  EXPECT_EQ(decoded->seed, request.seed);
  EXPECT_EQ(decoded->cpus, request.cpus);
  EXPECT_EQ(decoded->timing.lock_descriptors, request.timing.lock_descriptors);
  EXPECT_EQ(decoded->timing.pace_descriptor, request.timing.pace_descriptor);
}

TEST(RunnerWireTest, RepliesComeBackAsTheyWere) {
  const auto timed = DecodeRunnerReply(Bytes(EncodeFrame(TimedReply())));
  ASSERT_TRUE(timed.has_value());
  EXPECT_EQ(timed->timing, TimedReply().timing);
  EXPECT_EQ(timed->step_ns, TimedReply().step_ns);
  const CheckerReply verdict{.verdict = CheckerVerdict::kWrong,
                             .message = "element 3",
                             .parameters = {BorderedTensor()},
                             .error = 0.1};
  const auto decoded = DecodeCheckerReply(Bytes(EncodeFrame(verdict)));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->verdict, verdict.verdict);
  EXPECT_EQ(decoded->message, verdict.message);
  EXPECT_EQ(decoded->parameters, verdict.parameters);
  EXPECT_EQ(decoded->error, 0.1);
}

// A kernel that went astray may write anything to the pipe.
TEST(RunnerWireTest, CutAndDamagedRepliesAreRefused) {
  const std::string whole = EncodeFrame(TimedReply());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(DecodeRunnerReply(Bytes(whole.substr(0, size))).has_value()) << size;
  }
  EXPECT_FALSE(DecodeRunnerReply(Bytes(whole + "x")).has_value());
  std::string other_event = whole;
  other_event[0] = 9;
  EXPECT_FALSE(DecodeRunnerReply(Bytes(other_event)).has_value());
}

TEST(RunnerWireTest, FailuresAndVerdictsThatThereAreNotAreRefused) {
  for (const int unknown : {0, 5, 200}) {
    const std::string verdict =
        EncodeFrame(CheckerReply{.verdict = static_cast<CheckerVerdict>(unknown)});
    EXPECT_FALSE(DecodeCheckerReply(Bytes(verdict)).has_value()) << unknown;
    RunnerReply failed{.event = RunnerEvent::kFailed,
                       .failure = static_cast<RunnerFailure>(unknown)};
    EXPECT_FALSE(DecodeRunnerReply(Bytes(EncodeFrame(failed))).has_value()) << unknown;
    // Of another event the field says nothing.
    failed.event = RunnerEvent::kTimed;
    EXPECT_TRUE(DecodeRunnerReply(Bytes(EncodeFrame(failed))).has_value()) << unknown;
  }
}

TEST(RunnerWireTest, MoreThanOneReferenceIsRefused) {
  RunnerRequest request;
  request.reference.resize(2);
  EXPECT_FALSE(DecodeRunnerRequest(Bytes(EncodeFrame(request))).has_value());
}

}  // namespace
}  // namespace burnish
