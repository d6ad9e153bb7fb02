#include "tuner/app/study_failures.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

MeasurementEntry Failed(const std::string& trial, FailureKind kind, const std::string& message,
                        const std::string& worker = "") {
  MeasurementEntry entry{.trial_id = trial};
  entry.measurement.outcome = Failure{.kind = kind, .message = message};
  entry.measurement.environment.worker = worker;
  return entry;
}

MeasurementEntry Right(const std::string& trial) {
  MeasurementEntry entry{.trial_id = trial};
  entry.measurement.outcome = Latencies{.processes = {{.latency_ns = {5}}}};
  return entry;
}

TEST(StudyFailuresTest, MessagesThatDifferInNumbersAreOneGroup) {
  FailureGroups groups({});
  groups.Add({Failed("a", FailureKind::kCrashed, "signal 11 at 0x7f3a", "w1"), Right("b"),
              Failed("c", FailureKind::kWrongResult, "element 5 is off by 0.25", "w1"),
              Failed("d", FailureKind::kCrashed, "signal 11 at 0x7f0b", "w2")});
  groups.Add({Failed("e", FailureKind::kWrongResult, "element 17 is off by 3", "w1"),
              Failed("f", FailureKind::kCrashed, "signal 8 at 0x1234", "w1"),
              Failed("g", FailureKind::kCrashed, "killed", "w2")});
  EXPECT_EQ(groups.trial_count(), 7);
  const std::vector<FailureGroup> sorted = groups.Sorted();
  ASSERT_THAT(sorted, SizeIs(3));
  EXPECT_EQ(sorted[0].kind, FailureKind::kCrashed);
  EXPECT_EQ(sorted[0].count, 3);
  EXPECT_EQ(sorted[0].message, "signal 11 at 0x7f3a");
  EXPECT_EQ(sorted[0].trial_id, "a");
  EXPECT_THAT(sorted[0].workers, ElementsAre("w1", "w2"));
  EXPECT_EQ(sorted[1].kind, FailureKind::kWrongResult);
  EXPECT_EQ(sorted[1].count, 2);
  EXPECT_EQ(sorted[2].message, "killed");
}

TEST(StudyFailuresTest, OneTextOfTwoKindsIsTwoGroups) {
  FailureGroups groups({});
  groups.Add(
      {Failed("a", FailureKind::kCrashed, "gone"), Failed("b", FailureKind::kRunTimeout, "gone")});
  EXPECT_THAT(groups.Sorted(), SizeIs(2));
  EXPECT_THAT(groups.Sorted()[0].workers, IsEmpty());
}

TEST(StudyFailuresTest, OnlyTrialsThatCountAreCounted) {
  MeasurementEntry reference = Failed("r", FailureKind::kCrashed, "gone");
  reference.purpose = Purpose::kReference;
  FailureGroups groups({"lifted"});
  groups.Add({reference, Failed("lifted", FailureKind::kPoisoned, "two workers were lost")});
  EXPECT_EQ(groups.trial_count(), 0);
  EXPECT_THAT(groups.Sorted(), IsEmpty());
}

// Workers write them.
TEST(StudyFailuresTest, GroupsAreBounded) {
  FailureGroups groups({});
  for (int i = 0; i < 1000; ++i) {
    const std::string word(1 + static_cast<size_t>(i), 'x');
    groups.Add({Failed(absl::StrCat(i), FailureKind::kRunError, word)});
  }
  const std::vector<FailureGroup> sorted = groups.Sorted();
  EXPECT_THAT(sorted, SizeIs(101));
  EXPECT_EQ(sorted[0].count, 900);
  EXPECT_EQ(groups.trial_count(), 1000);
}

}  // namespace
}  // namespace burnish
