// What every RPC server here shares: how it listens, says how it is, and stops.
#ifndef PROTO_RPC_SERVER_H_
#define PROTO_RPC_SERVER_H_

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace grpc {
class Server;
class ServerBuilder;
}  // namespace grpc

namespace burnish {

// With the health service and reflection.
class RpcServer {
 public:
  // `listen`: "HOST:PORT" (port 0: any that is free) or "unix:PATH". `add` registers services,
  // which outlive the server, and what else is special to it. INVALID_ARGUMENT: no such address;
  // UNAVAILABLE: it cannot be listened on.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(
      const std::string& listen, absl::FunctionRef<void(grpc::ServerBuilder&)> add);
  // Waits for calls to end, and breaks them after a second.
  ~RpcServer();

  // As clients may give it: `listen` with the port that was taken.
  const std::string& address() const { return address_; }
  // The health service says so from now on.
  void SetNotServing();

 private:
  RpcServer(std::unique_ptr<grpc::Server> server, std::string address);

  const std::unique_ptr<grpc::Server> server_;
  const std::string address_;
};

}  // namespace burnish

#endif  // PROTO_RPC_SERVER_H_
