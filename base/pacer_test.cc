#include <signal.h>
#include <time.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/child.h"
#include "base/file.h"
#include "base/pace_page.h"
#include "base/self_path.h"
#include "base/status_matchers.h"
#include "base/subprocess.h"
#include "base/usable_cpus.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Seconds(20);

// A field of /proc/PID/stat, numbered as there from 1; empty: no such process.
std::string Stat(int process, size_t field) {
  const absl::StatusOr<std::string> text = ReadFile(absl::StrCat("/proc/", process, "/stat"), 4096);
  if (!text.ok()) return "";
  const std::vector<std::string> fields = absl::StrSplit(text->substr(text->rfind(')') + 2), ' ');
  return fields.at(field - 3);
}

bool IsAlive(int process) {
  const std::string state = Stat(process, 3);
  return !state.empty() && state != "Z";
}

bool Within(absl::Duration limit, const std::function<bool()>& condition) {
  for (const absl::Time end = absl::Now() + limit; absl::Now() < end;) {
    if (condition()) return true;
    absl::SleepFor(absl::Milliseconds(2));
  }
  return condition();
}

class PacerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(TempDir folder, TempDir::Create("pacer"));
    folder_ = std::make_unique<TempDir>(std::move(folder));
    path_ = folder_->path() + "/page";
    ASSERT_THAT(WriteFileAtomically(path_, std::string(sizeof(PacePage), '\0')), IsOk());
    page_ = MapPacePage(path_.c_str(), true);
    ASSERT_NE(page_, nullptr);
    ASSERT_OK_AND_ASSIGN(launcher_, FindProgram("base/burnish-launcher"));
  }

  std::vector<std::string> Arguments(const std::string& script, int percent) const {
    return {"--pace=" + path_, absl::StrCat("--share=", percent), "--", "/bin/sh", "-c", script};
  }

  // A shell whose script writes lines with process ids.
  std::unique_ptr<Child> Start(const std::string& script, int percent = 100) {
    auto child = Child::Start({.program = launcher_, .args = Arguments(script, percent)});
    EXPECT_THAT(child, IsOk());
    return child.ok() ? *std::move(child) : nullptr;
  }

  int ReadNumber(Child& child) {
    int number = 0;
    const absl::StatusOr<std::string> line = child.ReadLine(kLong);
    EXPECT_TRUE(line.ok() && absl::SimpleAtoi(*line, &number)) << line.status();
    return number;
  }

  std::unique_ptr<TempDir> folder_;
  std::string path_, launcher_;
  PacePage* page_ = nullptr;
};

TEST_F(PacerTest, TakesItsShareOfTheCpus) {
  // Grandchildren that end again and again, and one process for each CPU that does not.
  const std::string script =
      "for i in 1 2 3 4; do (while :; do :; done) & done;"
      "while :; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; done";
  const auto child = Start(script, /*percent=*/10);
  ASSERT_NE(child, nullptr);
  absl::SleepFor(absl::Seconds(6));
  child->Kill(SIGTERM);
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit, child->Wait(kLong));
  const double wall_s = absl::ToDoubleSeconds(exit.wall_time);
  const double rate = 0.1 * UsableCpuCount();
  // By the kernel's count of all that was waited for. Beside the share: what ends and begins
  // between two looks, and the last slice.
  EXPECT_LE(absl::ToDoubleSeconds(exit.cpu_time), rate * wall_s * 1.15 + 0.1);
  // What the page says is what the kernel has counted.
  EXPECT_NEAR(static_cast<double>(page_->cpu_ns.load()) / 1e9, absl::ToDoubleSeconds(exit.cpu_time),
              0.15 + 0.1 * rate * wall_s);
  EXPECT_GT(page_->stopped_ns.load(), 1'000'000'000);
  // Something; how much is up to other people's work, which goes before it.
  EXPECT_GT(exit.cpu_time, absl::ZeroDuration());
}

TEST_F(PacerTest, StandsStillWhileACallRuns) {
  const auto child = Start("(while :; do :; done) & echo $!; echo $$; wait");
  ASSERT_NE(child, nullptr);
  const int loop = ReadNumber(*child), shell = ReadNumber(*child);
  // A pacer begins with a stop, which may be under way: the count is even once it is over.
  const auto has_begun = [&] { return page_->stops.load() >= 2 && page_->stops.load() % 2 == 0; };
  ASSERT_TRUE(Within(kLong, [&] { return Stat(loop, 3) == "R" && has_begun(); }));
  for (int call = 0; call < 3; ++call) {
    const uint32_t stops = page_->stops.load();  // Read first: the pacer may see a call at once.
    page_->begun.fetch_add(1);
    page_->running.store(1);
    ASSERT_TRUE(Within(kLong, [&] { return Stat(loop, 3) == "T" && Stat(shell, 3) == "T"; }));
    EXPECT_GT(page_->stops.load(), stops);
    page_->running.store(0);
    ASSERT_TRUE(Within(kLong, [&] { return Stat(loop, 3) == "R" && Stat(shell, 3) != "T"; }));
  }
  // Asked to end, a pacer ends all; killed, its program alone.
  child->Kill(SIGTERM);
  ASSERT_THAT(child->Wait(kLong), IsOk());
  EXPECT_FALSE(IsAlive(loop));
}

