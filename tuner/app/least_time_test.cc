#include "tuner/app/least_time.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "compiler/ir/parser.h"
#include "gtest/gtest.h"
#include "tuner/study/result_guard.h"

namespace burnish {
namespace {

struct Task {
  std::string name;
  std::string text;
  double flops = 0;
  double bytes = 0;
};

std::vector<Task> Tasks() {
  const std::string x = " input X: f32[256, 256] ";
  return {
      {"product",
       "program/1 p" + x +
           "const W: f32[256, 256] output Y: f32[256, 256] "
           "block Y(m in 256, n in 256; k in 256) { step Y[m, n] += X[m, k] * W[k, n] }",
       2.0 * 256 * 256 * 256, 3.0 * 256 * 256 * 4},
      {"transpose",
       "program/1 p" + x +
           "output Y: f32[256, 256] block Y(i in 256, j in 256) { step Y[i, j] = X[j, i] }",
       0, 2.0 * 256 * 256 * 4},
      // Of which nearly nothing is read.
      {"slice", "program/1 p" + x + "output Y: f32[2] block Y(i in 2) { step Y[i] = X[7, i] }", 0,
       16},
      {"one", "program/1 p input X: f32[1] output Y: f32[1] block Y(i in 1) { step Y[i] = X[i] }",
       0, 8}};
}

// Four cores that do 90 G operations a second each, and read 30 GB/s from memory together: what an
// honest worker of them says is 80 % of the one, or 300 GB/s of a cache.
constexpr double kGops = 90;
std::optional<CalibrationRow> RowOf(double gops) {
  return CalibrationRow{.threads = 4,
                        .clock_ghz = 3,
                        .units = {{"fma_f32x8", gops, gops}},
                        .levels = {{"memory", 12, 30, 90}}};
}
int64_t HonestNs(const Task& task) {
  return static_cast<int64_t>(std::max({20.0, task.flops / (0.8 * kGops * 4), task.bytes / 300}));
}

Measurement Said(const std::string& worker, int64_t ns) {
  return {.outcome = Latencies{{{.latency_ns = {ns}}}}, .environment = {.worker = worker}};
}

// Each kind of task, by whatever row is at hand: an honest worker is never doubted, and what no
// machine can do is never taken.
TEST(LeastTimeTest, NoRowMakesAnHonestWorkerALiarOrALieTrue) {
  ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget("cpu:arch=znver3,threads=4"));
  const std::vector<std::optional<CalibrationRow>> rows = {
      std::nullopt, RowOf(kGops), RowOf(0.02), RowOf(1e6), RowOf(kGops / 2.5), RowOf(kGops * 8)};
  for (const Task& task : Tasks()) {
    ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(task.text));
    for (size_t r = 0; r < rows.size(); ++r) {
      const auto least = [&](const std::string&) {
        return LeastTimesOf(target, program, /*saving_max=*/1, rows[r]);
      };
      const GuardQuestion question = {.least = least, .incumbent_ns = 0};
      SCOPED_TRACE(task.name + ", row " + std::to_string(r));
      for (const int64_t ns : {HonestNs(task), 10 * HonestNs(task), int64_t{3'600'000'000'000}}) {
        const GuardAnswer answer = JudgeAttempts({Said("a", ns)}, question);
        EXPECT_TRUE(answer.taken.has_value()) << ns;
        EXPECT_TRUE(JudgeAttempts({Said("a", ns), Said("b", 2 * ns)}, question).liars.empty());
      }
      const std::vector<Measurement> lies = {Said("a", 1), Said("b", 1), Said("c", 1)};
      EXPECT_FALSE(JudgeAttempts({lies[0]}, question).taken.has_value());
      EXPECT_FALSE(JudgeAttempts({lies[0], lies[1]}, question).taken.has_value());
      const GuardAnswer last = JudgeAttempts(lies, question);
      ASSERT_TRUE(last.taken.has_value());
      EXPECT_NE(last.taken->failure(), nullptr);
      EXPECT_EQ(JudgeAttempts({lies[0], Said("b", HonestNs(task))}, question).liars,
                std::vector<std::string>{"a"});
    }
  }
}

TEST(LeastTimeTest, OwnRowBindsMoreThanTheTableWhereItCanBe) {
  ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget("cpu:arch=znver3,threads=4"));
  const Task task = Tasks()[0];
  ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(task.text));
  const LeastTimes table = LeastTimesOf(target, program, 1, std::nullopt);
  EXPECT_EQ(table.of_any_ns, table.of_worker_ns);
  const LeastTimes own = LeastTimesOf(target, program, 1, RowOf(kGops));
  EXPECT_EQ(own.of_any_ns, table.of_any_ns);
  EXPECT_NEAR(static_cast<double>(own.of_worker_ns), task.flops / (kGops * 4), 1);
  EXPECT_GT(own.of_worker_ns, own.of_any_ns);
  // An algorithm with fewer operations.
  EXPECT_LT(LeastTimesOf(target, program, 2.25, RowOf(kGops)).of_worker_ns, own.of_worker_ns);
}

}  // namespace
}  // namespace burnish
