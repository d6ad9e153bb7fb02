#include "tuner/study/near_workloads.h"

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "db/memory/memory_record_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;

std::string TextOf(int rows, absl::string_view factor = "0x1p-3", absl::string_view finish = "") {
  return absl::StrCat("workload/2\ninput b0: f32[", rows, ", 64]\noutput b1: f32[", rows,
                      "]\nblock b1(i0 in ", rows, "; i1 in 64) {\n  init 0x0p+0\n",
                      "  step b1[i0] += (b0[i0, i1] * ", factor, ")\n", finish, "}\n");
}

TEST(ShapeDistanceTest, CountsFactorsBetweenWholeNumbers) {
  EXPECT_EQ(ShapeDistance(TextOf(31), TextOf(31)), 0);
  EXPECT_EQ(ShapeDistance(TextOf(31), TextOf(63)), 3);  // One octave, three times in the text.
  EXPECT_EQ(ShapeDistance(TextOf(127), TextOf(31)), 6);
}

TEST(ShapeDistanceTest, OtherStructuresAreNotNear) {
  EXPECT_LT(ShapeDistance(TextOf(32), TextOf(32, "0x1p-3", "  finish max(self, 0x0p+0)\n")), 0);
  EXPECT_LT(ShapeDistance(TextOf(32), TextOf(32, "0x1p-4")), 0);
  EXPECT_LT(ShapeDistance("b0[i0]", "b1[i0]"), 0);
  EXPECT_LT(ShapeDistance("[4]", "[4, 4]"), 0);
  EXPECT_LT(ShapeDistance("[4]", ""), 0);
}

TEST(NearWorkloadsTest, NearestComesFirstAndOthersDoNotCome) {
  MemoryRecordStore store;
  const Target target = *ParseTarget("cpu:arch=znver3");
  int count = 0;
  const auto record = [&](const std::string& text, const Target& on) {
    MeasurementEntry entry{
        .study_id = "s",
        .trial_id = absl::StrCat(++count),
        .candidate = {.workload = *MakeWorkload(text, text), .target = on, .trace = "t"}};
    entry.measurement.outcome = Latencies{{ProcessLatencies{.latency_ns = {1}}}};
    ASSERT_THAT(store.Append(entry), IsOk());
  };
  record(TextOf(63), target);
  record(TextOf(1023), target);
  record(TextOf(31), target);
  record(TextOf(60, "0x1p-4"), target);
  record(TextOf(62), *ParseTarget("cpu:arch=skylake"));
  const Workload asked = *MakeWorkload(TextOf(63), TextOf(63));
  EXPECT_THAT(NearWorkloads(store, asked, target),
              IsOkAndHolds(ElementsAre(Sha256Bytes(TextOf(31)), Sha256Bytes(TextOf(1023)))));
}

}  // namespace
}  // namespace burnish
