#include "tuner/cli/build_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "compiler/driver/build_model.h"
#include "compiler/driver/schedule_source.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TaskReport Measured() {
  return {.name = "conv", .weight = 3, .origin = ScheduleOrigin::kTuned, .latency_ns = 2'000'000};
}
TaskReport Estimated() { return {.name = "dense", .weight = 2, .estimated_ns = 500'000}; }

BuildReportFacts Facts() {
  return {.out = "mine.bundle", .target = {.arch = "znver4", .threads = 2}};
}

// The line that says how fast.
std::string SpeedOf(const std::vector<TaskReport>& tasks, const BuildReportFacts& facts = Facts()) {
  const std::string text = BuildReportText({.tasks = tasks}, facts);
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  return lines.size() > 1 ? lines[1] : "";
}

TEST(BuildReportTest, SaysWhatHowFastAndWhatNextInThreeLines) {
  const BuiltModel built{
      .bundle = std::string(2048, ' '), .tasks = {Estimated()}, .step_count = 2, .kernel_count = 1};
  EXPECT_EQ(
      BuildReportText(built, Facts()),
      "wrote mine.bundle: 2 steps, 1 kernels; 1 default; weights 0 B, activations 0 B, bundle "
      "2.0 KiB\n"
      "about 1.00 ms a run on 2 threads of znver4, by the cost model\n"
      "next: `tuner bench mine.bundle` times it; `tuner submit` with the same model tunes 1 "
      "task\n");
}

TEST(BuildReportTest, SaysWhichTimesWereMeasured) {
  EXPECT_EQ(SpeedOf({Measured()}),
            "about 6.00 ms a run on 2 threads of znver4, by what its tasks were measured at");
  EXPECT_EQ(SpeedOf({Measured(), Estimated()}),
            "about 7.00 ms a run on 2 threads of znver4, measured for 1 of 2 tasks, else by the "
            "cost model");
  EXPECT_THAT(BuildReportText({.tasks = {Measured()}}, Facts()), Not(HasSubstr("submit")));
}

TEST(BuildReportTest, TimesThatAreNotKnownAreNoZeros) {
  const TaskReport unknown{.name = "gemm", .weight = 1};
  EXPECT_THAT(SpeedOf({Estimated(), unknown}), HasSubstr("at least 1.00 ms"));
  EXPECT_EQ(SpeedOf({unknown}), "how fast is not known before it is timed");
  const auto json = BuildReportJson({.tasks = {unknown}});
  EXPECT_TRUE(json["expected_ms"].is_null());
  EXPECT_TRUE(json["expected_by"].is_null());
  EXPECT_TRUE(json["tasks"][0]["estimated_ms"].is_null());
}

TEST(BuildReportTest, SaysWhatARunIsWhereRunsDiffer) {
  BuildReportFacts facts = Facts();
  facts.has_sizes = true;
  facts.target.threads = 1;
  TaskReport looped = Estimated();
  looped.is_looped = true;
  EXPECT_EQ(SpeedOf({looped}, facts),
            "about 1.00 ms a run of the greatest sizes with each loop once on 1 thread of znver4, "
            "by the cost model");
}

TEST(BuildReportTest, ErrorsAndLayersAreSaid) {
  const BuiltModel built{.tasks = {Estimated()},
                         .expected_error = 1e-5,
                         .measured_error = 2e-6,
                         .measured_on = "random inputs",
                         .layers = {{.name = "a", .type = DType::kBf16}, {.name = "b"}}};
  const std::string text = BuildReportText(built, Facts());
  EXPECT_THAT(text, HasSubstr("; error 2.0e-06, measured on random inputs\n"));
  EXPECT_THAT(text, HasSubstr("1 of 2 layers in bf16; in f32: b\n"));
  EXPECT_THAT(BuildReportText({.tasks = {Estimated()}, .expected_error = 1e-5}, Facts()),
              HasSubstr("; error 1.0e-05 expected"));
}

TEST(BuildReportTest, JsonHasTheExpectedTime) {
  const auto json = BuildReportJson({.tasks = {Measured(), Estimated()}});
  EXPECT_DOUBLE_EQ(json["expected_ms"].get<double>(), 7.0);
  EXPECT_EQ(json["expected_by"], "both");
  EXPECT_TRUE(json["tasks"][0]["estimated_ms"].is_null());
  EXPECT_DOUBLE_EQ(json["tasks"][1]["estimated_ms"].get<double>(), 0.5);
  EXPECT_EQ(BuildReportJson({.tasks = {Measured()}})["expected_by"], "measurements");
  EXPECT_EQ(BuildReportJson({.tasks = {Estimated()}})["expected_by"], "cost model");
}

TEST(BuildReportTest, TableHasBothTimes) {
  const std::string table = BuildTableText({.tasks = {Measured(), Estimated()}});
  EXPECT_THAT(table, HasSubstr("2.00 ms"));
  EXPECT_THAT(table, HasSubstr("500 us"));
}

}  // namespace
}  // namespace burnish
