#include "tuner/app/machine_checks.h"

#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/own_user.h"
#include "base/sandbox.h"
#include "base/status_matchers.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

// A /proc or /sys with the files that a test writes.
class MachineChecksTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_->path() + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    ASSERT_THAT(WriteFileAtomically(path.string(), text), IsOk());
  }

  absl::StatusOr<TempDir> folder_ = TempDir::Create("machine");
  MachineRoots roots_{.proc = folder_->path(), .sys = folder_->path()};
};

TEST_F(MachineChecksTest, APowersavingGovernorGetsItsCure) {
  Write("devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  const MachineCheck check = CheckGovernor(roots_);
  EXPECT_EQ(check.result, CheckResult::kWarning);
  EXPECT_EQ(check.detail, "powersave");
  EXPECT_THAT(check.cure, HasSubstr("cpupower"));
  Write("devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  EXPECT_EQ(CheckGovernor(roots_).result, CheckResult::kOk);
}

TEST_F(MachineChecksTest, HugePagesThatAreOffAreAWarning) {
  Write("kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  EXPECT_EQ(CheckHugePages(roots_).result, CheckResult::kWarning);
  Write("kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  EXPECT_EQ(CheckHugePages(roots_).result, CheckResult::kOk);
}

TEST_F(MachineChecksTest, LittleMemoryIsAWarning) {
  Write("meminfo", "MemTotal: 8000000 kB\nMemAvailable: 1048576 kB\n");
  const MachineCheck check = CheckMemory(roots_);
  EXPECT_EQ(check.result, CheckResult::kWarning);
  EXPECT_EQ(check.detail, "1.0 GiB available");
}

TEST(SandboxCheckTest, WhatTheKernelLacksIsNamedWithItsCure) {
  const std::string missing = FindSandboxSupport().Missing();
  const MachineCheck check = CheckSandbox();
  const bool is_whole = missing.empty() && MayBecomeOwnUser();
  EXPECT_EQ(check.result, is_whole ? CheckResult::kOk : CheckResult::kWarning);
  EXPECT_THAT(check.detail, HasSubstr(missing.empty() ? "seccomp and Landlock" : missing));
  EXPECT_EQ(check.cure.empty(), is_whole);
}

TEST(JudgeInterferenceTest, BusyAndStolenTimeAreToldApart) {
  const std::string before = "cpu  100 0 100 1000 0 0 0 0 0 0\ncpu0 1 2 3";
  const MachineCheck quiet = JudgeInterference(before, "cpu  101 0 100 1099 0 0 0 0 0 0\n");
  EXPECT_EQ(quiet.result, CheckResult::kOk);
  EXPECT_EQ(quiet.detail, "1 % busy, 0.0 % stolen");
  const MachineCheck busy = JudgeInterference(before, "cpu  150 0 100 1050 0 0 0 0 0 0\n");
  EXPECT_EQ(busy.result, CheckResult::kWarning);
  EXPECT_EQ(busy.detail, "50 % busy, 0.0 % stolen");
  const MachineCheck stolen = JudgeInterference(before, "cpu  100 0 100 1095 0 0 0 5 0 0\n");
  EXPECT_EQ(stolen.result, CheckResult::kWarning);
  EXPECT_EQ(stolen.detail, "0 % busy, 5.0 % stolen");
  EXPECT_EQ(JudgeInterference("", "").detail, "not known");
}

}  // namespace
}  // namespace burnish
