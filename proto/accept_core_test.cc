#include "proto/accept_core.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <cerrno>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class AcceptCoreTest : public ::testing::Test {
 protected:
  AcceptVerdict Come(const std::string& address, int fd) {
    const Connection connection{.fd = fd, .cookie = ++cookie_, .address = address};
    const AcceptVerdict verdict = core_.Came(now_, connection);
    if (verdict == AcceptVerdict::kServe) open_.insert(connection.cookie);
    return verdict;
  }

  absl::Time now_ = absl::UnixEpoch();
  uint64_t cookie_ = 0;
  std::set<uint64_t> open_;
  int looks_ = 0;
  AcceptCore core_{{.connections_max = 6, .connections_per_address_max = 4},
                   [this](const Connection& connection) {
                     ++looks_;
                     return open_.contains(connection.cookie);
                   }};
};

TEST_F(AcceptCoreTest, OneAddressLeavesRoomToOthersAndAllTogetherEndAtTheLimit) {
  for (int fd = 0; fd < 4; ++fd) EXPECT_EQ(Come("a", fd), AcceptVerdict::kServe);
  EXPECT_EQ(Come("a", 4), AcceptVerdict::kRefuse);
  EXPECT_EQ(Come("b", 4), AcceptVerdict::kServe);
  EXPECT_EQ(Come("c", 5), AcceptVerdict::kServe);
  EXPECT_EQ(Come("d", 6), AcceptVerdict::kRefuse);
  EXPECT_EQ(core_.connection_count(), 6);
}

TEST_F(AcceptCoreTest, ServesAgainAsSoonAsAFloodHasEnded) {
  for (int fd = 0; fd < 4; ++fd) Come("a", fd);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(Come("a", 4), AcceptVerdict::kRefuse);
  open_.clear();  // They close, and nobody says so.
  now_ += absl::Milliseconds(100);
  EXPECT_EQ(Come("a", 4), AcceptVerdict::kServe);
  EXPECT_EQ(core_.connection_count(), 1);
}

TEST_F(AcceptCoreTest, AFloodCostsOneLookAtTheConnectionsInATenthOfASecond) {
  for (int fd = 0; fd < 4; ++fd) Come("a", fd);
  EXPECT_EQ(looks_, 0);
  for (int i = 0; i < 1000; ++i) Come("a", 4);
  EXPECT_EQ(looks_, 4);
}

TEST_F(AcceptCoreTest, AFileThatComesAgainWasClosed) {
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(Come("a", 7), AcceptVerdict::kServe);
  EXPECT_EQ(core_.connection_count(), 1);
  EXPECT_EQ(Come("b", 7), AcceptVerdict::kServe);
  for (int fd = 0; fd < 4; ++fd) EXPECT_EQ(Come("a", fd), AcceptVerdict::kServe);
}

TEST_F(AcceptCoreTest, NoErrorEndsAListener) {
  for (int error = 1; error < 200; ++error) {
    const AcceptVerdict verdict = core_.Failed(error);
    EXPECT_NE(verdict, AcceptVerdict::kServe) << error;
    EXPECT_NE(verdict, AcceptVerdict::kRefuse) << error;
    EXPECT_EQ(verdict == AcceptVerdict::kShed, error == EMFILE || error == ENFILE) << error;
    EXPECT_EQ(verdict == AcceptVerdict::kWait, error == EAGAIN) << error;
  }
  EXPECT_EQ(core_.Failed(ECONNABORTED), AcceptVerdict::kNext);
  EXPECT_EQ(core_.Failed(ENOMEM), AcceptVerdict::kPause);
  EXPECT_EQ(core_.Failed(EBADF), AcceptVerdict::kPause);
}

TEST_F(AcceptCoreTest, AFloodIsOneLineInTenSeconds) {
  EXPECT_THAT(core_.TakeNotice(now_), IsEmpty());
  for (int i = 0; i < 4; ++i) Come("a", i);
  for (int i = 0; i < 3; ++i) Come("a", 9);
  EXPECT_THAT(core_.TakeNotice(now_), HasSubstr("3 beyond 6 in all or 4 of one address, the last "
                                                "from a"));
  core_.Failed(EMFILE);
  EXPECT_THAT(core_.TakeNotice(now_ + absl::Seconds(9)), IsEmpty());
  EXPECT_THAT(core_.TakeNotice(now_ + absl::Seconds(10)), HasSubstr(": 1 without a file"));
}

