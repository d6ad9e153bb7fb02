// The tracker under a service manager, which is this test: it listens before the tracker does.
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/child.h"
#include "base/file.h"
#include "base/self_path.h"
#include "base/status_matchers.h"
#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/listen_sockets.h"
#include "tracker/tracker_client.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Seconds(60);

class InheritedSocketsTest : public ::testing::Test {
 protected:
  // As a manager does: the sockets become files 3 and up, and the variables are of the process
  // that the daemon is in the end. `pid`: as a shell says it.
  std::unique_ptr<Child> Start(const std::vector<int>& fds, const std::string& args = "",
                               const std::string& pid = "$$") {
    const std::string program = *FindProgram("tracker/tracker");
    const std::string script =
        absl::StrCat("LISTEN_PID=", pid, " LISTEN_FDS=", fds.size(), " LISTEN_FDNAMES=a; ",
                     "export LISTEN_PID LISTEN_FDS LISTEN_FDNAMES; exec ", program,
                     " --log-level warning ", args);
    return *Child::Start({.program = "/bin/sh",
                          .args = {"-c", script},
                          // Of a port of loopback.
                          .extra_env = {"BURNISH_LOOPBACK_SECRET=" + std::string(64, '1')},
                          .inherited_fds = fds});
  }

  ListenSockets Listen(const std::string& address) { return *ListenSockets::Open(address); }
  std::string UnixAddress(const std::string& name) const {
    return absl::StrCat("unix:", folder_.path(), "/", name);
  }

  // What the tracker says before it gives up.
  void ExpectRefused(std::unique_ptr<Child> tracker, const std::string& text) {
    const absl::StatusOr<ExitInfo> exit = tracker->Wait(kLong);
    ASSERT_THAT(exit, IsOk());
    EXPECT_EQ(exit->exit_code, 64) << Describe(*exit);
    EXPECT_THAT(exit->stderr_bytes, HasSubstr(text));
  }

  const TempDir folder_ = *TempDir::Create("inherited");
};

TEST_F(InheritedSocketsTest, TheTrackerServesAtTheManagersSocketAndLeavesItsFile) {
  const ListenSockets sockets = Listen(UnixAddress("socket"));
  std::unique_ptr<Child> tracker = Start({sockets.files()[0].get()});
  ASSERT_OK_AND_ASSIGN(const std::string address, tracker->ReadLine(kLong));
  EXPECT_EQ(address, UnixAddress("socket"));
  for (int round = 0; round < 2; ++round) {
    TrackerClient client({.tracker = address, .tuner_id = absl::StrCat("tuner", round)});
    ASSERT_THAT(client.Submit({{.id = absl::StrCat("job", round), .study = "study"}}), IsOk());
    ASSERT_THAT(client.Cancel({absl::StrCat("job", round)}, ""), IsOk());
    EXPECT_EQ(client.Collect(kLong).size(), 1u);
    if (round > 0) break;
    // The next one begins at the same socket, which nobody has closed.
    tracker = nullptr;
    tracker = Start({sockets.files()[0].get()});
    ASSERT_THAT(tracker->ReadLine(kLong), IsOk());
  }
}

TEST_F(InheritedSocketsTest, VariablesOfAnotherProcessAreNotMeant) {
  const ListenSockets sockets = Listen(UnixAddress("socket"));
  const std::unique_ptr<Child> tracker =
      Start({sockets.files()[0].get()}, absl::StrCat("--listen ", UnixAddress("own")), "1");
  EXPECT_EQ(*tracker->ReadLine(kLong), UnixAddress("own"));
}

TEST_F(InheritedSocketsTest, WhatDoesNotListenIsRefused) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  const UniqueFd one(pair[0]), other(pair[1]);
  ExpectRefused(Start({one.get()}), "no stream socket that listens");
  const UniqueFd datagrams(socket(AF_INET, SOCK_DGRAM, 0));
  ExpectRefused(Start({datagrams.get()}), "no stream socket that listens");
  const TempDir folder = *TempDir::Create("file");
  const UniqueFd file(dup(STDERR_FILENO));
  ExpectRefused(Start({file.get()}), "no stream socket that listens");
}

TEST_F(InheritedSocketsTest, TheDoorIsCheckedAsOfAnAddressThatIsWritten) {
  const ListenSockets everywhere = Listen("0.0.0.0:0");
  ExpectRefused(Start({everywhere.files()[0].get()}), "--insecure");
  const std::unique_ptr<Child> tracker = Start({everywhere.files()[0].get()}, "--insecure");
  EXPECT_EQ(*tracker->ReadLine(kLong), everywhere.address());
  const ListenSockets at_path = Listen(UnixAddress("socket"));
  ExpectRefused(Start({at_path.files()[0].get()}, "--listen localhost:0"), "write no --listen");
  const ListenSockets at_port = Listen("127.0.0.1:0");
  ExpectRefused(Start({at_path.files()[0].get(), at_port.files()[0].get()}), "differ");
}

TEST_F(InheritedSocketsTest, TheNameOfInheritedSocketsIsNoAddressThatAUserMayWrite) {
  const std::unique_ptr<Child> tracker = *Child::Start(
      {.program = *FindProgram("tracker/tracker"), .args = {"--listen", "inherited:1 sockets"}});
  const absl::StatusOr<ExitInfo> exit = tracker->Wait(kLong);
  ASSERT_THAT(exit, IsOk());
  EXPECT_EQ(exit->exit_code, 64);
}

}  // namespace
}  // namespace burnish
