#include "proto/host_calibration.h"

#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;

CalibrationRow Row(double ghz = 3) {
  return {.threads = 1,
          .clock_ghz = ghz,
          .units = {{"fma_f32x8", 96, 90}},
          .levels = {{"L1", 190, 190, 1.3}, {"memory", 12, 12, 90}}};
}

// The calibrator is a script that says what the test wants, and how often it was asked.
class HostCalibrationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(TempDir folder, TempDir::Create("calibration"));
    folder_ = std::make_unique<TempDir>(std::move(folder));
    Says(ToText(Row()));
  }

  std::string Path(absl::string_view name) const {
    return absl::StrCat(folder_->path(), "/", name);
  }

  // `script`: what the calibrator does after it has counted itself.
  void Does(absl::string_view script) {
    ASSERT_THAT(
        WriteFileAtomically(Path("calibrator"), absl::StrCat("#!/bin/sh\necho run >> ",
                                                             Path("runs"), "\n", script, "\n")),
        IsOk());
    ASSERT_EQ(chmod(Path("calibrator").c_str(), 0700), 0);
  }
  void Says(absl::string_view text) {
    ASSERT_THAT(WriteFileAtomically(Path("output"), text), IsOk());
    Does(absl::StrCat("cat ", Path("output")));
  }
  int64_t Runs() const {
    const absl::StatusOr<std::string> runs = ReadFile(Path("runs"), 1 << 10);
    return runs.ok() ? std::count(runs->begin(), runs->end(), '\n') : 0;
  }

  HostCalibration Host(const std::string& boot_id = "one", const std::string& machine = "m") const {
    return HostCalibration({.folder = Path("cache/rows"),
                            .program = Path("calibrator"),
                            .machine = machine,
                            .boot_id = boot_id});
  }

  std::unique_ptr<TempDir> folder_;
};

