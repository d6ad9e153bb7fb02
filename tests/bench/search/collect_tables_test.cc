#include "tests/bench/search/collect_tables.h"

#include <algorithm>
#include <functional>

#include "base/fake_clock.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/bench/search/test_tables.h"
#include "tuner/measure/fake_measurer.h"

namespace burnish {
namespace {

using ::testing::SizeIs;

class CollectTablesTest : public ::testing::Test {
 protected:
  CollectTablesTest() {
    for (int i = 0; i < 2; ++i) {
      CollectedTask& task = tasks_.emplace_back();
      task.table = EmptyTestTable();
      task.draw = TestDraw({.uniform_max = 20 + 10 * i, .estimated_max = 0, .looked_max = 60});
      for (const DrawnPoint& point : task.draw.points) {
        TableSketch none{.name = "s"};
        while (static_cast<int>(task.table.sketches.size()) <= point.proposal.sketch_index) {
          task.table.sketches.push_back(none);
        }
        task.table.sketches[point.proposal.sketch_index].decisions.resize(
            point.proposal.point.size(), "d");
      }
      task.measure = std::make_shared<MeasureTask>();
    }
    fake_.clock = &clock_;
    fake_.latency_ns = [](const MeasureRequest& request) {
      return int64_t{1000} + static_cast<int64_t>(std::hash<std::string>()(request.trace) % 1000);
    };
    options_ = {.clock = &clock_, .session = "s", .repeated_rows = 3, .in_flight_max = 5};
  }

  absl::Status Collect(FakeMeasurer& measurer) {
    options_.measurer = &measurer;
    return CollectTables(options_, tasks_);
  }

  int RowCount() const {
    return static_cast<int>(tasks_[0].table.rows.size() + tasks_[1].table.rows.size());
  }

  FakeClock clock_;
  FakeMeasurerOptions fake_;
  CollectOptions options_;
  std::vector<CollectedTask> tasks_;
};

TEST_F(CollectTablesTest, EveryPointHasARowAndTheFastestAreMeasuredAgain) {
  FakeMeasurer measurer(fake_);
  ASSERT_THAT(Collect(measurer), IsOk());
  EXPECT_THAT(tasks_[0].table.rows, SizeIs(20));
  EXPECT_THAT(tasks_[1].table.rows, SizeIs(30));
  EXPECT_EQ(measurer.open_count(), 0);
  for (const CollectedTask& task : tasks_) {
    EXPECT_THAT(ParseTable(PrintTable(task.table)), IsOkAndHolds(task.table));
    std::vector<int64_t> repeated, once;
    for (const TableRow& row : task.table.rows) {
      EXPECT_EQ(row.point, task.draw.points[row.index].proposal.point);
      (row.latency_ns.size() == 3 ? repeated : once).push_back(row.rank_ns());
      EXPECT_THAT(row.latency_ns, ::testing::AnyOf(SizeIs(1), SizeIs(3)));
    }
    ASSERT_THAT(repeated, SizeIs(3));
    EXPECT_LE(*std::max_element(repeated.begin(), repeated.end()),
              *std::min_element(once.begin(), once.end()));
  }
}

TEST_F(CollectTablesTest, TablesGrowEvenlyAndARunGoesOnWhereOneEnded) {
  // 24 results of 10 ms, and the tail of what is in flight.
  options_.time_max = absl::Milliseconds(240);
  options_.repeat_share = 0;
  options_.repeated_rows = 0;
  FakeMeasurer first(fake_);
  ASSERT_THAT(Collect(first), IsOk());
  const int count = RowCount();
  EXPECT_GE(count, 24);
  EXPECT_LE(count, 40);
  EXPECT_NEAR(tasks_[0].table.rows.size(), tasks_[1].table.rows.size(), 5);
  options_.time_max = absl::InfiniteDuration();
  options_.session = "t";
  FakeMeasurer second(fake_);
  ASSERT_THAT(Collect(second), IsOk());
  EXPECT_EQ(RowCount(), 50);
  EXPECT_EQ(second.requests().size(), 50 - count);
}

TEST_F(CollectTablesTest, FailuresAreRowsAndLostWorkersAreNot) {
  fake_.failure_share = 0.4;
  FakeMeasurer failing(fake_);
  ASSERT_THAT(Collect(failing), IsOk());
  EXPECT_EQ(RowCount(), 50);
  int failures = 0;
  for (const CollectedTask& task : tasks_) {
    for (const TableRow& row : task.table.rows) {
      failures += row.failure.has_value();
      EXPECT_EQ(row.failure.has_value(), row.latency_ns.empty());
    }
  }
  EXPECT_GT(failures, 5);
  for (CollectedTask& task : tasks_) task.table.rows.clear();
  fake_.failure_share = 0;
  fake_.lost_share = 1;
  options_.session = "u";
  FakeMeasurer losing(fake_);
  ASSERT_THAT(Collect(losing), IsOk());
  EXPECT_EQ(RowCount(), 0);
}

TEST_F(CollectTablesTest, SilenceAndAStopKeepWhatCame) {
  int saved = 0;
  options_.save = [&] {
    ++saved;
    return absl::OkStatus();
  };
  options_.on_progress = [&](const CollectProgress& progress) {
    return progress.measured_count < 10;
  };
  options_.save_every = absl::InfiniteDuration();
  fake_.trial_duration = absl::Seconds(1);
  FakeMeasurer measurer(fake_);
  ASSERT_THAT(Collect(measurer), IsOk());
  EXPECT_GE(RowCount(), 10);
  EXPECT_LT(RowCount(), 50);
  EXPECT_EQ(saved, 1);
  options_.on_progress = [&](const CollectProgress& progress) {
    clock_.Advance(absl::Minutes(1));
    return true;
  };
  options_.session = "v";
  const int count = RowCount();
  FakeMeasurer silent(fake_);
  silent.set_answering(false);
  silent.set_health(absl::UnavailableError("nobody is there"));
  const absl::Status status = Collect(silent);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("nobody is there"));
  EXPECT_EQ(RowCount(), count);
}

}  // namespace
}  // namespace burnish
