#include "proto/rpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/logging.h"
#include "base/status_macros.h"
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

}  // namespace

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
  using Type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  server->acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      Type::FROM_FD,
      credentials == nullptr ? grpc::InsecureServerCredentials() : std::move(credentials));
  add(builder);
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr) {
    return absl::UnavailableError(absl::StrCat("cannot serve on ", listen));
  }
  ASSIGN_OR_RETURN(
      server->loop_,
      AcceptLoop::Start(
          std::move(sockets), limits, [acceptor = server->acceptor_.get()](int listener, int fd) {
            grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
            connection.listener_fd = listener;
            connection.fd = fd;
            acceptor->HandleNewConnection(&connection);
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
