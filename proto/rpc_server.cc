#include "proto/rpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <chrono>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "proto/door.h"
#include "proto/rpc.h"

namespace burnish {
namespace {

constexpr std::chrono::seconds kShutdownGrace(1);

}  // namespace

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(
    const std::string& listen, absl::FunctionRef<void(grpc::ServerBuilder&)> add) {
  // Both are switches of the process, to be thrown before its first server is built.
  static const bool plugins_ready = [] {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    return true;
  }();
  CHECK(plugins_ready);
  RETURN_IF_ERROR(CheckAddress(listen));
  const bool is_unix = absl::StartsWith(listen, "unix:");
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(listen, grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(kRpcMessageBytesMax);
  // Else two servers could share one port, each with half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Clients send a ping every 20 s while a call hangs (rpc.cc).
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  add(builder);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || (!is_unix && port == 0)) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", listen));
  }
  std::string address =
      is_unix ? listen : absl::StrCat(listen.substr(0, listen.rfind(':') + 1), port);
  return std::unique_ptr<RpcServer>(new RpcServer(std::move(server), std::move(address)));
}

RpcServer::RpcServer(std::unique_ptr<grpc::Server> server, std::string address)
    : server_(std::move(server)), address_(std::move(address)) {}

RpcServer::~RpcServer() {
  server_->Shutdown(std::chrono::system_clock::now() + kShutdownGrace);
  server_->Wait();
}

void RpcServer::SetNotServing() {
  if (grpc::HealthCheckServiceInterface* health = server_->GetHealthCheckService()) {
    health->SetServingStatus(false);
  }
}

}  // namespace burnish
