#include "proto/door.h"

#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

TEST(DoorTest, LoopbackAndUnixSocketsAreLocalAndNothingElseIs) {
  for (const char* local : {"unix:/tmp/socket", "unix:///tmp/socket", "localhost:7171",
                            "LOCALHOST:0", "127.0.0.1:0", "127.255.3.4:1", "[::1]:7171"}) {
    EXPECT_TRUE(IsLocalAddress(local)) << local;
    EXPECT_THAT(CheckDoor(local, Door::kListen, /*insecure=*/false), IsOk()) << local;
  }
  for (const char* far :
       {"0.0.0.0:7171", "[::]:7171", "*:7171", ":7171", "192.168.1.2:1", "128.0.0.1:1", "farm:7171",
        "127.0.0.1.example.org:1", "localhost.example.org:1", "localhost:1,0.0.0.0:2",
        "dns:///localhost:1", "ipv4:127.0.0.1:1,10.0.0.1:2", "unix-abstract:name", "127.1:5",
        "[::1%eth0]:1", "[::ffff:10.0.0.1]:1"}) {
    EXPECT_FALSE(IsLocalAddress(far)) << far;
    EXPECT_THAT(CheckDoor(far, Door::kListen, /*insecure=*/true), IsOk()) << far;
  }
}

TEST(DoorTest, RefusalSaysWhyAndWhatToDo) {
  EXPECT_THAT(CheckDoor("0.0.0.0:7171", Door::kListen, false),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::AllOf(HasSubstr("0.0.0.0:7171"), HasSubstr("can run code"),
                                        HasSubstr("--insecure"), HasSubstr("unix:PATH"))));
  EXPECT_THAT(CheckDoor("farm:7171", Door::kConnect, false),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("whoever answers")));
}

TEST(DoorTest, PortsEndAt65535) {
  for (const char* good :
       {"localhost:0", ":80", "farm:1", "[::1]:65535", "dns:///farm:7171", "unix:a"}) {
    EXPECT_THAT(CheckAddress(good), IsOk()) << good;
  }
  for (const char* bad :
       {"nonsense", "farm", "farm:", "unix:", "farm:http", "farm:-1", "farm: 1", "farm:+1",
        "farm:65536", "farm:4294967297", "farm:99999999999999999999"}) {
    EXPECT_THAT(CheckAddress(bad), StatusIs(absl::StatusCode::kInvalidArgument)) << bad;
    EXPECT_THAT(CheckDoor(bad, Door::kConnect, /*insecure=*/true),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << bad;
  }
  EXPECT_THAT(CheckAddress("farm:65536"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("65536 of farm:65536")));
}

TEST(DoorTest, OwnDoorIsASocketInAFolderThatNobodyElseEnters) {
  const TempDir folder = *TempDir::Create("door");
  const std::string address = absl::StrCat("unix:", folder.path(), "/socket");
  EXPECT_TRUE(IsOwnDoor(address));
  for (const mode_t others : {0710, 0701, 0755, 01777}) {
    ASSERT_EQ(chmod(folder.path().c_str(), others), 0);
    EXPECT_FALSE(IsOwnDoor(address)) << others;
  }
  for (const char* shared : {"localhost:7171", "unix-abstract:name", "unix:/socket", "unix:socket",
                             "unix:/none/socket"}) {
    EXPECT_FALSE(IsOwnDoor(shared)) << shared;
  }
}

class UsersDoorTest : public ::testing::Test {
 protected:
  const TempDir folder_ = *TempDir::Create("door");
  std::map<std::string, std::string> variables_ = {{"HOME", folder_.path()}};
  const GetEnv getenv_ = [this](const char* name) -> const char* {
    const auto found = variables_.find(name);
    return found == variables_.end() ? nullptr : found->second.c_str();
  };
};

TEST_F(UsersDoorTest, LoopbackAsksForTheUsersSecretAndNothingElseDoes) {
  ASSERT_OK_AND_ASSIGN(const std::string secret, LoopbackSecret("localhost:7171", getenv_));
  EXPECT_THAT(secret, ::testing::SizeIs(32));
  for (const char* loopback : {"127.0.0.1:1", "127.9.9.9:0", "[::1]:7171", "LOCALHOST:2"}) {
    EXPECT_THAT(LoopbackSecret(loopback, getenv_), IsOkAndHolds(secret)) << loopback;
  }
  for (const char* other : {"unix:/tmp/socket", "0.0.0.0:7171", "farm:7171", "nonsense"}) {
    EXPECT_THAT(LoopbackSecret(other, getenv_), IsOkAndHolds("")) << other;
  }
  variables_ = {{"BURNISH_LOOPBACK_SECRET", std::string(32, '1')}};
  EXPECT_THAT(LoopbackSecret("localhost:1", getenv_), IsOkAndHolds(std::string(16, '\x11')));
  variables_.clear();
  EXPECT_THAT(LoopbackSecret("localhost:1", getenv_),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(UsersDoorTest, ASocketIsInAFolderThatNobodyElseEnters) {
  variables_["XDG_RUNTIME_DIR"] = folder_.path();
  const std::string folder = absl::StrCat(folder_.path(), "/burnish");
  const std::string socket = absl::StrCat("unix:", folder, "/tracker.sock");
  EXPECT_THAT(UserSocket("tracker", getenv_), IsOkAndHolds(socket));
  struct stat info = {};
  ASSERT_EQ(stat(folder.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_THAT(UserSocket("tracker", getenv_), IsOkAndHolds(socket));
  ASSERT_EQ(chmod(folder.c_str(), 0755), 0);
  EXPECT_THAT(UserSocket("tracker", getenv_),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("--listen unix:PATH")));
  ASSERT_EQ(rmdir(folder.c_str()), 0);
  ASSERT_EQ(symlink("/tmp", folder.c_str()), 0);
  EXPECT_THAT(UserSocket("tracker", getenv_), StatusIs(absl::StatusCode::kPermissionDenied));
  variables_["XDG_RUNTIME_DIR"] = "relative";
  EXPECT_THAT(UserSocket("tracker", getenv_),
              IsOkAndHolds(absl::StrCat("unix:/tmp/burnish-", geteuid(), "/tracker.sock")));
}

}  // namespace
}  // namespace burnish
