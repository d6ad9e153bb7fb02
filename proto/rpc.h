// What every RPC client and server here shares: how to open a channel, which protocol both ends
// speak, and statuses.
#ifndef PROTO_RPC_H_
#define PROTO_RPC_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/protocol.h"

namespace grpc {
class Channel;
class ServerContextBase;
class Status;
}  // namespace grpc

namespace burnish {

// Messages may be this large in either direction: a batch of jobs or of results, never more than
// 2 MiB by their senders' rules, with one job's payload of 1 MiB on top.
inline constexpr int kRpcMessageBytesMax = 8 << 20;

// First in whatever uses gRPC, whose locks are Abseil's. Debian builds Abseil with its checks: each
// lock that a thread takes is then looked up in a graph of all locks, under one lock of the
// process.
void SkipLockChecks();

// `address`: "unix:PATH", "unix:///PATH", or "HOST:PORT". Opens no connection yet, and connects
// again by itself within a second. Each channel has a connection of its own. Ignores proxies.
// Every call says who speaks, and at a port of loopback the user's secret (LoopbackSecret). The
// answer of a server that does not speak a protocol of `self`, or none that says so, becomes a
// status that IsProtocolRefusal knows, whatever the server answered.
std::shared_ptr<grpc::Channel> OpenChannel(const std::string& address, const Speaker& self);

// The server's side of that.
class Greeter {
 public:
  // `secret`: what callers must know; empty: nothing.
  Greeter(Speaker self, absl::string_view secret);

  // First in every call: says who answers, and refuses a client that speaks another protocol, or
  // (UNAUTHENTICATED) does not know the secret. `usual_client`: who calls this, as far as one that
  // says nothing of itself is concerned.
  absl::Status Greet(grpc::ServerContextBase& context, absl::string_view usual_client) const;

 private:
  const Speaker self_;
  const std::string self_text_;
  const std::string secret_sha256_;  // Empty: none is asked for.
};

// Codes are the same in both; the message is kept, and so is what IsProtocolRefusal knows.
// RESOURCE_EXHAUSTED may come with a time to try again in the trailing metadata, which these leave
// alone.
absl::Status FromGrpc(const grpc::Status& status);
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace burnish

#endif  // PROTO_RPC_H_
