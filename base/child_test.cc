#include "base/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/status_matchers.h"
#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Seconds(60);  // Never reached when all is well.

ChildOptions Shell(const std::string& script) {
  return {.program = "/bin/sh", .args = {"-c", script}};
}

// The read end sees the end of the stream when the last process that inherited the write end is
// gone: a witness of death that needs no process ids and no polling.
class LifeLine {
 public:
  LifeLine() {
    int fds[2];
    EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
    ours_.Reset(fds[0]);
    theirs_.Reset(fds[1]);
  }
  int fd() const { return theirs_.get(); }
  bool AllDie() {
    theirs_.Reset();
    pollfd wait = {.fd = ours_.get(), .events = POLLIN, .revents = 0};
    return poll(&wait, 1, 60000) == 1 && (wait.revents & POLLHUP) != 0;
  }

 private:
  UniqueFd ours_, theirs_;
};

TEST(ChildTest, LinesGoBothWays) {
  ASSERT_OK_AND_ASSIGN(auto child, Child::Start(Shell("while read x; do echo \"<$x>\"; done")));
  for (const std::string text : {"one", "", "three words here"}) {
    EXPECT_THAT(child->Write(text + "\n", kLong), IsOk());
    EXPECT_THAT(child->ReadLine(kLong), IsOkAndHolds("<" + text + ">"));
  }
  child->CloseStdin();
  EXPECT_THAT(child->Wait(kLong), IsOkAndHolds(::testing::Field(&ExitInfo::exit_code, 0)));
}

TEST(ChildTest, FramesLargerThanAPipeGoBothWays) {
  ASSERT_OK_AND_ASSIGN(auto child, Child::Start({.program = "/bin/cat"}));
  const std::string large(900000, '\n');
  EXPECT_THAT(child->WriteFrame(large, kLong), IsOk());
  EXPECT_THAT(child->WriteFrame("", kLong), IsOk());
  EXPECT_THAT(child->ReadFrame(kLong), IsOkAndHolds(large));
  EXPECT_THAT(child->ReadFrame(kLong), IsOkAndHolds(""));
}

