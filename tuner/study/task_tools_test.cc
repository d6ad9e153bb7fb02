// Real sketches and the real model under the whole loop; only the farm is a formula.
#include "tuner/study/task_tools.h"

#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/fake_clock.h"
#include "base/rng.h"
#include "base/status_matchers.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_text.h"
#include "compiler/target/device_model.h"
#include "compiler/te/canonicalize.h"
#include "compiler/te/operator.h"
#include "db/memory/memory_record_store.h"
#include "db/memory/memory_study_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/calibrated.h"
#include "tuner/cost_model/analytic_model.h"
#include "tuner/measure/fake_measurer.h"
#include "tuner/sketch/default_schedule.h"
#include "tuner/sketch/sketch.h"
#include "tuner/study/study_checker.h"
#include "tuner/study/study_runner.h"
#include "tuner/study/study_storage.h"

namespace burnish {
namespace {

constexpr auto kPeak = [](const Program&) { return 1e12; };

using ::testing::HasSubstr;

StudyTaskSpec TaskOf(const std::string& op, const std::vector<std::vector<int64_t>>& shapes,
                     const Attributes& attributes) {
  TeBuilder te(op);
  std::vector<Tensor> tensors;
  std::vector<TensorType> types;
  for (size_t i = 0; i < shapes.size(); ++i) {
    types.push_back({DType::kF32, shapes[i]});
    tensors.push_back(te.Parameter(absl::StrCat("p", i), types.back(),
                                   i == 0 ? BufferRole::kInput : BufferRole::kConstant));
  }
  const OperatorDef* def = FindOperator(op);
  CHECK(def != nullptr);
  CHECK_OK(def->infer(attributes, types));
  te.Output("y", def->define(te, attributes, tensors)[0]);
  const std::string text = PrintWorkload(Canonicalize(te.Build()));
  auto workload = MakeWorkload(text, text);
  CHECK_OK(workload);
  return {.name = op, .workload = *workload};
}

StudyTaskSpec ConvTask() {
  Attributes attributes;
  attributes.Set("channels_last", int64_t{1});
  attributes.Set("pads", std::vector<int64_t>{1, 1, 1, 1});
  return TaskOf("conv", {{1, 14, 14, 32}, {64, 32, 3, 3}}, attributes);
}

Target TestTarget() {
  auto target = ParseTarget("cpu:arch=znver3,threads=2");
  CHECK_OK(target);
  return *target;
}

TEST(TaskToolsTest, RealSketchesSayTheDefaultAndTheirPointsAreFoundAgain) {
  for (const StudyTaskSpec& task :
       {ConvTask(), TaskOf("dense", {{4, 96}, {80, 96}}, {}), TaskOf("softmax", {{8, 64}}, {})}) {
    SCOPED_TRACE(task.name);
    ASSERT_OK_AND_ASSIGN(const std::vector<TaskTools> all,
                         MakeTaskTools({}, {&task, 1}, TestTarget(), {}));
    const TaskTools& tools = all[0];
    ASSERT_OK_AND_ASSIGN(const auto space, SearchSpace::Create({.sketches = tools.sketches,
                                                                .workload_id = task.workload.id,
                                                                .target = TestTarget().ToText()}));
    EXPECT_NE(space->Recognize(tools.default_trace).sketch_index, Proposal::kNoSketch)
        << tools.default_trace;
    Rng rng(1);
    for (int i = 0; i < 50; ++i) {
      const int sketch = static_cast<int>(rng.Below(tools.sketches.size()));
      const std::optional<Point> point = space->RandomPoint(sketch, rng);
      if (!point.has_value()) continue;
      ASSERT_OK_AND_ASSIGN(const Proposal proposal, space->Propose(sketch, *point));
      const Proposal found = space->Recognize(proposal.trace);
      ASSERT_NE(found.sketch_index, Proposal::kNoSketch) << proposal.trace;
      // Another sketch may say the same, or the point differ in what no step names.
      EXPECT_THAT(space->Propose(found.sketch_index, found.point),
                  IsOkAndHolds(::testing::Field(&Proposal::trace, proposal.trace)));
    }
  }
}

// Else a task would be done before Winograd was tried.
TEST(TaskToolsTest, BoundOfAThreeByThreeConvolutionLeavesRoomForWinogradUnlessStrict) {
  const StudyTaskSpec task = ConvTask();
  const TaskToolsOptions options{.peak_flops = kPeak, .make_threads = 2};
  ASSERT_OK_AND_ASSIGN(const auto free, MakeTaskTools(options, {&task, 1}, TestTarget(), {}));
  ASSERT_OK_AND_ASSIGN(const auto strict,
                       MakeTaskTools(options, {&task, 1}, TestTarget(), {.strict = true}));
  EXPECT_NEAR(static_cast<double>(strict[0].bound_ns) / static_cast<double>(free[0].bound_ns),
              324.0 / 64.0, 0.01);
  EXPECT_EQ(free[0].default_trace, strict[0].default_trace);
  EXPECT_FALSE(free[0].seed_traces.empty());
  EXPECT_TRUE(strict[0].seed_traces.empty());
}

// A study starts with what an earlier run has found; to find it anew takes half a second a task.
TEST(TaskToolsTest, DefaultSchedulesThatAreKeptAreTaken) {
  const StudyTaskSpec task = ConvTask();
  const StudySpec spec{.strict = true};
  TaskToolsOptions options;
  int asked = 0;
  options.defaults = [&](const Program& workload, const Target& target,
                         const std::optional<CalibrationRow>& calibration,
                         const SketchOptions& sketches) {
    ++asked;
    EXPECT_EQ(PrintWorkload(workload), task.workload.text);
    EXPECT_FALSE(sketches.algorithms);  // The study is strict.
    std::vector<DefaultChoice> choices =
        DefaultSchedules(workload, DeviceModelOf(target, calibration), sketches);
    // Not the best, so that it shows whose they are.
    const std::vector<Sketch> all = GenerateSketches(workload, DeviceModelOf(target), sketches);
    choices.front().trace = *Bind(all.front(), EnumeratePoints(all.front(), 1).front());
    return choices;
  };
  ASSERT_OK_AND_ASSIGN(const auto kept, MakeTaskTools(options, {&task, 1}, TestTarget(), spec));
  ASSERT_OK_AND_ASSIGN(const auto made, MakeTaskTools({}, {&task, 1}, TestTarget(), spec));
  EXPECT_EQ(asked, 1);
  EXPECT_NE(kept[0].default_trace, made[0].default_trace);
}

// By the study's row, not the one that this machine or a later boot has.
TEST(TaskToolsTest, RowOfTheStudyDecidesItsDefaultSchedules) {
  const StudyTaskSpec task = TaskOf("dense", {{64, 512}, {512, 512}}, {});
  const StudySpec by_row{
      .calibration = CalibrationRow{
          .threads = 2,
          .clock_ghz = 3,
          .units = {{"fma_f32x8", 96, 24}},
          .levels = {
              {"L1", 190, 380, 1.3}, {"L2", 4, 8, 5}, {"L3", 1, 1, 40}, {"memory", 0.5, 0.5, 90}}}};
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTaskTools({}, {&task, 1}, TestTarget(), {}));
  ASSERT_OK_AND_ASSIGN(const auto row, MakeTaskTools({}, {&task, 1}, TestTarget(), by_row));
  ASSERT_OK_AND_ASSIGN(const auto again, MakeTaskTools({}, {&task, 1}, TestTarget(), by_row));
  EXPECT_NE(row[0].default_trace, table[0].default_trace);
  EXPECT_EQ(row[0].default_trace, again[0].default_trace);
  EXPECT_EQ(row[0].sketches.size(), table[0].sketches.size());
}

TEST(TaskToolsTest, StudyOverARealTaskMeasuresDifferentProgramsThatApply) {
  const StudyTaskSpec task = ConvTask();
  ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(task.workload.text));
  const DeviceModel device = DeviceModelOf(TestTarget());
  // The analytic model, wrong by up to a factor of two in a way that it cannot know.
  std::set<std::string> lowered_texts;
  std::set<std::string> traces;
  const auto latency_ns = [&](const MeasureRequest& request) -> int64_t {
    auto trace = ParseTrace(request.trace);
    CHECK_OK(trace);
    auto scheduled = ApplyTrace(*trace, program);
    CHECK_OK(scheduled);
    auto lowered = Lower(*scheduled);
    CHECK_OK(lowered);
    lowered_texts.insert(Print(*lowered));
    traces.insert(request.trace);  // New bests come twice.
    Rng rng(RngStream{.purpose = "truth", .task = request.trace});
    return static_cast<int64_t>(1e9 * AnalyticSeconds(*lowered, device, 2) * (1 + rng.Uniform()));
  };
  MemoryRecordStore records;
  MemoryStudyStore studies;
  FakeClock clock;
  FakeMeasurer measurer({.latency_ns = latency_ns, .clock = &clock});
  StudyRunnerOptions options;
  options.study_id = "real";
  options.spec = {.task = "conv", .trials_max = 40};
  options.target = TestTarget();
  options.tasks = {task};
  options.make_tools = [](absl::Span<const StudyTaskSpec> tasks, const Target& target,
                          const StudySpec& study) {
    return MakeTaskTools({.peak_flops = kPeak}, tasks, target, study);
  };
  options.records = &records;
  options.studies = &studies;
  options.measurer = &measurer;
  options.clock = &clock;
  // Enough for a test: the whole space would be thousands of candidates to lower.
  options.enumerated_points_max = 0;
  ASSERT_THAT(
      CreateStudy(
          studies,
          {.id = "real", .spec = options.spec, .target = options.target, .tasks = options.tasks}),
      IsOk());
  ASSERT_OK_AND_ASSIGN(const StudyResult result, StudyRunner(options).Run());
  EXPECT_EQ(result.progress.trial_count, 40);
  EXPECT_EQ(traces.size(), 41);
  EXPECT_EQ(lowered_texts.size(), 41);  // No twins.
  EXPECT_GT(result.progress.tasks[0].bound_ns, 0);
  EXPECT_LE(result.progress.tasks[0].best.latency_ns, result.progress.tasks[0].default_ns);
  EXPECT_THAT(CheckStudy(options), IsOk());
  EXPECT_THAT(CheckReplay(options), IsOk());
}

TEST(TaskToolsTest, UnknownModelAndTextThatIsNoProgramAreRefused) {
  StudyTaskSpec task = ConvTask();
  EXPECT_THAT(MakeTaskTools({}, {&task, 1}, TestTarget(), {.cost_model = "oracle"}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("analytic, random, xgboost")));
  EXPECT_THAT(
      MakeTaskTools({}, {&task, 1}, TestTarget(), {.cost_model = "analytic", .no_default = true})
          .status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("withholds")));
  task.workload.text = "block";
  EXPECT_THAT(MakeTaskTools({}, {&task, 1}, TestTarget(), {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace burnish
