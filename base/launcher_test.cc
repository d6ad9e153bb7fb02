#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/child.h"
#include "base/cpu_info.h"
#include "base/self_path.h"
#include "base/status_matchers.h"
#include "base/subprocess.h"
#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Seconds(60);

std::string Output(const std::string& script, const ChildLimits& limits) {
  const absl::StatusOr<ExitInfo> exit =
      RunSubprocess({.program = "/bin/sh", .args = {"-c", script}, .limits = limits});
  EXPECT_THAT(exit, IsOk());
  return exit.ok() ? exit->stdout_bytes + exit->stderr_bytes : "";
}

// The launcher's own answer to flags that the library never gives it.
ExitInfo Launch(const std::vector<std::string>& args) {
  const absl::StatusOr<std::string> launcher = FindProgram("base/burnish-launcher");
  EXPECT_THAT(launcher, IsOk());
  absl::StatusOr<ExitInfo> exit =
      RunSubprocess({.program = launcher.value_or(""), .args = args, .dies_with_parent = false});
  EXPECT_THAT(exit, IsOk());
  return exit.value_or(ExitInfo());
}

TEST(LauncherTest, LimitsAreSetAndSoAreNoCoreFiles) {
  EXPECT_EQ(Output("ulimit -v", {.address_space_bytes = int64_t{8} << 30}), "8388608\n");
  EXPECT_EQ(Output("ulimit -t", {.cpu_time_seconds = 77}), "77\n");
  EXPECT_EQ(Output("ulimit -f", {.file_size_bytes = 1 << 20}), "2048\n");  // Of 512 bytes.
  EXPECT_EQ(Output("ulimit -n", {.open_files = 50}), "50\n");
  EXPECT_EQ(Output("ulimit -c", {.open_files = 50}), "0\n");
}

TEST(LauncherTest, CpusAreSet) {
  const int cpu = HostCpuInfo().cores.at(0).at(0);
  EXPECT_EQ(Output("grep Cpus_allowed_list /proc/self/status", {.cpus = {cpu}}),
            absl::StrCat("Cpus_allowed_list:\t", cpu, "\n"));
}

TEST(LauncherTest, ProgramThatUsesUpItsCpuTimeIsKilled) {
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit, RunSubprocess({.program = "/bin/sh",
                                                           .args = {"-c", "while :; do :; done"},
                                                           .limits = {.cpu_time_seconds = 1}}));
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_FALSE(exit.timed_out);
}

TEST(LauncherTest, DeathOfTheParentKillsTheChild) {
  // The child holds the write end of one pipe, which shows when it is gone, and waits for ever on
  // the other.
  int alive[2], never[2];
  ASSERT_EQ(pipe2(alive, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(never, O_CLOEXEC), 0);
  const UniqueFd alive_read(alive[0]), never_read(never[0]), never_write(never[1]);
  UniqueFd alive_write(alive[1]);
  ASSERT_OK_AND_ASSIGN(const std::string launcher, FindProgram("base/burnish-launcher"));
  // A shell in the parent's place; its child says "up" after the exec, so after the prctl.
  const std::string script = launcher + " --parent=$$ -- /bin/sh -c 'echo up; read x <&4' & wait";
  ASSERT_OK_AND_ASSIGN(auto parent,
                       Child::Start({.program = "/bin/sh",
                                     .args = {"-c", script},
                                     .inherited_fds = {alive_write.get(), never_read.get()}}));
  alive_write.Reset();
  EXPECT_THAT(parent->ReadLine(kLong), IsOkAndHolds("up"));
  // The parent alone: the child leads a group of its own and would live on.
  ASSERT_EQ(kill(parent->pid(), SIGKILL), 0);
  pollfd wait = {.fd = alive_read.get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&wait, 1, 60000), 1);
  EXPECT_NE(wait.revents & POLLHUP, 0);
}

TEST(LauncherTest, ParentThatDiedBeforeTheLauncherLookedLeavesNoChild) {
  // No process has this number: it is above the largest that Linux gives.
  const ExitInfo exit = Launch({"--parent=99999999", "--", "/bin/echo", "alive"});
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_EQ(exit.stdout_bytes, "");
}

TEST(LauncherTest, WhatItCannotDoIsSaidAndNothingRuns) {
  const std::vector<std::vector<std::string>> bad = {
      {"--loud", "--", "/bin/echo", "ran"},
      {"--nice=much", "--", "/bin/echo", "ran"},
      {"--open-files=-1", "--", "/bin/echo", "ran"},
      {"--cpus=", "--", "/bin/echo", "ran"},
      {"--cpus=1023", "--", "/bin/echo", "ran"},
      {"--"},
      {"/bin/echo", "ran"},
      {"--", "/no/such/program"},
  };
  for (const std::vector<std::string>& args : bad) {
    const ExitInfo exit = Launch(args);
    EXPECT_EQ(exit.exit_code, 127) << args.at(0);
    EXPECT_EQ(exit.stdout_bytes, "") << args.at(0);
    EXPECT_THAT(exit.stderr_bytes, HasSubstr("burnish-launcher: ")) << args.at(0);
  }
}

}  // namespace
}  // namespace burnish