TEST(ChildTest, SilentChildIsWaitedForOnlyAsLongAsSaid) {
  ASSERT_OK_AND_ASSIGN(auto child, Child::Start(Shell("read x; echo late")));
  EXPECT_THAT(child->ReadLine(absl::Milliseconds(20)),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_THAT(child->Wait(absl::ZeroDuration()), StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_THAT(child->Write("\n", kLong), IsOk());
  EXPECT_THAT(child->ReadLine(kLong), IsOkAndHolds("late"));
}

TEST(ChildTest, InputThatNobodyTakesIsWaitedForOnlyAsLongAsSaid) {
  ASSERT_OK_AND_ASSIGN(auto child, Child::Start(Shell("sleep 1000")));
  EXPECT_THAT(child->Write(std::string(1 << 20, 'x'), absl::Milliseconds(20)),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST(ChildTest, LinesOfAChildThatEndedAreStillRead) {
  ASSERT_OK_AND_ASSIGN(auto child, Child::Start(Shell("echo a; echo b; printf c")));
  EXPECT_THAT(child->Wait(kLong), IsOk());
  EXPECT_THAT(child->ReadLine(kLong), IsOkAndHolds("a"));
  EXPECT_THAT(child->ReadLine(kLong), IsOkAndHolds("b"));
  EXPECT_THAT(child->ReadLine(kLong),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("exit code 0")));
}

TEST(ChildTest, WriteToAChildThatEndedIsAnErrorAndNoSignal) {
  ASSERT_OK_AND_ASSIGN(auto child, Child::Start(Shell("exec <&-; echo closed; sleep 1000")));
  EXPECT_THAT(child->ReadLine(kLong), IsOkAndHolds("closed"));
  EXPECT_THAT(child->Write("x", kLong), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(child->Write("x", kLong), StatusIs(absl::StatusCode::kUnavailable));
}

TEST(ChildTest, LinesAndFramesOverTheLimitAreRefused) {
  ASSERT_OK_AND_ASSIGN(auto child, Child::Start(Shell("head -c 5000 /dev/zero; sleep 1000")));
  EXPECT_THAT(child->ReadLine(kLong, 1000), StatusIs(absl::StatusCode::kInvalidArgument));
  ASSERT_OK_AND_ASSIGN(child, Child::Start(Shell("printf '\\377\\377\\377\\177'; sleep 1000")));
  EXPECT_THAT(child->ReadFrame(kLong, 1000), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(ChildTest, ChildThatTalksOnStderrDoesNotBlock) {
  ASSERT_OK_AND_ASSIGN(auto child,
                       Child::Start(Shell("head -c 1000000 /dev/zero >&2; echo done >&2; echo x")));
  EXPECT_THAT(child->ReadLine(kLong), IsOkAndHolds("x"));
  EXPECT_THAT(child->Wait(kLong), IsOk());
  EXPECT_THAT(child->stderr_bytes(), ::testing::EndsWith("done\n"));
}

TEST(ChildTest, DescriptorsArriveAsThreeAndUp) {
  int fds[2];
  ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
  const UniqueFd read_end(fds[0]);
  UniqueFd write_end(fds[1]);
  ASSERT_OK_AND_ASSIGN(auto child,
                       Child::Start({.program = "/bin/sh",
                                     .args = {"-c", "printf three >&3; printf four >&4"},
                                     .inherited_fds = {write_end.get(), STDERR_FILENO}}));
  EXPECT_THAT(child->Wait(kLong), IsOk());
  write_end.Reset();
  char text[16];
  EXPECT_EQ(std::string(text, read(read_end.get(), text, sizeof(text))), "three");
}

TEST(ChildTest, TimeLimitKillsGrandchildrenToo) {
  LifeLine line;
  ASSERT_OK_AND_ASSIGN(auto child,
                       Child::Start({.program = "/bin/sh",
                                     .args = {"-c", "(sleep 1000 & sleep 1000) & sleep 1000"},
                                     .inherited_fds = {line.fd()}}));
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit, child->Finish("", absl::Milliseconds(200), 100));
  EXPECT_TRUE(exit.timed_out);
  EXPECT_TRUE(line.AllDie());
}

TEST(ChildTest, GrandchildLeftBehindIsKilledAndHoldsNobodyUp) {
  LifeLine line;
  ASSERT_OK_AND_ASSIGN(auto child, Child::Start({.program = "/bin/sh",
                                                 .args = {"-c", "sleep 1000 & echo gone; exit 3"},
                                                 .inherited_fds = {line.fd()}}));
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit, child->Finish("", kLong, 100));
  EXPECT_EQ(exit.exit_code, 3);
  EXPECT_EQ(exit.stdout_bytes, "gone\n");
  EXPECT_TRUE(line.AllDie());
}

TEST(ChildTest, DestructorKillsTheWholeGroup) {
  LifeLine line;
  {
    ASSERT_OK_AND_ASSIGN(auto child, Child::Start({.program = "/bin/sh",
                                                   .args = {"-c", "sleep 1000 & echo up; wait"},
                                                   .inherited_fds = {line.fd()}}));
    EXPECT_THAT(child->ReadLine(kLong), IsOkAndHolds("up"));
  }
  EXPECT_TRUE(line.AllDie());
}

TEST(ChildTest, KillFromAnotherThreadEndsAWaitingRead) {
  ASSERT_OK_AND_ASSIGN(auto child, Child::Start(Shell("sleep 1000")));
  std::thread killer([&child] { child->Kill(); });
  EXPECT_THAT(child->ReadLine(kLong), StatusIs(absl::StatusCode::kUnavailable));
  killer.join();
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit, child->Wait(kLong));
  EXPECT_EQ(exit.signal, SIGKILL);
}

TEST(ChildTest, ChildOutlivesTheThreadThatStartedIt) {
  std::unique_ptr<Child> child;
  std::thread([&child] {
    absl::StatusOr<std::unique_ptr<Child>> started = Child::Start({.program = "/bin/cat"});
    ASSERT_THAT(started, IsOk());
    child = *std::move(started);
  }).join();
  ASSERT_NE(child, nullptr);
  EXPECT_THAT(child->Write("still here\n", kLong), IsOk());
  EXPECT_THAT(child->ReadLine(kLong), IsOkAndHolds("still here"));
}

TEST(ChildTest, ManyThreadsStartChildrenAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([i] {
      ASSERT_OK_AND_ASSIGN(auto child, Child::Start(Shell("exit " + std::to_string(i))));
      ASSERT_OK_AND_ASSIGN(const ExitInfo exit, child->Wait(kLong));
      EXPECT_EQ(exit.exit_code, i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace burnish
