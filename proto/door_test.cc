#include "proto/door.h"

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

}  // namespace
}  // namespace burnish
