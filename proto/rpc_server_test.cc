#include "proto/rpc_server.h"

#include <fcntl.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/protocol.h"
#include "proto/rpc.h"

namespace burnish {
namespace {

std::string SecurityOf(const grpc::ServerContextBase& context) {
  std::string security;
  for (const auto& value : context.auth_context()->FindPropertyValues("transport_security_type")) {
    security.append(value.data(), value.size());
  }
  return security;
}

// Answers any call with how its connection is secured, and who calls: "insecure 127.0.0.1".
class Mirror : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return new Reactor(absl::StrCat(SecurityOf(*context), " ", CallerKey(*context)));
  }

 private:
  class Reactor : public grpc::ServerGenericBidiReactor {
   public:
    explicit Reactor(std::string answer) : answer_(std::move(answer)) { StartRead(&request_); }
    void OnReadDone(bool /*ok*/) override {
      const grpc::Slice slice(answer_);
      response_ = grpc::ByteBuffer(&slice, 1);
      StartWriteAndFinish(&response_, {}, grpc::Status::OK);
    }
    void OnDone() override { delete this; }

   private:
    const std::string answer_;
    grpc::ByteBuffer request_, response_;
  };
};

class RpcServerTest : public ::testing::Test {
 protected:
  void Start(const std::string& listen,
             std::shared_ptr<grpc::ServerCredentials> credentials = nullptr) {
    server_.reset();
    mirror_ = std::make_unique<Mirror>();
    ASSERT_OK_AND_ASSIGN(server_, RpcServer::Start(
                                      listen,
                                      [this](grpc::ServerBuilder& builder) {
                                        builder.RegisterCallbackGenericService(mirror_.get());
                                      },
                                      std::move(credentials)));
  }