TEST_F(PacerTest, WhoWasStoppedByItsParentStaysSo) {
  const auto child = Start(
      "(while :; do :; done) & kill -STOP $!; echo $!; (while :; do :; done) & echo $!; wait");
  ASSERT_NE(child, nullptr);
  const int stopped = ReadNumber(*child), loop = ReadNumber(*child);
  ASSERT_TRUE(Within(kLong, [&] { return Stat(stopped, 3) == "T" && Stat(loop, 3) == "R"; }));
  page_->begun.store(1);
  page_->running.store(1);
  ASSERT_TRUE(Within(kLong, [&] { return Stat(loop, 3) == "T"; }));
  page_->running.store(0);
  ASSERT_TRUE(Within(kLong, [&] { return Stat(loop, 3) == "R"; }));
  EXPECT_EQ(Stat(stopped, 3), "T");
  child->Kill(SIGTERM);
  ASSERT_THAT(child->Wait(kLong), IsOk());
  EXPECT_FALSE(IsAlive(loop) || IsAlive(stopped));
}

TEST_F(PacerTest, RunsAtIdlePriorityWithThePageInItsEnvironment) {
  const auto child = Start("echo $$; echo $BURNISH_PACE; exec sleep 1000");
  ASSERT_NE(child, nullptr);
  const int shell = ReadNumber(*child);
  EXPECT_THAT(child->ReadLine(kLong), IsOkAndHolds(path_));
  EXPECT_EQ(Stat(shell, 41), "5");  // SCHED_IDLE, in the kernel's numbers.
}

TEST_F(PacerTest, EndsAsItsProgramDoes) {
  ASSERT_OK_AND_ASSIGN(ExitInfo exit,
                       RunSubprocess({.program = launcher_, .args = Arguments("exit 7", 100)}));
  EXPECT_EQ(exit.exit_code, 7);
  ASSERT_OK_AND_ASSIGN(
      exit, RunSubprocess({.program = launcher_, .args = Arguments("kill -SEGV $$", 100)}));
  EXPECT_EQ(exit.signal, SIGSEGV);
  ASSERT_OK_AND_ASSIGN(
      exit,
      RunSubprocess({.program = launcher_, .args = {"--pace=" + path_, "--", "/no/such/program"}}));
  EXPECT_EQ(exit.exit_code, 127);
}

TEST_F(PacerTest, ASignalIsPassedOnAlsoToWhatStandsStill) {
  // Without children: a shell that waits in vfork for one that stands still has another state.
  const auto child = Start("trap 'echo soft; exit 3' INT; echo $$; while :; do :; done");
  ASSERT_NE(child, nullptr);
  const int shell = ReadNumber(*child);
  page_->begun.store(1);
  page_->running.store(1);  // And never ends.
  ASSERT_TRUE(Within(kLong, [&] { return Stat(shell, 3) == "T"; }));
  ASSERT_EQ(kill(child->pid(), SIGINT), 0);
  EXPECT_THAT(child->ReadLine(kLong), IsOkAndHolds("soft"));
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit, child->Wait(kLong));
  EXPECT_EQ(exit.exit_code, 3);
}

TEST_F(PacerTest, LeavesNobodyBehind) {
  // A grandchild in a process group of its own, whose parent is gone.
  const std::string seen = folder_->path() + "/seen";
  const auto child = Start(absl::StrCat("setsid sh -c 'echo $$; exec sleep 1000' & until [ -e ",
                                        seen, " ]; do sleep 0.01; done; exit 0"));
  ASSERT_NE(child, nullptr);
  const int orphan = ReadNumber(*child);
  ASSERT_THAT(WriteFileAtomically(seen, ""), IsOk());
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit, child->Wait(kLong));
  EXPECT_EQ(exit.exit_code, 0);
  EXPECT_FALSE(IsAlive(orphan));
}

TEST_F(PacerTest, ItsDeathIsThatOfWhatStandsStill) {
  const auto child = Start("echo $$; while :; do :; done");
  ASSERT_NE(child, nullptr);
  const int shell = ReadNumber(*child);
  page_->begun.store(1);
  page_->running.store(1);
  ASSERT_TRUE(Within(kLong, [&] { return Stat(shell, 3) == "T"; }));
  ASSERT_EQ(kill(child->pid(), SIGKILL), 0);  // The pacer alone.
  EXPECT_TRUE(Within(kLong, [&] { return !IsAlive(shell); }));
}

TEST_F(PacerTest, WhatItCannotDoIsSaidAndNothingRuns) {
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
           {"--pace=/no/such/page", "--", "/bin/echo", "ran"},
           {"--pace=" + path_, "--share=0", "--", "/bin/echo", "ran"},
           {"--pace=" + path_, "--share=101", "--", "/bin/echo", "ran"}}) {
    ASSERT_OK_AND_ASSIGN(const ExitInfo exit, RunSubprocess({.program = launcher_, .args = args}));
    EXPECT_EQ(exit.exit_code, 127) << args.at(0);
    EXPECT_EQ(exit.stdout_bytes, "") << args.at(0);
    EXPECT_THAT(exit.stderr_bytes, HasSubstr("burnish-launcher: ")) << args.at(0);
  }
}

}  // namespace
}  // namespace burnish
