#include "tuner/explain/record_comparison.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "compiler/schedule/test_programs.h"
#include "compiler/target/device_model.h"
#include "compiler/target/target.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CompareRecordsTest : public ::testing::Test {
 protected:
  CompareRecordsTest() {
    const auto target = ParseTarget("cpu:arch=znver4,threads=2");
    CHECK_OK(target);
    sketches_ = GenerateSketches(DenseProgram(64, 512, 512), DeviceModelOf(*target));
  }

  Record RecordOf(const Sketch& sketch, const Point& point, int64_t ns) {
    const absl::StatusOr<Trace> trace = Bind(sketch, point);
    CHECK_OK(trace);
    ++count_;
    return {.candidate_id = absl::StrCat("c", count_),
            .trace = PrintTrace(*trace),
            .rank_ns = ns,
            .code_sha256 = absl::StrCat("code", count_),
            .first_trial_id = absl::StrCat("t", count_)};
  }

  std::vector<Sketch> sketches_;
  int count_ = 0;
};

TEST_F(CompareRecordsTest, DecisionThatSetsTheTimeDecidesMost) {
  const Sketch& sketch = sketches_.front();
  ASSERT_GE(sketch.decisions.size(), 2u);
  // By the first decision alone, with a little of nothing in particular.
  std::vector<Record> records;
  for (const Point& point : EnumeratePoints(sketch, 400)) {
    const auto noise = static_cast<int64_t>((count_ * 7919) % 97);
    records.push_back(RecordOf(sketch, point, 100'000 * point[0] + noise));
  }
  ASSERT_GE(records.size(), 20u);
  const RecordComparison comparison = CompareRecords(sketches_, records.front(), records, 3);
  EXPECT_EQ(comparison.structure, sketch.name);
  EXPECT_THAT(comparison.decisions, SizeIs(sketch.decisions.size()));
  EXPECT_EQ(comparison.record_count, static_cast<int64_t>(records.size()));
  EXPECT_THAT(comparison.runners_up, SizeIs(3));
  ASSERT_FALSE(comparison.standings.empty());
  const DecisionStanding& first = comparison.standings.front();
  EXPECT_EQ(first.name, sketch.decisions[0].name);
  EXPECT_GT(first.share, 0.95);
  EXPECT_EQ(first.values.front().value, absl::StrCat(sketch.decisions[0].values.front()));
  EXPECT_DOUBLE_EQ(first.values.front().best_factor, 1);
  for (size_t i = 1; i < comparison.standings.size(); ++i) {
    EXPECT_LT(comparison.standings[i].share, 0.3) << comparison.standings[i].name;
  }
}

TEST_F(CompareRecordsTest, RunnersUpSayWhatIsOtherwise) {
  const Sketch& sketch = sketches_.front();
  const std::vector<Point> points = EnumeratePoints(sketch, 2);
  ASSERT_THAT(points, SizeIs(2));
  const Record subject = RecordOf(sketch, points[0], 100);
  const Record near = RecordOf(sketch, points[1], 125);
  Record twin = RecordOf(sketch, points[1], 110);
  twin.code_sha256 = subject.code_sha256;
  const Record other = RecordOf(sketches_.back(), EnumeratePoints(sketches_.back(), 1)[0], 400);
  Record foreign = other;
  foreign.candidate_id = "foreign";
  foreign.trace = "nobody@1 x->y";
  foreign.rank_ns = 500;
  foreign.code_sha256 = "";
  const RecordComparison comparison =
      CompareRecords(sketches_, subject, {subject, other, foreign, near, twin}, 5);
  // The same code is no runner-up.
  ASSERT_THAT(comparison.runners_up, SizeIs(3));
  EXPECT_DOUBLE_EQ(comparison.runners_up[0].factor, 1.25);
  int changed = 0;
  for (size_t d = 0; d < points[0].size(); ++d) changed += points[0][d] != points[1][d];
  EXPECT_THAT(comparison.runners_up[0].differences, SizeIs(changed));
  EXPECT_EQ(comparison.runners_up[1].differences[0].name, "structure");
  EXPECT_EQ(comparison.runners_up[1].differences[0].here, sketch.name);
  EXPECT_EQ(comparison.runners_up[2].differences[0].there, "unknown");
  // Five records say nothing of any decision.
  EXPECT_THAT(comparison.standings, IsEmpty());
}

TEST_F(CompareRecordsTest, TraceThatNoRuleWritesIsComparedByItsSteps) {
  Record subject{.candidate_id = "a", .trace = "old@1 x->y\nsame@1 z", .rank_ns = 10};
  Record other{.candidate_id = "b", .trace = "same@1 z\nnew@1 x->y", .rank_ns = 20};
  const RecordComparison comparison = CompareRecords(sketches_, subject, {other}, 5);
  EXPECT_EQ(comparison.structure, "");
  ASSERT_THAT(comparison.runners_up, SizeIs(1));
  ASSERT_THAT(comparison.runners_up[0].differences, SizeIs(1));
  EXPECT_EQ(comparison.runners_up[0].differences[0].here, "old@1 x->y");
  EXPECT_EQ(comparison.runners_up[0].differences[0].there, "new@1 x->y");
}

TEST_F(CompareRecordsTest, ChanceExplainsNextToNothing) {
  const Sketch& sketch = sketches_.front();
  std::vector<Record> records;
  uint64_t state = 1;
  for (const Point& point : EnumeratePoints(sketch, 300)) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    records.push_back(RecordOf(sketch, point, 1000 + static_cast<int64_t>(state >> 54)));
  }
  const RecordComparison comparison = CompareRecords(sketches_, records.front(), records, 0);
  for (const DecisionStanding& one : comparison.standings) {
    EXPECT_LT(one.share, 0.1) << one.name;
  }
}

}  // namespace
}  // namespace burnish
