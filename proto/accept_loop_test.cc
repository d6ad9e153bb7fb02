#include "proto/accept_loop.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/accept_core.h"
#include "proto/listen_sockets.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class AcceptLoopTest : public ::testing::Test {
 protected:
  // Says "x" to each that it serves, and holds them until HangUp.
  void Start(AcceptLimits limits) {
    loop_.reset();
    ASSERT_OK_AND_ASSIGN(ListenSockets sockets, ListenSockets::Open("unix:" + path_));
    ASSERT_OK_AND_ASSIGN(
        loop_,
        AcceptLoop::Start(std::move(sockets), limits, [this](int, const Connection& connection) {
          const std::lock_guard<std::mutex> lock(mutex_);
          EXPECT_EQ(send(connection.fd, "x", 1, MSG_NOSIGNAL), 1);
          served_.emplace_back(connection.fd);
        }));
  }
  void HangUp() {
    const std::lock_guard<std::mutex> lock(mutex_);
    served_.clear();
  }
  static UniqueFd NewSocket() { return UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); }
  void Connect(const UniqueFd& socket) const {
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    std::memcpy(address.sun_path, path_.data(), path_.size());
    ASSERT_EQ(connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0)
        << std::strerror(errno);
  }
  // Until it is served or turned away.
  bool IsServed(const UniqueFd& socket) const {
    Connect(socket);
    char byte = 0;
    return read(socket.get(), &byte, 1) == 1;
  }

  const TempDir folder_ = *TempDir::Create("accept-loop");
  const std::string path_ = absl::StrCat(folder_.path(), "/socket");
  std::mutex mutex_;
  std::vector<UniqueFd> served_;
  std::unique_ptr<AcceptLoop> loop_;
};

TEST_F(AcceptLoopTest, TurnsAwayWhatIsBeyondALimitAndServesAgainWhenThereIsRoom) {
  Start({.connections_max = 8, .connections_per_address_max = 3});
  std::vector<UniqueFd> sockets(5);
  for (UniqueFd& socket : sockets) socket = NewSocket();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(IsServed(sockets[i])) << i;
  EXPECT_FALSE(IsServed(sockets[3]));
  HangUp();
  // It looks for room ten times a second.
  bool is_served = false;
  while (!is_served) {
    const UniqueFd later = NewSocket();
    is_served = IsServed(later);
  }
}

// This process's files are as many as it may have.
class AllFilesTaken {
 public:
  AllFilesTaken() {
    getrlimit(RLIMIT_NOFILE, &before_);
    fillers_.reserve(1000);
    const rlimit few{.rlim_cur = 200, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    for (int fd = 0; fd >= 0;) {
      fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
      if (fd >= 0) fillers_.emplace_back(fd);
    }
  }
  ~AllFilesTaken() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_ = {};
  std::vector<UniqueFd> fillers_;
};

TEST_F(AcceptLoopTest, ShedsWhatItHasNoFileForAndServesAgainWhenThereAreSome) {
  Start({.connections_max = 100, .connections_per_address_max = 100});
  std::vector<UniqueFd> sockets(20);
  for (UniqueFd& socket : sockets) socket = NewSocket();
  {
    const AllFilesTaken taken;
    for (const UniqueFd& socket : sockets) EXPECT_FALSE(IsServed(socket));
  }
  const UniqueFd later = NewSocket();
  EXPECT_TRUE(IsServed(later));
}

TEST_F(AcceptLoopTest, RaisesTheSoftLimitToTheHardOne) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{.rlim_cur = 100, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(RaiseFileLimit(), static_cast<int64_t>(before.rlim_max));
  rlimit after = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
}

class ListenSocketsTest : public AcceptLoopTest {};

TEST_F(ListenSocketsTest, ASocketThatNobodyListensOnIsReplacedAndNoOther) {
  {
    ASSERT_OK_AND_ASSIGN(const ListenSockets first, ListenSockets::Open("unix:" + path_));
    EXPECT_THAT(ListenSockets::Open("unix:" + path_),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("in use")));
    // As after a kill: the file stays behind.
    ASSERT_EQ(link(path_.c_str(), (path_ + "-left").c_str()), 0);
  }
  struct stat info = {};
  EXPECT_NE(stat(path_.c_str(), &info), 0) << "the file goes with its listener";
  EXPECT_THAT(ListenSockets::Open("unix:" + path_ + "-left"), IsOk());
  // Somebody's file is no socket.
  ASSERT_THAT(WriteFileAtomically(path_, "text"), IsOk());
  EXPECT_THAT(ListenSockets::Open("unix:" + path_), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(ReadFile(path_, 100), IsOkAndHolds("text"));
}

TEST_F(ListenSocketsTest, AFileThatTookASocketsPlaceStays) {
  {
    ASSERT_OK_AND_ASSIGN(const ListenSockets first, ListenSockets::Open("unix:" + path_));
    ASSERT_THAT(WriteFileAtomically(path_, "text"), IsOk());
  }
  EXPECT_THAT(ReadFile(path_, 100), IsOkAndHolds("text"));
}

TEST_F(ListenSocketsTest, OfAllAddressesOfANameHaveOnePort) {
  ASSERT_OK_AND_ASSIGN(const ListenSockets sockets, ListenSockets::Open("localhost:0"));
  EXPECT_THAT(sockets.address(), ::testing::MatchesRegex("localhost:[1-9][0-9]*"));
  EXPECT_THAT(sockets.files(), Not(IsEmpty()));
  const std::string port = sockets.address().substr(sockets.address().rfind(':') + 1);
  for (const UniqueFd& file : sockets.files()) {
    sockaddr_in6 own = {};
    socklen_t size = sizeof(own);
    ASSERT_EQ(getsockname(file.get(), reinterpret_cast<sockaddr*>(&own), &size), 0);
    EXPECT_EQ(absl::StrCat(ntohs(own.sin6_port)), port);
  }
  EXPECT_THAT(ListenSockets::Open(sockets.address()), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(ListenSocketsTest, WhatIsNoAddressIsRefused) {
  for (const std::string& bad : {std::string("nonsense"), std::string("localhost:99999"),
                                 "unix:" + std::string(200, 'x'), std::string("unix://")}) {
    EXPECT_THAT(ListenSockets::Open(bad), StatusIs(absl::StatusCode::kInvalidArgument)) << bad;
  }
  for (const char* unknown : {"no-such-host.invalid:1", ":7171", "unix:/no/such/folder/socket"}) {
    EXPECT_THAT(ListenSockets::Open(unknown), StatusIs(absl::StatusCode::kUnavailable)) << unknown;
  }
}

}  // namespace
}  // namespace burnish
