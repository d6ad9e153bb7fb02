#include "tuner/app/recorded_schedules.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_matchers.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/schedule/trace.h"
#include "compiler/target/device_model.h"
#include "compiler/te/builder.h"
#include "compiler/te/operator.h"
#include "db/memory/memory_record_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/workload.h"
#include "tuner/cost_model/analytic_model.h"
#include "tuner/sketch/default_schedule.h"
#include "tuner/sketch/sketch.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kTuned = ScheduleOrigin::kTuned;
constexpr auto kSameAnchor = ScheduleOrigin::kSameAnchor;
constexpr auto kDefault = ScheduleOrigin::kDefault;

Target TargetOf(int threads) {
  absl::StatusOr<Target> target = ParseTarget(absl::StrCat("cpu:arch=znver3,threads=", threads));
  CHECK_OK(target);
  return *target;
}

// A product that `after` reads: with the other operand of "add", or alone.
ExtractedTask TaskOf(const std::string& after) {
  TeBuilder te(after);
  const auto op = [&](const std::string& name, std::vector<Tensor> inputs) {
    return FindOperator(name)->define(te, Attributes(), inputs)[0];
  };
  const Tensor x = te.Parameter("x", {DType::kF32, {96, 80}}, BufferRole::kInput);
  const Tensor w = te.Parameter("w", {DType::kF32, {80, 64}}, BufferRole::kConstant);
  Tensor y = op("matmul", {x, w});
  if (after == "add") {
    y = op("add", {y, te.Parameter("r", {DType::kF32, {96, 64}}, BufferRole::kInput)});
  } else {
    y = op(after, {y});
  }
  te.Output("y", y);
  return {.name = after, .workload = PrintWorkload(Canonicalize(te.Build()))};
}

Program ProgramOf(const ExtractedTask& task) {
  absl::StatusOr<Program> program = ParseProgram(task.workload);
  CHECK_OK(program);
  return *std::move(program);
}

// The trace at the point that the model likes least.
std::string SlowestTrace(const ExtractedTask& task, const Target& target) {
  const Program program = ProgramOf(task);
  const DeviceModel device = DeviceModelOf(target);
  double slowest = -std::numeric_limits<double>::infinity();
  std::string text;
  for (const Sketch& sketch : GenerateSketches(program, device)) {
    for (const Point& point : EnumeratePoints(sketch, 200)) {
      const absl::StatusOr<Trace> trace = Bind(sketch, point);
      CHECK_OK(trace);
      const absl::StatusOr<Program> scheduled = ApplyTrace(*trace, program);
      CHECK_OK(scheduled);
      const absl::StatusOr<Program> lowered = Lower(*scheduled, {.for_estimate = true});
      CHECK_OK(lowered);
      const double seconds = AnalyticSeconds(*lowered, device, target.threads);
      if (seconds <= slowest) continue;
      slowest = seconds;
      text = PrintTrace(*trace);
    }
  }
  return text;
}

class RecordedSchedulesTest : public ::testing::Test {
 protected:
  void Record(const ExtractedTask& task, const Target& target, const std::string& trace,
              int64_t latency_ns) {
    const Program program = ProgramOf(task);
    absl::StatusOr<Workload> workload =
        MakeWorkload(task.workload, PrintWorkload(program, /*empty_finish=*/true));
    ASSERT_THAT(workload, IsOk());
    MeasurementEntry entry{
        .study_id = "study",
        .trial_id = absl::StrCat("t", ++count_),
        .candidate = {.workload = *workload, .target = target, .trace = trace, .codegen_epoch = 1}};
    entry.measurement.environment.method_version = kMeasureMethodVersion;
    entry.measurement.outcome = Latencies{{ProcessLatencies{.latency_ns = {latency_ns}}}};
    entry.measurement.numerics = {.kind = NumericsClass::kReassociated, .error = 1e-7};
    ASSERT_THAT(store_.Append(entry), IsOkAndHolds(AppendOutcome::kRecorded));
  }

