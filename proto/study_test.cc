#include "proto/study.h"

#include <cmath>
#include <optional>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/calibration.pb.h"
#include "proto/study.pb.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

StudySpec FullSpec() {
  return {.model_path = "/models/m.onnx",
          .model_sha256 = std::string(32, 'm'),
          .target = "cpu:arch=znver3",
          .trials_max = 500,
          .time_max_ns = 600,
          .gain_min = 0.01,
          .early_stopping_trials = 64,
          .shapes = {{"x", "1x3x224x224"}, {"y", "1"}},
          .batch = 4,
          .scheduler = "auto_scheduler",
          .strategy = "random",
          .task_scheduler = "round-robin",
          .cost_model = "random",
          .no_default = true,
          .deterministic = true,
          .error_max = 1e-3,
          .strict = true,
          .opt_level = 2,
          .seed = ~uint64_t{0},
          .out_path = "/out",
          .priority = -1,
          .served = true,
          .calibration = CalibrationRow{.threads = 1,
                                        .clock_ghz = 3,
                                        .units = {{"fma_f32x8", 96, 90}},
                                        .levels = {{"memory", 12, 12, 90}}},
          .client_sha256 = std::string(32, 'c'),
          .precision = "auto",
          .data_path = "/data",
          .data_sha256 = std::string(32, 'd'),
          .layer_types = {{"conv1", "bf16"}, {"conv2", "i8"}, {"dense", "f16"}},
          .ranges = {{"input x", {-1.5, 2}}, {"conv1", {0, 0}}}};
}

TEST(StudySpecTest, EveryFieldSurvivesTheWire) {
  EXPECT_THAT(FromProto(ToProto(FullSpec())), IsOkAndHolds(FullSpec()));
  const StudySpec defaults = {.task = "resnet50"};
  EXPECT_THAT(FromProto(ToProto(defaults)), IsOkAndHolds(defaults));
}

TEST(StudySpecTest, StudyOfBeforeIsInF32) {
  v1::StudySpec message = ToProto({.task = "resnet50"});
  message.clear_precision();
  ASSERT_OK_AND_ASSIGN(const StudySpec spec, FromProto(message));
  EXPECT_EQ(spec.precision, "f32");
}

TEST(StudySpecTest, RowOfAnotherVersionIsLeftOutAndABrokenOneRefused) {
  v1::StudySpec message = ToProto(FullSpec());
  message.mutable_calibration()->set_version(99);
  StudySpec by_table = FullSpec();
  by_table.calibration = std::nullopt;
  EXPECT_THAT(FromProto(message), IsOkAndHolds(by_table));
  message = ToProto(FullSpec());
  message.mutable_calibration()->set_clock_ghz(-1);
  EXPECT_THAT(FromProto(message), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(StudySpecTest, WhatCannotBeTunedIsRefused) {
  const auto refusal = [](void (*change)(v1::StudySpec&)) {
    v1::StudySpec message = ToProto(FullSpec());
    change(message);
    return FromProto(message);
  };
  const auto is = [](const char* text) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text));
  };
  EXPECT_THAT(refusal([](v1::StudySpec& s) { s.set_task("resnet50"); }), is("got both"));
  EXPECT_THAT(refusal([](v1::StudySpec& s) { s.clear_model_path(); }), is("got neither"));
  EXPECT_THAT(refusal([](v1::StudySpec& s) { s.set_trials_max(-2); }), is("trials_max=-2"));
  EXPECT_THAT(refusal([](v1::StudySpec& s) { s.set_opt_level(4); }), is("opt_level=4"));
  EXPECT_THAT(refusal([](v1::StudySpec& s) { s.set_batch(0); }), is("batch=0"));
  EXPECT_THAT(refusal([](v1::StudySpec& s) { s.set_error_max(std::nan("")); }), is("error_max"));
  EXPECT_THAT(refusal([](v1::StudySpec& s) { s.set_model_sha256("x"); }), is("of 1 bytes"));
  EXPECT_THAT(refusal([](v1::StudySpec& s) { s.set_precision("f8"); }), is("precision 'f8'"));
  EXPECT_THAT(refusal([](v1::StudySpec& s) { (*s.mutable_layer_types())["a"] = "i4"; }),
              is("type 'i4' of layer 'a'"));
  EXPECT_THAT(refusal([](v1::StudySpec& s) { (*s.mutable_ranges())["a"].set_least(1); }),
              is("range 1 to 0 of 'a'"));
  EXPECT_THAT(refusal([](v1::StudySpec& s) {
                (*s.mutable_ranges())["a"].set_greatest(std::numeric_limits<double>::infinity());
              }),
              is("range 0 to inf"));
  EXPECT_THAT(refusal([](v1::StudySpec& s) { s.set_data_sha256("x"); }), is("data_sha256 of 1"));
}

TEST(StudyStateTest, DoneIsTheOnlyStateThatNothingFollows) {
  for (int from = 1; from <= kStudyStateCount; ++from) {
    const StudyState state = static_cast<StudyState>(from);
    EXPECT_NE(StudyStateName(state), "unknown");
    EXPECT_TRUE(CanFollow(state, state));
    EXPECT_EQ(CanFollow(state, StudyState::kRunning), state != StudyState::kDone) << from;
  }
  EXPECT_FALSE(CanFollow(StudyState::kCancelled, StudyState::kDone));
  EXPECT_FALSE(CanFollow(StudyState::kInterrupted, StudyState::kDone));
  EXPECT_TRUE(CanFollow(StudyState::kInterrupted, StudyState::kCancelled));
  EXPECT_TRUE(IsTerminal(StudyState::kFailed));
  EXPECT_FALSE(IsTerminal(StudyState::kInterrupted));
}

TEST(StudyLogEntryTest, SurvivesTheWireAndNeedsAKind) {
  const StudyLogEntry entry = {.kind = StudyLogKind::kSnapshot,
                               .task_index = 3,
                               .trial_ids = {"b", "a"},
                               .snapshot_id = "s1",
                               .round = 9};
  EXPECT_THAT(FromProto(ToProto(entry)), IsOkAndHolds(entry));
  EXPECT_THAT(FromProto(v1::StudyLogEntry()), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace burnish
