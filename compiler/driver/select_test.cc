#include "compiler/driver/select.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;

constexpr auto kTuned = ScheduleOrigin::kTuned;
constexpr auto kCompatible = ScheduleOrigin::kCompatible;
constexpr auto kDefault = ScheduleOrigin::kDefault;

KnownSchedule Exact(ScheduleOrigin origin, int64_t latency_ns) {
  return {.trace = "t", .origin = origin, .latency_ns = latency_ns};
}

KnownSchedule Winograd(int64_t latency_ns, double error) {
  return {.trace = "w",
          .origin = kTuned,
          .latency_ns = latency_ns,
          .numerics = {.kind = NumericsClass::kAlgorithm,
                       .algorithm = "winograd",
                       .parameter = 4,
                       .error = error}};
}

TEST(SelectTest, OriginComesBeforeLatency) {
  EXPECT_THAT(Select({{.schedules = {Exact(kDefault, 1), Exact(kCompatible, 5), Exact(kTuned, 9),
                                     Exact(kTuned, 8)}},
                      {.schedules = {Exact(kDefault, 1), Exact(kCompatible, 5)}},
                      {.schedules = {Exact(kDefault, 0), Exact(kDefault, 7)}}}),
              ElementsAre(3, 1, 1));
}

TEST(SelectTest, TaskWithoutSchedulesGetsTheDefaultNest) {
  EXPECT_THAT(Select({{.schedules = {}}}), ElementsAre(-1));
}

TEST(SelectTest, StrictTakesNoWinograd) {
  const TaskChoices task = {.schedules = {Winograd(5, 0), Exact(kTuned, 10)}};
  EXPECT_THAT(Select({task}), ElementsAre(0));
  EXPECT_THAT(Select({task}, {.strict = true}), ElementsAre(1));
  EXPECT_THAT(Select({{.schedules = {Winograd(5, 0)}}}, {.strict = true}), ElementsAre(-1));
}

// sqrt(3) * 1e-6 in all, most of it from the task that is there twice.
TEST(SelectTest, TheTaskThatAddsMostGivesUpItsErrorWhenTheBudgetIsSpent) {
  const std::vector<TaskChoices> tasks = {
      {.weight = 1, .schedules = {Winograd(5, 1e-6), Exact(kTuned, 10)}},
      {.weight = 2, .schedules = {Winograd(5, 1e-6), Winograd(7, 4e-7), Exact(kTuned, 10)}}};
  EXPECT_THAT(Select(tasks, {.error_budget = 4e-6}), ElementsAre(0, 0));
  EXPECT_THAT(Select(tasks, {.error_budget = 1.5e-6}), ElementsAre(0, 1));
  EXPECT_THAT(Select(tasks, {.error_budget = 9e-7}), ElementsAre(1, 1));
  EXPECT_THAT(Select(tasks, {.error_budget = 1e-9}), ElementsAre(1, 2));
}

TEST(SelectTest, ErrorThatNobodyMeasuredCountsByItsClass) {
  EXPECT_EQ(ErrorOf({.kind = NumericsClass::kExact}), 0);
  EXPECT_EQ(ErrorOf({.kind = NumericsClass::kAlgorithm,
                     .algorithm = "winograd",
                     .parameter = 2,
                     .error = 3e-7}),
            3e-7);
  EXPECT_GT(ErrorOf({.kind = NumericsClass::kAlgorithm, .algorithm = "winograd", .parameter = 4}),
            1e-6);
  EXPECT_GT(ErrorOf({.kind = NumericsClass::kLowPrecision}), 1.0);
}

}  // namespace
}  // namespace burnish