  std::vector<KnownSchedule> Find(const ExtractedTask& task) {
    RecordedSchedules source(BestIn(store_), {});
    absl::StatusOr<std::vector<KnownSchedule>> found = source.Find(task, target_);
    EXPECT_THAT(found, IsOk());
    return *std::move(found);
  }

  std::string DefaultTrace(const ExtractedTask& task) const {
    return PrintTrace(DefaultSchedule(ProgramOf(task), DeviceModelOf(target_)));
  }

  const Target target_ = TargetOf(2);
  const ExtractedTask relu_ = TaskOf("relu"), add_ = TaskOf("add");
  MemoryRecordStore store_;
  int count_ = 0;
};

TEST_F(RecordedSchedulesTest, NothingOnRecordGivesTheDefaults) {
  const std::vector<KnownSchedule> found = Find(add_);
  ASSERT_THAT(found, ElementsAre(Field(&KnownSchedule::origin, kDefault)));
  EXPECT_EQ(found[0].trace, DefaultTrace(add_));
}

// The weights of a loop's body are in a cache since the iteration before. Of many rows: one row's
// weights are read once, and asked for by hardware.
TEST_F(RecordedSchedulesTest, DefaultsOfALoopAskForNothingAhead) {
  TeBuilder te("rows");
  const Tensor x = te.Parameter("x", {DType::kF32, {64, 64}}, BufferRole::kInput);
  const Tensor w = te.Parameter("w", {DType::kF32, {256, 64}}, BufferRole::kConstant);
  te.Output("y", FindOperator("dense")->define(te, Attributes(), {{x, w}})[0]);
  ExtractedTask task{.name = "rows", .workload = PrintWorkload(Canonicalize(te.Build()))};
  const std::vector<KnownSchedule> once = Find(task);
  task.is_looped = true;
  const std::vector<KnownSchedule> looped = Find(task);
  ASSERT_EQ(once.size(), looped.size());
  EXPECT_THAT(once[0].trace, HasSubstr("prefetch@"));
  EXPECT_THAT(looped[0].trace, Not(HasSubstr("prefetch@")));
}

TEST_F(RecordedSchedulesTest, WhatWasTunedWithReluServesTheSameProductWithAResidual) {
  Record(relu_, target_, DefaultTrace(relu_), 900);
  const std::vector<KnownSchedule> found = Find(add_);
  ASSERT_THAT(found, ElementsAre(Field(&KnownSchedule::origin, kSameAnchor),
                                 Field(&KnownSchedule::origin, kDefault)));
  EXPECT_EQ(found[0].trace, DefaultTrace(relu_));
  // What was measured was another workload.
  EXPECT_EQ(found[0].latency_ns, 0);
  EXPECT_EQ(found[0].numerics.error, Numerics::kErrorNotMeasured);
  EXPECT_THAT(
      ApplyTrace(DefaultSchedule(ProgramOf(relu_), DeviceModelOf(target_)), ProgramOf(add_)),
      IsOk());
}

TEST_F(RecordedSchedulesTest, TheWorkloadsOwnRecordsComeFirstAndAlone) {
  Record(relu_, target_, DefaultTrace(relu_), 100);
  Record(add_, target_, DefaultTrace(add_), 900);
  EXPECT_THAT(Find(add_), ElementsAre(Field(&KnownSchedule::origin, kTuned)));
}

TEST_F(RecordedSchedulesTest, WhatTheModelTakesForMuchSlowerHereIsLeftOut) {
  Record(relu_, target_, SlowestTrace(relu_, target_), 100);
  EXPECT_THAT(Find(add_), ElementsAre(Field(&KnownSchedule::origin, kDefault)));
}

TEST_F(RecordedSchedulesTest, WhatDoesNotApplyIsLeftToTheDriverToReport) {
  Record(relu_, target_, "unroll@1 nowhere-> ", 100);
  EXPECT_THAT(Find(add_), ElementsAre(Field(&KnownSchedule::origin, kSameAnchor),
                                      Field(&KnownSchedule::origin, kDefault)));
}

}  // namespace
}  // namespace burnish
