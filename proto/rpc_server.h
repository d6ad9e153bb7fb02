// What every RPC server here shares: how it listens, says how it is, and stops.
#ifndef PROTO_RPC_SERVER_H_
#define PROTO_RPC_SERVER_H_

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "proto/accept_core.h"
#include "proto/accept_loop.h"

namespace grpc {
class Server;
class ServerBuilder;
class ServerContextBase;
class ServerCredentials;
namespace experimental {
class ExternalConnectionAcceptor;
}  // namespace experimental
}  // namespace grpc

namespace burnish {

class SocketUsers;

// Who calls a server, as far as clients share it: ClientKey, but of a unix socket that several
// users may enter the one of them, "uid 1000".
std::string CallerKey(const grpc::ServerContextBase& context);

// With the health service and reflection. Whatever strangers send and hold open, others are served:
// connections are bounded, in all and by address, and end when they are silent or idle; so are
// streams, headers and messages. Whoever finds no room is turned away, and finds it again as soon
// as there is some.
class RpcServer {
 public:
  // `listen`: "HOST:PORT" (port 0: any that is free), "unix:PATH" or "unix-abstract:NAME". `add`
  // registers services, which outlive the server, and what else is special to it. `credentials`:
  // null for none. Raises the process's limit of open files as far as it may. INVALID_ARGUMENT: no
  // such address; UNAVAILABLE: it cannot be listened on; FAILED_PRECONDITION: too few open files.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(
      const std::string& listen, absl::FunctionRef<void(grpc::ServerBuilder&)> add,
      std::shared_ptr<grpc::ServerCredentials> credentials = nullptr);
  // Waits for calls to end, and breaks them after a second.
  ~RpcServer();

  // As clients may give it: `listen` with the port that was taken.
  const std::string& address() const { return address_; }
  // How many connections it has room for.
  const AcceptLimits& limits() const { return limits_; }
  // The health service says so from now on.
  void SetNotServing();

 private:
  RpcServer(std::string address, AcceptLimits limits);

  const std::string address_;
  const AcceptLimits limits_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<SocketUsers> users_;  // Null: of a socket that one user alone may enter, or none.
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<AcceptLoop> loop_;  // First to go: it hands connections to the server.
};

}  // namespace burnish

#endif  // PROTO_RPC_SERVER_H_
