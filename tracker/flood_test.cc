// A real tracker with few files is flooded with connections that say nothing, from one address.
#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/child.h"
#include "base/self_path.h"
#include "base/status_matchers.h"
#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/protocol.h"
#include "proto/rpc.h"
#include "proto/tracker.grpc.pb.h"

namespace burnish {
namespace {

constexpr absl::Duration kLong = absl::Minutes(1);
constexpr int kFiles = 128;
constexpr int kFlood = 300;

sockaddr_in Loopback(const char* host, const std::string& port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::atoi(port.c_str())));
  EXPECT_EQ(inet_pton(AF_INET, host, &address.sin_addr), 1);
  return address;
}

class FloodTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // Each connection is a file of this process, too.
    rlimit files = {};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
    ASSERT_OK_AND_ASSIGN(const std::string program, FindProgram("tracker/tracker"));
    // For both: who calls at a port of this machine has to know it.
    setenv("BURNISH_LOOPBACK_SECRET", std::string(32, '1').c_str(), /*overwrite=*/1);
    ASSERT_OK_AND_ASSIGN(tracker_, Child::Start({.program = program,
                                                 .args = {"--listen", "127.0.0.1:0"},
                                                 .limits = {.open_files = kFiles}}));
    ASSERT_OK_AND_ASSIGN(address_, tracker_->ReadLine(kLong));
    port_ = address_.substr(address_.rfind(':') + 1);
  }

  // Not the address of the test's own calls.
  UniqueFd ConnectAsStranger() const {
    UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in from = Loopback("127.0.0.2", "0"), to = Loopback("127.0.0.1", port_);
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&from), sizeof(from)), 0);
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
    return fd;
  }
  // The server speaks first, by its settings; else the connection is closed.
  static bool IsServed(const UniqueFd& fd) {
    char byte = 0;
    return recv(fd.get(), &byte, 1, 0) == 1;
  }

  grpc::Status GetStatus() const {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoSeconds(kLong));
    v1::GetStatusResponse response;
    const auto stub = v1::Tracker::NewStub(OpenChannel(address_, ThisVersion("tuner")));
    return stub->GetStatus(&context, {}, &response);
  }

  std::unique_ptr<Child> tracker_;
  std::string address_, port_;
};

TEST_F(FloodTest, OthersAreServedMeanwhileAndTheFloodsAddressAfterIt) {
  std::vector<UniqueFd> flood;
  for (int i = 0; i < kFlood; ++i) flood.push_back(ConnectAsStranger());
  EXPECT_TRUE(GetStatus().ok()) << "another address";
  flood.clear();
  while (!IsServed(ConnectAsStranger())) {
  }
  EXPECT_TRUE(GetStatus().ok());
}

}  // namespace
}  // namespace burnish
