// A product of one row takes the panels that one of many rows has its weights in.
#include "tuner/app/weight_forms.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/status_matchers.h"
#include "compiler/ir/packed_shapes.h"
#include "compiler/ir/printer.h"
#include "compiler/schedule/trace.h"
#include "compiler/target/device_model.h"
#include "compiler/target/target.h"
#include "compiler/te/builder.h"
#include "compiler/te/operator.h"
#include "db/stored_trace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/default_schedule.h"

namespace burnish {
namespace {

constexpr int64_t kDepth = 96, kWidth = 768;

ExtractedTask Product(int64_t rows, const std::string& name = "dense", int64_t width = kWidth) {
  TeBuilder te("product");
  const Tensor x = te.Parameter("x", {DType::kF32, {rows, kDepth}}, BufferRole::kInput);
  const Tensor w = te.Parameter("w", {DType::kF32, {kDepth, width}}, BufferRole::kConstant);
  te.Output("y", FindOperator("matmul")->define(te, Attributes(), {x, w})[0]);
  ExtractedTask task{.name = name, .program = Canonicalize(te.Build()), .weight = 1};
  task.workload = Print(task.program);
  return task;
}

PackedShapes FormOf(const ExtractedTask& task, const std::string& trace) {
  const absl::StatusOr<Trace> steps = ParseStoredTrace(trace);
  CHECK_OK(steps);
  const absl::StatusOr<Program> scheduled = ApplyTrace(*steps, task.program);
  CHECK_OK(scheduled);
  return PackedShapesOf(*scheduled);
}

std::vector<KnownSchedule> DefaultsOf(const ExtractedTask& task) {
  const absl::StatusOr<Target> target = ParseTarget("cpu:arch=znver4,threads=2");
  CHECK_OK(target);
  std::vector<KnownSchedule> schedules;
  for (const DefaultChoice& choice :
       DefaultSchedules(task.program, DeviceModelOf(*target), {}, {.by_form = true})) {
    schedules.push_back({.trace = PrintTrace(choice.trace),
                         .origin = ScheduleOrigin::kDefault,
                         .estimated_ns = choice.seconds * 1e9,
                         .numerics = choice.numerics});
  }
  return schedules;
}

BuiltModel BuiltWith(const ExtractedTask& task, const std::string& trace) {
  BuiltModel built;
  built.tasks.push_back({.name = task.name, .workload = task.workload, .trace = trace});
  return built;
}

std::vector<std::string> TracesOf(const std::vector<KnownSchedule>& schedules) {
  std::vector<std::string> traces;
  for (const KnownSchedule& each : schedules) traces.push_back(each.trace);
  return traces;
}

class WeightFormsTest : public ::testing::Test {
 protected:
  // A form that both have, and in which one row is not fastest; its schedules by rows.
  void SetUp() override {
    std::set<PackedShapes> of_one;
    for (const KnownSchedule& each : one_) of_one.insert(FormOf(row_, each.trace));
    ASSERT_EQ(of_one.size(), one_.size()) << "a form twice";
    for (const KnownSchedule& each : many_) {
      const PackedShapes form = FormOf(rows_, each.trace);
      const bool is_other = !form.empty() && form != FormOf(row_, one_[0].trace);
      if (!is_other || !of_one.contains(form)) continue;
      trace_ = each.trace;
      form_ = form;
    }
    ASSERT_FALSE(form_.empty());
  }
  // The number of the row's schedule in that form.
  size_t Number() const {
    size_t i = 0;
    while (FormOf(row_, one_[i].trace) != form_) ++i;
    return i;
  }

  const ExtractedTask row_ = Product(1), rows_ = Product(64);
  std::vector<KnownSchedule> one_ = DefaultsOf(row_);
  const std::vector<KnownSchedule> many_ = DefaultsOf(rows_);
  std::string trace_;
  PackedShapes form_;
};

TEST_F(WeightFormsTest, TheFastestOfAFormThatIsThereComesFirst) {
  WeightForms forms;
  ASSERT_THAT(forms.Add(BuiltWith(rows_, trace_)), IsOk());
  std::vector<std::string> want = TracesOf(one_);
  const size_t number = Number();
  std::rotate(want.begin(), want.begin() + number, want.begin() + number + 1);
  one_[number].estimated_ns = 1.04 * one_[0].estimated_ns;
  for (size_t i = 1; i < number; ++i) one_[i].estimated_ns = one_[0].estimated_ns;
  forms.Prefer(row_, one_);
  EXPECT_EQ(TracesOf(one_), want);
}

TEST_F(WeightFormsTest, UnlessThatTakesTooLong) {
  WeightForms forms;
  ASSERT_THAT(forms.Add(BuiltWith(rows_, trace_)), IsOk());
  const std::vector<std::string> before = TracesOf(one_);
  for (size_t i = 1; i < one_.size(); ++i) one_[i].estimated_ns = 1.06 * one_[0].estimated_ns;
  forms.Prefer(row_, one_);
  EXPECT_EQ(TracesOf(one_), before);
  // So many layers that their weights are much of a file.
  ExtractedTask layers = row_;
  layers.weight = 100;
  forms.Prefer(layers, one_);
  EXPECT_EQ(FormOf(row_, one_[0].trace), form_);
}

TEST_F(WeightFormsTest, OtherWeightsAndMeasuredSchedulesStay) {
  WeightForms forms;
  ASSERT_THAT(forms.Add(BuiltWith(Product(64, "dense+relu"), trace_)), IsOk());
  ASSERT_THAT(forms.Add(BuiltWith(Product(64, "dense", 2 * kWidth), "")), IsOk());
  for (KnownSchedule& each : one_) each.estimated_ns = one_[0].estimated_ns;
  const std::vector<std::string> before = TracesOf(one_);
  forms.Prefer(row_, one_);
  EXPECT_EQ(TracesOf(one_), before);
  ASSERT_THAT(forms.Add(BuiltWith(rows_, trace_)), IsOk());
  one_.insert(one_.begin(), {.trace = "measured", .origin = ScheduleOrigin::kTuned});
  forms.Prefer(row_, one_);
  EXPECT_EQ(one_[0].trace, "measured");
  EXPECT_EQ(FormOf(row_, one_[1].trace), form_);
}

TEST_F(WeightFormsTest, OfWhatWasMeasuredTheFirstThatAppliesCounts) {
  WeightForms forms;
  const KnownSchedule broken{.trace = "split@1 nothing", .origin = ScheduleOrigin::kTuned};
  const KnownSchedule other{.trace = trace_, .origin = ScheduleOrigin::kCompatible};
  for (KnownSchedule& each : one_) each.estimated_ns = one_[0].estimated_ns;
  const std::vector<std::string> before = TracesOf(one_);
  forms.AddMeasured(rows_, {broken, other});
  forms.Prefer(row_, one_);
  EXPECT_EQ(TracesOf(one_), before);
  forms.AddMeasured(rows_, {broken, {.trace = trace_, .origin = ScheduleOrigin::kTuned}});
  forms.Prefer(row_, one_);
  EXPECT_EQ(FormOf(row_, one_[0].trace), form_);
}

TEST_F(WeightFormsTest, AReportThatCannotBeReadIsAnError) {
  WeightForms forms;
  EXPECT_THAT(forms.Add(BuiltWith(rows_, "split@1 nothing")),
              StatusIs(absl::StatusCode::kInternal));
}

}  // namespace
}  // namespace burnish
