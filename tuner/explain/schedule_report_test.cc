#include "tuner/explain/schedule_report.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "compiler/ir/lower.h"
#include "compiler/schedule/test_programs.h"
#include "compiler/schedule/trace.h"
#include "compiler/target/device_model.h"
#include "compiler/target/target.h"
#include "db/stored_trace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/cost_model/analytic_model.h"

namespace burnish {
namespace {

using ::testing::Contains;
using ::testing::Field;

DeviceModel DeviceOf(const std::string& arch) {
  const auto target = ParseTarget("cpu:arch=" + arch);
  CHECK_OK(target);
  return DeviceModelOf(*target);
}

Trace TraceOf(const std::string& name) {
  const auto text = ReadFile("compiler/schedule/testdata/" + name + ".trace", 1 << 16);
  CHECK_OK(text);
  const auto trace = ParseStoredTrace(*text);
  CHECK_OK(trace);
  return *trace;
}

TEST(ReportScheduleTest, NumbersAreThoseThatTheTunerChoosesBy) {
  const Program conv = ConvProgram({1, 14, 14, 256, 256, 3, 1, 1});
  const DeviceModel device = DeviceOf("znver3");
  ASSERT_OK_AND_ASSIGN(const ScheduleReport report,
                       ReportSchedule(conv, TraceOf("conv3x3_s1"), device, 2));
  ASSERT_OK_AND_ASSIGN(const Program scheduled, ApplyTrace(TraceOf("conv3x3_s1"), conv));
  ASSERT_OK_AND_ASSIGN(const Program lowered, Lower(scheduled, {.for_estimate = true}));
  EXPECT_DOUBLE_EQ(report.expected_ns, 1e9 * AnalyticSeconds(lowered, device, 2));
  // 14 x 14 x 256 sums of 2304 products, on two workers; a step of ReLU and bias more.
  const double sums = 14.0 * 14 * 256 * 2304;
  EXPECT_NEAR(report.operations, sums, 0.01 * sums);
  EXPECT_EQ(report.bound, kArithmeticTime);
  ASSERT_FALSE(report.nests.empty());
  const NestReport& nest =
      *std::max_element(report.nests.begin(), report.nests.end(),
                        [](const NestReport& a, const NestReport& b) { return a.share < b.share; });
  EXPECT_EQ(nest.workers, 2);
  EXPECT_GT(nest.window, 1);
  EXPECT_EQ(nest.lanes, 8);
  EXPECT_THAT(nest.loops, Contains(Field(&LoopReport::kind, LoopKind::kParallel)));
  EXPECT_THAT(nest.loops, Contains(Field(&LoopReport::kind, LoopKind::kVectorized)));
}

TEST(ReportScheduleTest, UnscheduledProductLosesToItsChain) {
  ASSERT_OK_AND_ASSIGN(const ScheduleReport report,
                       ReportSchedule(DenseProgram(4, 512, 512), {}, DeviceOf("znver4"), 2));
  ASSERT_FALSE(report.findings.empty());
  EXPECT_THAT(report.findings, Contains(Field(&Finding::name, "chain")));
  EXPECT_THAT(report.findings, Contains(Field(&Finding::name, "serial")));
  EXPECT_TRUE(std::is_sorted(report.findings.begin(), report.findings.end(),
                             [](const Finding& a, const Finding& b) { return a.share > b.share; }));
}

TEST(ReportScheduleTest, TraceOfAnotherProgramIsRefused) {
  EXPECT_THAT(
      ReportSchedule(DenseProgram(4, 512, 512), TraceOf("conv3x3_s1"), DeviceOf("znver4"), 2),
      StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace burnish
