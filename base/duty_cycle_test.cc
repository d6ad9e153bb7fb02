#include "base/duty_cycle.h"

#include <algorithm>
#include <cstdint>
#include <random>

#include "gtest/gtest.h"

namespace burnish {
namespace {

constexpr int64_t kMs = 1'000'000;

struct Work {
  int64_t wall_ns = 0, cpu_ns = 0;
  int starts = 0;
};

// Work that keeps `cpus` busy whenever it may run, looked at every `step_ns`.
Work Simulate(DutyCycle& cycle, double cpus, int64_t duration_ns, int64_t step_ns,
              int64_t begin_ns = 0) {
  Work run;
  bool running = false;
  for (; run.wall_ns < duration_ns; run.wall_ns += step_ns) {
    const bool may_run = cycle.MayRun(begin_ns + run.wall_ns, run.cpu_ns);
    run.starts += may_run && !running;
    running = may_run;
    if (running) run.cpu_ns += static_cast<int64_t>(cpus * static_cast<double>(step_ns));
  }
  return run;
}

TEST(DutyCycleTest, TakesItsShareAndNoMore) {
  for (const double rate : {0.1, 0.2, 1.6}) {
    for (const double cpus : {1.0, 2.0, 16.0}) {
      DutyCycle cycle(rate);
      const Work run = Simulate(cycle, cpus, 100'000 * kMs, kMs);
      const double got = static_cast<double>(run.cpu_ns) / static_cast<double>(run.wall_ns);
      // The last slice may be unpaid, by a look.
      EXPECT_LE(got, std::min(rate, cpus) + 0.01 * rate + cpus * 1e-4) << rate << " " << cpus;
      EXPECT_GE(got, 0.97 * std::min(rate, cpus)) << rate << " " << cpus;
    }
  }
}

TEST(DutyCycleTest, RunsInSlices) {
  DutyCycle cycle(0.2);
  const Work run = Simulate(cycle, 2, 100'000 * kMs, kMs);
  EXPECT_LE(run.starts, 101);
  EXPECT_GE(run.starts, 80);
}

TEST(DutyCycleTest, WhoLooksTakesSomethingToo) {
  DutyCycle cycle(0.2);
  bool ran = false;
  for (int64_t look = 0; look < 200; ++look) ran |= cycle.MayRun(20 * look * kMs, look * kMs / 10);
  EXPECT_TRUE(ran);
}

TEST(DutyCycleTest, SavesNothingUp) {
  DutyCycle cycle(0.2);
  EXPECT_FALSE(cycle.MayRun(0, 0));
  // An hour in which there was no gap.
  EXPECT_TRUE(cycle.MayRun(3'600'000 * kMs, 0));
  EXPECT_FALSE(cycle.MayRun(3'600'001 * kMs, 201 * kMs));
}

// Whichever window is looked at, also one that begins where a pause of calls ends: what was taken
// in it is the rate's, and a slice at most. So of 12 s one may show 10.8 % where 10 are allowed.
TEST(DutyCycleTest, NoWindowHasMoreThanASliceBeyondItsShare) {
  for (const double rate : {0.1, 0.2, 1.0}) {
    std::mt19937 random(7);
    DutyCycle cycle(rate);
    bool held = false;
    double cpu_ns = 0, least = 0, most = 0;
    for (int64_t ms = 0; ms < 200'000; ++ms) {
      if (random() % 2000 == 0) held = !held;  // Pauses of two seconds, and calls beside.
      const bool may_run = cycle.MayRun(ms * kMs, static_cast<int64_t>(cpu_ns));
      if (may_run && !held && random() % 3 != 0) cpu_ns += 2 * kMs;
      const double beyond = cpu_ns - rate * static_cast<double>(ms * kMs);
      least = std::min(least, beyond);
      most = std::max(most, beyond - least);
    }
    EXPECT_LE(most, rate * 1e9 + 3 * kMs) << rate;
    EXPECT_GT(most, rate * 1e9 / 2) << rate;
  }
}

TEST(DutyCycleTest, WhatWasTakenTooMuchIsOwed) {
  DutyCycle cycle(0.1);
  EXPECT_FALSE(cycle.MayRun(0, 0));
  EXPECT_TRUE(cycle.MayRun(1000 * kMs, 0));
  // A second of CPU at once, of a credit of a tenth of it: nine seconds to pay, and one for a
  // slice.
  EXPECT_FALSE(cycle.MayRun(1000 * kMs, 1000 * kMs));
  EXPECT_FALSE(cycle.MayRun(10'990 * kMs, 1000 * kMs));
  EXPECT_TRUE(cycle.MayRun(11'010 * kMs, 1000 * kMs));
}

}  // namespace
}  // namespace burnish
