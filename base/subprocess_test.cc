#include "base/subprocess.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Direct starts and starts through the launcher owe the same.
class SubprocessTest : public ::testing::TestWithParam<bool> {
 protected:
  SubprocessOptions Shell(const std::string& script) const {
    return {.program = "/bin/sh", .args = {"-c", script}, .dies_with_parent = GetParam()};
  }
};

INSTANTIATE_TEST_SUITE_P(Starts, SubprocessTest, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "Launcher" : "Direct"; });

TEST_P(SubprocessTest, OutputsAndExitCodeComeBack) {
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit, RunSubprocess(Shell("echo out; echo err >&2; exit 3")));
  EXPECT_EQ(exit.stdout_bytes, "out\n");
  EXPECT_EQ(exit.stderr_bytes, "err\n");
  EXPECT_EQ(exit.exit_code, 3);
  EXPECT_EQ(exit.signal, 0);
  EXPECT_FALSE(exit.timed_out);
  EXPECT_FALSE(exit.output_cut);
  EXPECT_EQ(Describe(exit), "exit code 3: err");
}

TEST_P(SubprocessTest, InputLargerThanAPipePassesThrough) {
  SubprocessOptions options = Shell("cat");
  options.stdin_bytes = std::string(5000000, 'x') + "end";
  EXPECT_THAT(RunSubprocess(options),
              IsOkAndHolds(Field(&ExitInfo::stdout_bytes, options.stdin_bytes)));
}

TEST_P(SubprocessTest, ProgramMayLeaveItsInputUnread) {
  SubprocessOptions options = Shell("exit 0");
  options.stdin_bytes = std::string(5000000, 'x');
  EXPECT_THAT(RunSubprocess(options), IsOkAndHolds(Field(&ExitInfo::exit_code, 0)));
}

TEST_P(SubprocessTest, SignalIsToldFromExitCode) {
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit, RunSubprocess(Shell("kill -SEGV $$")));
  EXPECT_EQ(exit.signal, SIGSEGV);
  EXPECT_EQ(exit.exit_code, -1);
  EXPECT_FALSE(exit.timed_out);
  EXPECT_THAT(Describe(exit), StartsWith("signal 11 (Segmentation fault)"));
}

TEST_P(SubprocessTest, OutputBeyondTheLimitIsDroppedAndTheProgramGoesOn) {
  SubprocessOptions options = Shell("echo first; head -c 3000000 /dev/zero; exit 4");
  options.stdout_bytes_max = 1000;
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit, RunSubprocess(options));
  EXPECT_EQ(exit.stdout_bytes, "first\n" + std::string(994, '\0'));
  EXPECT_TRUE(exit.output_cut);
  EXPECT_EQ(exit.exit_code, 4);
}

TEST_P(SubprocessTest, OfStderrTheEndIsKept) {
  SubprocessOptions options = Shell("head -c 300000 /dev/zero >&2; echo cause >&2");
  options.stderr_bytes_max = 100;
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit, RunSubprocess(options));
  EXPECT_EQ(exit.stderr_bytes.size(), 100u);
  EXPECT_THAT(exit.stderr_bytes, EndsWith("cause\n"));
  EXPECT_TRUE(exit.output_cut);
}

TEST_P(SubprocessTest, TimeLimitEndsTheProgramAndKeepsWhatItSaid) {
  SubprocessOptions options = Shell("echo begun; sleep 1000");
  options.timeout = absl::Milliseconds(300);
  const absl::Time start = absl::Now();
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit, RunSubprocess(options));
  EXPECT_TRUE(exit.timed_out);
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_EQ(exit.stdout_bytes, "begun\n");
  EXPECT_GE(exit.wall_time, absl::Milliseconds(300));
  EXPECT_LT(absl::Now() - start, absl::Seconds(100));
  EXPECT_THAT(Describe(exit), StartsWith("timed out after"));
}

TEST_P(SubprocessTest, ProgramThatIgnoresTermSignalsStillEndsAtTheTimeLimit) {
  SubprocessOptions options = Shell("trap '' TERM INT HUP; while :; do sleep 1000; done");
  options.timeout = absl::Milliseconds(100);
  EXPECT_THAT(RunSubprocess(options), IsOkAndHolds(Field(&ExitInfo::timed_out, true)));
}

TEST_P(SubprocessTest, EnvironmentAndFolderAreTheCallersWithTheExtras) {
  setenv("BURNISH_TEST_A", "inherited", 1);
  setenv("BURNISH_TEST_B", "inherited", 1);
  SubprocessOptions options = Shell("echo $BURNISH_TEST_A $BURNISH_TEST_B; pwd");
  options.extra_env = {"BURNISH_TEST_B=replaced"};
  options.working_folder = "/usr";
  EXPECT_THAT(RunSubprocess(options),
              IsOkAndHolds(Field(&ExitInfo::stdout_bytes, "inherited replaced\n/usr\n")));
}

TEST_P(SubprocessTest, ChildSeesNoOtherDescriptorsAndDefaultSignals) {
  const int leak = open("/dev/null", O_RDONLY);  // On purpose without O_CLOEXEC.
  const auto before = signal(SIGPIPE, SIG_IGN);
  // The shell's glob opens the folder as the last descriptor.
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit,
                       RunSubprocess(Shell("echo /proc/$$/fd/*; grep SigIgn /proc/$$/status")));
  signal(SIGPIPE, before);
  close(leak);
  EXPECT_THAT(exit.stdout_bytes, AllOf(HasSubstr("/fd/2"), Not(HasSubstr("/fd/4"))));
  // The lowest 28 signals. (glibc ignores 32 and 33, its own, in a spawned child.)
  EXPECT_THAT(exit.stdout_bytes, EndsWith("0000000\n"));
}

TEST_P(SubprocessTest, ResourcesAreReported) {
  SubprocessOptions options = Shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done");
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit, RunSubprocess(options));
  EXPECT_GT(exit.max_rss_bytes, 100 << 10);
  EXPECT_GT(exit.cpu_time, absl::ZeroDuration());
  EXPECT_GE(exit.wall_time, exit.cpu_time / 2);
}

TEST_P(SubprocessTest, MissingOrUnusableProgramIsAnErrorWithItsPath) {
  EXPECT_THAT(RunSubprocess({.program = "/no/such", .dies_with_parent = GetParam()}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such")));
  EXPECT_THAT(RunSubprocess({.program = "/etc/passwd", .dies_with_parent = GetParam()}),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("/etc/passwd")));
}

TEST_P(SubprocessTest, ProgramRelativeToTheWorkingFolderIsFound) {
  EXPECT_THAT(RunSubprocess({.program = "./sh",
                             .args = {"-c", "exit 5"},
                             .working_folder = "/bin",
                             .dies_with_parent = GetParam()}),
              IsOkAndHolds(Field(&ExitInfo::exit_code, 5)));
}

}  // namespace
}  // namespace burnish