  static absl::StatusOr<std::string> Call(const std::string& address) {
    return Call(OpenChannel(address, ThisVersion("test")));
  }
  static absl::StatusOr<std::string> Call(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    return Call(channel, context);
  }
  static absl::StatusOr<std::string> Call(const std::shared_ptr<grpc::Channel>& channel,
                                          grpc::ClientContext& context) {
    grpc::GenericStub stub(channel);
    grpc::CompletionQueue queue;
    const auto call = stub.PrepareUnaryCall(&context, "/test/Call", grpc::ByteBuffer(), &queue);
    call->StartCall();
    grpc::ByteBuffer response;
    grpc::Status status;
    call->Finish(&response, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    if (!status.ok()) return FromGrpc(status);
    grpc::Slice slice;
    EXPECT_TRUE(response.DumpToSingleSlice(&slice).ok());
    return std::string(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }

  const TempDir folder_ = *TempDir::Create("rpc-server");
  std::unique_ptr<Mirror> mirror_;
  std::unique_ptr<RpcServer> server_;
};

TEST_F(RpcServerTest, ServesOnEachKindOfAddress) {
  for (const std::string& listen :
       {std::string("localhost:0"), std::string("127.0.0.1:0"), std::string("0.0.0.0:0"),
        absl::StrCat("unix:", folder_.path(), "/a"), absl::StrCat("unix://", folder_.path(), "/b"),
        absl::StrCat("unix-abstract:", folder_.path())}) {
    Start(listen);
    EXPECT_THAT(Call(server_->address()), IsOk()) << listen;
  }
}

TEST_F(RpcServerTest, ServesIpv6AndByTheWildcardBoth) {
  const UniqueFd probe(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 loopback = {};
  loopback.sin6_family = AF_INET6;
  loopback.sin6_addr = in6addr_loopback;
  if (bind(probe.get(), reinterpret_cast<sockaddr*>(&loopback), sizeof(loopback)) != 0) {
    GTEST_SKIP() << "this host has no IPv6";
  }
  Start("[::1]:0");
  EXPECT_THAT(Call(server_->address()), IsOk());
  Start("[::]:0");
  const std::string port = server_->address().substr(server_->address().rfind(':'));
  EXPECT_THAT(Call("[::1]" + port), IsOk());
  EXPECT_THAT(Call("127.0.0.1" + port), IsOk());
}

TEST_F(RpcServerTest, CredentialsHoldForEachConnection) {
  Start("127.0.0.1:0", grpc::experimental::LocalServerCredentials(LOCAL_TCP));
  EXPECT_THAT(Call(grpc::CreateChannel(server_->address(),
                                       grpc::experimental::LocalCredentials(LOCAL_TCP))),
              IsOkAndHolds("local 127.0.0.1"));
  Start("127.0.0.1:0");
  EXPECT_THAT(Call(server_->address()), IsOkAndHolds("insecure 127.0.0.1"));
}

// By one connection of a user, which the kernel knows by the thread that makes it.
absl::StatusOr<UniqueFd> ConnectAs(uid_t user, const std::string& path) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  absl::Status status;
  // Without the C library, which would change all threads.
  std::thread([&] {
    if (syscall(SYS_setresuid, -1, user, -1) != 0) {
      status = absl::ErrnoToStatus(errno, "setresuid");
    } else if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
      status = absl::ErrnoToStatus(errno, "connect");
    }
  }).join();
  if (!status.ok()) return status;
  fcntl(fd.get(), F_SETFL, O_NONBLOCK);
  return fd;
}

TEST_F(RpcServerTest, UsersOfASharedSocketAreToldApart) {
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  const std::string path = absl::StrCat(folder_.path(), "/socket");
  Start("unix:" + path);
  ASSERT_EQ(chmod(path.c_str(), 0777), 0);
  const auto channel = OpenChannel(server_->address(), ThisVersion("test"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Call(channel), IsOkAndHolds(absl::StrCat("local uid ", geteuid())));
  }
  constexpr uid_t kFirst = 12'345, kLast = kFirst + 40;
  for (uid_t user = kFirst; user < kLast; ++user) {
    absl::StatusOr<UniqueFd> fd = ConnectAs(user, path);
    if (absl::IsInvalidArgument(fd.status()) || absl::IsPermissionDenied(fd.status())) {
      GTEST_SKIP() << "one user alone: " << fd.status();
    }
    ASSERT_THAT(fd, IsOk());
    // More users than it has places for count as one.
    EXPECT_THAT(
        Call(grpc::CreateInsecureChannelFromFd("user", fd->Release())),
        IsOkAndHolds(user < kFirst + 31 ? absl::StrCat("local uid ", user) : "insecure unix"));
  }
  EXPECT_THAT(Call(channel), IsOkAndHolds(absl::StrCat("local uid ", geteuid())));
}

TEST_F(RpcServerTest, TheSocketOfOneUserTellsNobodyApart) {
  Start(absl::StrCat("unix:", folder_.path(), "/socket"));
  EXPECT_THAT(Call(server_->address()), IsOkAndHolds("insecure unix"));
}

// For five seconds: what is here does not ask how long it took.
TEST_F(RpcServerTest, AConnectionThatSaysNothingIsClosed) {
  Start("127.0.0.1:0");
  const UniqueFd silent(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port =
      htons(std::atoi(server_->address().substr(server_->address().rfind(':') + 1).c_str()));
  ASSERT_EQ(connect(silent.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  char bytes[256];
  ssize_t size = 1;
  while (size > 0) size = read(silent.get(), bytes, sizeof(bytes));  // The server's settings.
  EXPECT_EQ(size, 0);
}

TEST_F(RpcServerTest, HeadersAreBounded) {
  Start("127.0.0.1:0");
  grpc::ClientContext context;
  context.AddMetadata("x", std::string(16 << 10, 'x'));
  EXPECT_FALSE(Call(OpenChannel(server_->address(), ThisVersion("test")), context).ok());
  EXPECT_THAT(Call(server_->address()), IsOk());
}

}  // namespace
}  // namespace burnish
