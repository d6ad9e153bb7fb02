#include "tuner/app/compare_studies.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "proto/measurement.h"
#include "proto/record.h"

namespace burnish {
namespace {

// `latency_ns` 0: a trial that failed.
MeasurementEntry Trial(const std::string& workload, int64_t latency_ns) {
  MeasurementEntry entry;
  entry.candidate.workload.id = workload;
  if (latency_ns > 0) {
    entry.measurement.outcome = Latencies{.processes = {{.latency_ns = {latency_ns}}}};
  } else {
    entry.measurement.outcome = Failure{.kind = FailureKind::kCrashed};
  }
  return entry;
}

TEST(CompareStudiesTest, CurveFallsWhereATrialIsBetter) {
  TaskCurves curves;
  curves.Add({Trial("a", 0), Trial("a", 50), Trial("b", 7), Trial("a", 60), Trial("a", 40)});
  curves.Add({Trial("a", 40), Trial("a", 20)});
  const TaskCurve& curve = curves.Of("a");
  EXPECT_EQ(curve.trial_count, 6);
  EXPECT_EQ(curve.best_ns(), 20);
  EXPECT_EQ(curve.steps.size(), 3);
  EXPECT_EQ(curve.TrialsTo(100), 2);  // The first has failed.
  EXPECT_EQ(curve.TrialsTo(50), 2);
  EXPECT_EQ(curve.TrialsTo(49), 4);
  EXPECT_EQ(curve.TrialsTo(20), 6);
  EXPECT_EQ(curve.TrialsTo(19), 0);
  EXPECT_EQ(curves.Of("b").best_ns(), 7);
}

TEST(CompareStudiesTest, OnlyTrialsCount) {
  MeasurementEntry reference = Trial("a", 5);
  reference.purpose = Purpose::kReference;
  TaskCurves curves;
  curves.Add({reference, Trial("a", 9)});
  EXPECT_EQ(curves.Of("a").best_ns(), 9);
  EXPECT_EQ(curves.Of("a").trial_count, 1);
}

TEST(CompareStudiesTest, TaskWithoutTrialsHasNoBest) {
  EXPECT_EQ(TaskCurves().Of("nobody").best_ns(), 0);
  EXPECT_EQ(TaskCurves().Of("nobody").TrialsTo(1), 0);
}

}  // namespace
}  // namespace burnish