TEST_F(HostCalibrationTest, MeasuresOnceABoot) {
  EXPECT_THAT(Host().Find(), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK_AND_ASSIGN(const CalibrationRow row, Host().Get());
  EXPECT_EQ(row.clock_ghz, 3);
  EXPECT_EQ(row.machine, "m");
  EXPECT_EQ(row.boot_id, "one");
  EXPECT_GT(row.measured_at_ns, 0);
  EXPECT_THAT(Host().Get(), IsOkAndHolds(row));
  EXPECT_THAT(Host().Find(), IsOkAndHolds(row));
  EXPECT_EQ(Runs(), 1);
  // Another machine of the same home folder has its own.
  EXPECT_THAT(Host("one", "n").Get(), IsOk());
  EXPECT_EQ(Runs(), 2);
  EXPECT_THAT(Host().Find(), IsOkAndHolds(row));
}

TEST_F(HostCalibrationTest, AnotherBootConfirmsTheRowUnlessItDrifted) {
  ASSERT_OK_AND_ASSIGN(CalibrationRow first, Host("one").Get());
  Says(ToText(Row(3.2)));  // 6 %
  ASSERT_OK_AND_ASSIGN(const CalibrationRow second, Host("two").Get());
  first.boot_id = "two";
  EXPECT_EQ(second, first);
  EXPECT_EQ(Runs(), 2);
  Says(ToText(Row(3.4)));  // 12 %
  ASSERT_OK_AND_ASSIGN(const CalibrationRow third, Host("three").Get());
  EXPECT_EQ(third.clock_ghz, 3.4);
  EXPECT_EQ(Runs(), 3);
}

TEST_F(HostCalibrationTest, RecalibrationShowsWhatItReplaces) {
  ASSERT_OK_AND_ASSIGN(const Recalibration first, Host().Recalibrate());
  EXPECT_EQ(first.before, std::nullopt);
  EXPECT_EQ(first.kept, first.measured);
  Says(ToText(Row(3.15)));
  ASSERT_OK_AND_ASSIGN(const Recalibration near, Host().Recalibrate());
  EXPECT_THAT(near.before, Optional(Eq(first.kept)));
  EXPECT_EQ(near.measured.clock_ghz, 3.15);
  EXPECT_EQ(near.kept, first.kept);
  EXPECT_NEAR(near.drift, 0.15 / 3.15, 1e-9);
  Says(ToText(Row(4)));
  ASSERT_OK_AND_ASSIGN(const Recalibration far, Host().Recalibrate());
  EXPECT_EQ(far.kept, far.measured);
  EXPECT_THAT(Host().Find(), IsOkAndHolds(far.measured));
}

TEST_F(HostCalibrationTest, OfSeveralThatFindNoRowOneMeasures) {
  std::vector<absl::StatusOr<CalibrationRow>> rows(8);
  std::vector<std::thread> threads;
  for (auto& row : rows) {
    threads.emplace_back([&] { row = Host().Get(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& row : rows) EXPECT_THAT(row, IsOkAndHolds(*rows.front()));
  EXPECT_EQ(Runs(), 1);
}

TEST_F(HostCalibrationTest, DamagedRowIsMeasuredAgain) {
  ASSERT_OK_AND_ASSIGN(const CalibrationRow row, Host().Get());
  for (const std::string& text :
       {std::string("levels {"), std::string(70'000, 'x'),
        absl::StrReplaceAll(ToText(row), {{"version: 1", "version: 9"}}),
        absl::StrReplaceAll(ToText(row), {{"machine: \"m\"", "machine: \"n\""}})}) {
    const int64_t runs = Runs();
    ASSERT_THAT(WriteFileAtomically(Host().path(), text), IsOk());
    EXPECT_THAT(Host().Find(), StatusIs(absl::StatusCode::kNotFound)) << text;
    EXPECT_THAT(Host().Get(), IsOk()) << text;
    EXPECT_EQ(Runs(), runs + 1) << text;
  }
}

TEST_F(HostCalibrationTest, CalibratorThatFailsOrLiesLeavesNoRow) {
  Does("echo too much else runs here >&2; exit 75");
  EXPECT_THAT(Host().Get(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("too much else")));
  for (const std::string& lie : {std::string(), std::string("no row"), std::string(100'000, '{'),
                                 ToText(Row(-3)), ToText(Row(1e9))}) {
    Says(lie);
    EXPECT_THAT(Host().Get(), StatusIs(absl::StatusCode::kUnavailable)) << lie;
  }
  EXPECT_THAT(Host().Find(), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(HostCalibration({.folder = Path("cache"), .program = Path("nothing")}).Get(),
              ::testing::Not(IsOk()));
}

TEST_F(HostCalibrationTest, WithoutAFolderEachGetMeasures) {
  const HostCalibration host({.program = Path("calibrator")});
  EXPECT_THAT(host.Get(), IsOk());
  EXPECT_THAT(host.Get(), IsOk());
  EXPECT_EQ(Runs(), 2);
  EXPECT_THAT(host.Find(), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(host.path(), "");
}

TEST_F(HostCalibrationTest, ChoiceIsTheHostsRowTheTableOrAFile) {
  EXPECT_THAT(ChooseCalibration("table", Host()), IsOkAndHolds(std::nullopt));
  EXPECT_EQ(Runs(), 0);
  ASSERT_OK_AND_ASSIGN(const auto row, ChooseCalibration("auto", Host()));
  EXPECT_THAT(Host().Find(), IsOkAndHolds(*row));
  CalibrationRow other = Row(2.5);
  other.machine = "elsewhere";
  ASSERT_THAT(WriteFileAtomically(Path("pinned"), ToText(other)), IsOk());
  EXPECT_THAT(ChooseCalibration(Path("pinned"), Host()), IsOkAndHolds(Optional(Eq(other))));
  EXPECT_THAT(ChooseCalibration(Path("absent"), Host()), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(ChooseCalibration(Path("calibrator"), Host()),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(CalibrationFolderTest, LiesInTheCache) {
  const auto getenv = [](const char* name) -> const char* {
    return std::string(name) == "HOME" ? "/home/me" : nullptr;
  };
  EXPECT_EQ(CalibrationFolder(getenv), "/home/me/.cache/burnish/calibration");
  EXPECT_EQ(CalibrationFolder([](const char*) -> const char* { return nullptr; }), "");
}

}  // namespace
}  // namespace burnish
