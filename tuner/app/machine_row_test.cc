#include "tuner/app/machine_row.h"

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/app/error.h"
#include "tuner/app/farm_client.h"
#include "tuner/app/target_text.h"

namespace burnish {
namespace {

CalibrationRow Row(double ghz) {
  return {.threads = 1, .clock_ghz = ghz, .levels = {{"memory", 12, 12, 90}}};
}

class MachineRowTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(TempDir folder, TempDir::Create("machine-row"));
    folder_ = std::make_unique<TempDir>(std::move(folder));
    ASSERT_THAT(
        WriteFileAtomically(Path("calibrator"), absl::StrCat("#!/bin/sh\ncat ", Path("row"), "\n")),
        IsOk());
    ASSERT_EQ(chmod(Path("calibrator").c_str(), 0700), 0);
    ASSERT_THAT(WriteFileAtomically(Path("row"), ToText(Row(3))), IsOk());
    ASSERT_OK_AND_ASSIGN(host_, ResolveTarget("host", 0));
  }

  std::string Path(absl::string_view name) const {
    return absl::StrCat(folder_->path(), "/", name);
  }
  MachineRowOptions Options(const std::string& calibration) const {
    return {.calibration = calibration,
            .host = {.folder = Path("rows"), .program = Path("calibrator")}};
  }
  // The clock of the row that is found; 0: the table.
  double FoundGhz(const MachineRowOptions& options, const Target& target) const {
    const absl::StatusOr<MachineRow> found = FindMachineRow(options, target);
    EXPECT_THAT(found, IsOk());
    if (!found.ok() || !found->row.has_value()) return 0;
    return found->row->clock_ghz;
  }
  Target Foreign() const {
    Target target = host_;
    target.l2.size_bytes *= 2;
    return target;
  }

  std::unique_ptr<TempDir> folder_;
  Target host_;
};

TEST_F(MachineRowTest, ThisMachinesRowHoldsForWhatItCouldBe) {
  MachineRowOptions only_kept = Options("auto");
  only_kept.may_measure = false;
  EXPECT_EQ(FoundGhz(only_kept, host_), 0);
  EXPECT_EQ(FoundGhz(Options("auto"), host_), 3);
  EXPECT_EQ(FoundGhz(only_kept, host_), 3);
  Target less = host_;
  less.threads = 1;
  less.features.clear();
  EXPECT_EQ(FoundGhz(Options("auto"), less), 3);
  EXPECT_EQ(FoundGhz(Options("auto"), Foreign()), 0);
  Target more = host_;
  more.features.push_back("quantum");
  EXPECT_EQ(FoundGhz(Options("auto"), more), 0);
  EXPECT_EQ(FoundGhz(Options("table"), host_), 0);
}

TEST_F(MachineRowTest, ARowThatIsNamedHoldsForAnyTarget) {
  ASSERT_THAT(WriteFileAtomically(Path("pinned"), ToText(Row(2))), IsOk());
  EXPECT_EQ(FoundGhz(Options(Path("pinned")), host_), 2);
  EXPECT_EQ(FoundGhz(Options(Path("pinned")), Foreign()), 2);
  EXPECT_EQ(ErrorCodeOf(FindMachineRow(Options(Path("absent")), host_).status()),
            ErrorCode::kSettings);
  EXPECT_EQ(ErrorCodeOf(FindMachineRow(Options(Path("calibrator")), host_).status()),
            ErrorCode::kSettings);
}

TEST_F(MachineRowTest, WhatCannotBeMeasuredIsARemarkAndTheTable) {
  MachineRowOptions options = Options("auto");
  options.host.program = Path("absent");
  ASSERT_OK_AND_ASSIGN(const MachineRow none, FindMachineRow(options, host_));
  EXPECT_EQ(none.row, std::nullopt);
  EXPECT_FALSE(none.trouble.ok());
  options = Options("auto");
  options.tracker = absl::StrCat("unix:", Path("no-tracker"));
  ASSERT_OK_AND_ASSIGN(const MachineRow away, FindMachineRow(options, host_));
  EXPECT_EQ(away.row, std::nullopt);
  EXPECT_EQ(ErrorCodeOf(away.trouble), ErrorCode::kTrackerUnreachable);
}

FarmWorker Worker(const std::string& id, const std::string& kind, const std::string& device_key,
                  std::optional<CalibrationRow> row) {
  return {.id = id,
          .state = "alive",
          .slots = {{.kind = kind, .device_keys = {device_key}}},
          .calibration = std::move(row)};
}

TEST(FarmRowTest, FirstWorkersRowHoldsAndOthersDeviate) {
  std::vector<FarmWorker> workers = {
      Worker("a", "run", "cpu-x", std::nullopt), Worker("b", "build", "cpu-x", Row(9)),
      Worker("c", "run", "cpu-y", Row(2)), Worker("d", "run", "cpu-x", Row(3)),
      Worker("e", "run", "cpu-x", Row(2.7))};
  EXPECT_EQ(FirstWithRow(workers, "cpu-x"), &workers[3]);
  EXPECT_EQ(FirstWithRow(workers, "cpu-y"), &workers[2]);
  EXPECT_EQ(FirstWithRow(workers, "cpu-z"), nullptr);
  EXPECT_EQ(RowDeviation(workers, workers[0]), std::nullopt);
  EXPECT_EQ(RowDeviation(workers, workers[1]), std::nullopt);
  EXPECT_EQ(RowDeviation(workers, workers[3]), 0);
  EXPECT_NEAR(RowDeviation(workers, workers[4]).value_or(-1), 0.1, 1e-9);
  workers[3].state = "lost";
  EXPECT_EQ(FirstWithRow(workers, "cpu-x"), &workers[4]);
  EXPECT_EQ(RowDeviation(workers, workers[4]), 0);
}

}  // namespace
}  // namespace burnish
