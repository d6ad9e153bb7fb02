#include "proto/rpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"
#include "proto/accept_core.h"
#include "proto/accept_loop.h"
#include "proto/door.h"
#include "proto/listen_sockets.h"
#include "proto/rpc.h"

namespace burnish {
namespace {

constexpr std::chrono::seconds kShutdownGrace(1);
// A connection whose client says nothing, or does not end its handshake, is closed. A client of
// ours takes milliseconds; one far away with TLS, a second.
constexpr int kHandshakeTimeoutMs = 5'000;
// A worker has two calls under way at a time, a tuner four; more wait for their turn. Each may cost
// a message (kRpcMessageBytesMax).
constexpr int kStreamsMax = 64;
// A connection without a call. Workers and tuners always have one hanging; others connect again
// within a millisecond.
constexpr int kIdleMs = 60'000;
// Our own metadata is some 200 bytes. What gRPC allows by default, written out since we rely on it.
constexpr int kMetadataBytesMax = 8 << 10;
// A client that vanished without a word frees its place although it has a call under way.
constexpr int kKeepaliveMs = 30'000;
constexpr int kKeepaliveTimeoutMs = 10'000;
// Clients send a ping every 20 s while a call hangs (rpc.cc).
constexpr int kPingIntervalMinMs = 10'000;

// Users of one socket who are told apart. Those who come later count as one. Not tuned.
constexpr size_t kUsersMax = 32;
constexpr char kUserProperty[] = "burnish_user";

using Acceptor = grpc::experimental::ExternalConnectionAcceptor;
using ConnectionType = grpc::ServerBuilder::experimental_type::ExternalConnectionType;

void SetLimits(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(kRpcMessageBytesMax);
  for (const auto& [name, value] : {
           std::pair(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeTimeoutMs),
           std::pair(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsMax),
           std::pair(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMs),
           std::pair(GRPC_ARG_MAX_METADATA_SIZE, kMetadataBytesMax),
           std::pair(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs),
           std::pair(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs),
           std::pair(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kPingIntervalMinMs),
       }) {
    builder.AddChannelArgument(name, value);
  }
}

// Writes the user of a connection where its calls can read it.
class UserMark : public grpc::AuthMetadataProcessor {
 public:
  void Set(const std::string& user) {
    const std::lock_guard lock(mutex_);
    user_ = user;
  }
  // gRPC would start a thread for each call.
  bool IsBlocking() const override { return false; }
  grpc::Status Process(const InputMetadata& /*metadata*/, grpc::AuthContext* connection,
                       OutputMetadata* /*consumed*/, OutputMetadata* /*response*/) override {
    // All calls of a connection share this, and read it without a lock once they are through here.
    // So the first alone writes.
    const std::lock_guard lock(mutex_);
    if (connection->FindPropertyValues(kUserProperty).empty()) {
      connection->AddProperty(kUserProperty, user_);
    }
    return grpc::Status::OK;
  }

 private:
  std::mutex mutex_;
  std::string user_;
};

// Whether others than this user may enter: their connections' users are told apart.
bool IsShared(const ListenSockets& sockets) {
  if (IsOwnDoor(sockets.address())) return false;
  return std::any_of(sockets.files().begin(), sockets.files().end(), [](const UniqueFd& file) {
    sockaddr_storage address = {};
    socklen_t size = sizeof(address);
    return getsockname(file.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
           address.ss_family == AF_UNIX;
  });
}

}  // namespace

// An acceptor for each user who has connected by a unix socket. gRPC tells a call nothing of its
// socket, and has acceptors made before it starts; but what they are made with, it does.
class SocketUsers {
 public:
  explicit SocketUsers(grpc::ServerBuilder& builder) {
    for (Place& place : places_) {
      const auto credentials = grpc::experimental::LocalServerCredentials(UDS);
      credentials->SetAuthMetadataProcessor(place.mark);
      place.acceptor = builder.experimental().AddExternalConnectionAcceptor(ConnectionType::FROM_FD,
                                                                            credentials);
    }
  }

  // Null: of no user, or of one who came after kUsersMax others. One thread at a time.
  Acceptor* Of(const std::string& address) {
    if (!absl::StartsWith(address, kUserPrefix)) return nullptr;
    for (Place& place : places_) {
      if (place.user.empty()) place.mark->Set(place.user = address);
      if (place.user == address) return place.acceptor.get();
    }
    return nullptr;
  }

 private:
  struct Place {
    std::string user;  // Empty: nobody's yet.
    std::shared_ptr<UserMark> mark = std::make_shared<UserMark>();
    std::unique_ptr<Acceptor> acceptor;
  };
  std::array<Place, kUsersMax> places_;
};

std::string CallerKey(const grpc::ServerContextBase& context) {
  const std::string client = ClientKey(context.peer());
  if (client != kUnixClient) return client;
  const auto user = context.auth_context()->FindPropertyValues(kUserProperty);
  return user.empty() ? client : std::string(user[0].data(), user[0].size());
}

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(
    const std::string& listen, absl::FunctionRef<void(grpc::ServerBuilder&)> add,
    std::shared_ptr<grpc::ServerCredentials> credentials) {
  SkipLockChecks();
  // Both are switches of the process, to be thrown before its first server is built.
  static const bool plugins_ready = [] {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    return true;
  }();
  CHECK(plugins_ready);
  const int64_t files_max = RaiseFileLimit();
  ASSIGN_OR_RETURN(const AcceptLimits limits, LimitsOfFiles(files_max));
  // First: whoever connects while the server is built waits.
  ASSIGN_OR_RETURN(ListenSockets sockets, ListenSockets::Open(listen));
  std::unique_ptr<RpcServer> server(new RpcServer(sockets.address(), limits));
  grpc::ServerBuilder builder;
  SetLimits(builder);
  if (credentials == nullptr && IsShared(sockets)) {
    server->users_ = std::make_unique<SocketUsers>(builder);
  }
  server->acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      ConnectionType::FROM_FD,
      credentials == nullptr ? grpc::InsecureServerCredentials() : std::move(credentials));
  add(builder);
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr) {
    return absl::UnavailableError(absl::StrCat("cannot serve on ", listen));
  }
  ASSIGN_OR_RETURN(
      server->loop_,
      AcceptLoop::Start(std::move(sockets), limits,
                        [users = server->users_.get(), all = server->acceptor_.get()](
                            int listener, const Connection& connection) {
                          Acceptor* const own =
                              users == nullptr ? nullptr : users->Of(connection.address);
                          Acceptor::NewConnectionParameters parameters;
                          parameters.listener_fd = listener;
                          parameters.fd = connection.fd;
                          (own == nullptr ? all : own)->HandleNewConnection(&parameters);
                        }));
  LogInfo(absl::StrCat("has room for ", limits.connections_max, " connections, ",
                       limits.connections_per_address_max, " of one address; may have ", files_max,
                       " files open"));
  return server;
}

RpcServer::RpcServer(std::string address, AcceptLimits limits)
    : address_(std::move(address)), limits_(limits) {}

RpcServer::~RpcServer() {
  loop_.reset();
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now() + kShutdownGrace);
  server_->Wait();
}

void RpcServer::SetNotServing() {
  if (grpc::HealthCheckServiceInterface* health = server_->GetHealthCheckService()) {
    health->SetServingStatus(false);
  }
}

}  // namespace burnish