TEST(LimitsOfFilesTest, LeaveFilesForTheRestOfTheProcess) {
  for (const int64_t files : {64, 100, 200, 256, 1024, 4096, 65536, 1 << 20}) {
    ASSERT_OK_AND_ASSIGN(const AcceptLimits limits, LimitsOfFiles(files));
    EXPECT_GE(files - limits.connections_max, 32) << files;
    EXPECT_LT(limits.connections_per_address_max, limits.connections_max) << files;
    EXPECT_GE(limits.connections_max, files < 16'384 ? files / 2 : 16'384) << files;
  }
  // Hundreds of workers behind one address, by the limit that hosts usually have.
  EXPECT_GE(LimitsOfFiles(1024)->connections_per_address_max, 500);
  EXPECT_THAT(LimitsOfFiles(63),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("ulimit -n")));
}

std::string KeyOf(int family, const char* text) {
  sockaddr_storage peer = {};
  peer.ss_family = static_cast<sa_family_t>(family);
  void* const address = family == AF_INET
                            ? static_cast<void*>(&reinterpret_cast<sockaddr_in&>(peer).sin_addr)
                            : &reinterpret_cast<sockaddr_in6&>(peer).sin6_addr;
  EXPECT_EQ(inet_pton(family, text, address), 1) << text;
  return AddressKey(peer, 0);
}

TEST(AddressKeyTest, IsTheHostTheNetworkOrTheUser) {
  EXPECT_EQ(KeyOf(AF_INET, "10.1.2.3"), "10.1.2.3");
  EXPECT_EQ(KeyOf(AF_INET6, "::ffff:10.1.2.3"), "10.1.2.3");
  EXPECT_EQ(KeyOf(AF_INET6, "2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
  EXPECT_EQ(KeyOf(AF_INET6, "2001:db8:1:2:ffff::1"), "2001:db8:1:2::/64");
  EXPECT_NE(KeyOf(AF_INET6, "2001:db8:1:3::1"), "2001:db8:1:2::/64");
  EXPECT_EQ(KeyOf(AF_INET6, "::1"), "::/64");
  sockaddr_storage peer = {};
  peer.ss_family = AF_UNIX;
  EXPECT_EQ(AddressKey(peer, 1000), "uid 1000");
}

TEST(ClientKeyTest, IsTheAddressOfACallsPeer) {
  EXPECT_EQ(ClientKey("ipv4:10.1.2.3:4711"), "10.1.2.3");
  EXPECT_EQ(ClientKey("ipv6:%5B::ffff:10.1.2.3%5D:4711"), "10.1.2.3");
  EXPECT_EQ(ClientKey("ipv6:[2001:db8:1:2::7]:4711"), "2001:db8:1:2::/64");
  for (const char* peer : {"unix:", "unix:/run/tracker.sock", "fd:7", "", "ipv4::"}) {
    EXPECT_EQ(ClientKey(peer), "unix") << peer;
  }
}

TEST(HostKeyTest, IsOneForAllThatThisMachineIsCalledBy) {
  for (const char* peer : {"unix:", "fd:7", "", "ipv4:127.0.0.1:4711", "ipv4:127.9.8.7:4711",
                           "ipv6:[::1]:4711", "ipv6:%5B::ffff:127.0.0.1%5D:4711"}) {
    EXPECT_EQ(HostKey(peer), "local") << peer;
  }
  // Every address that an interface has: a caller may choose among them.
  ifaddrs* list = nullptr;
  ASSERT_EQ(getifaddrs(&list), 0);
  int count = 0;
  for (const ifaddrs* own = list; own != nullptr; own = own->ifa_next) {
    if (own->ifa_addr == nullptr || own->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN] = {};
    ASSERT_NE(inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(own->ifa_addr)->sin_addr,
                        text, sizeof(text)),
              nullptr);
    EXPECT_EQ(HostKey(absl::StrCat("ipv4:", text, ":4711")), "local") << text;
    ++count;
  }
  freeifaddrs(list);
  EXPECT_GT(count, 0);
}

TEST(HostKeyTest, IsTheAddressOfAnotherMachine) {
  // Of networks that documents alone have (RFC 5737, RFC 3849).
  EXPECT_EQ(HostKey("ipv4:192.0.2.3:4711"), "192.0.2.3");
  EXPECT_EQ(HostKey("ipv6:[2001:db8:1:2::7]:4711"), "2001:db8:1:2::/64");
}

}  // namespace
}  // namespace burnish
