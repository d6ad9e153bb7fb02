// What every RPC client and server here shares: how to open a channel, and statuses.
#ifndef PROTO_RPC_H_
#define PROTO_RPC_H_

#include <memory>
#include <string>

#include "absl/status/status.h"

namespace grpc {
class Channel;
class Status;
}  // namespace grpc

namespace burnish {

// Messages may be this large in either direction: a batch of jobs or of results, never more than
// 2 MiB by their senders' rules, with one job's payload of 1 MiB on top.
inline constexpr int kRpcMessageBytesMax = 8 << 20;

// `address`: "unix:PATH", "unix:///PATH", or "HOST:PORT". Opens no connection yet, and connects
// again by itself within a second. Each channel has a connection of its own. Ignores proxies.
std::shared_ptr<grpc::Channel> OpenChannel(const std::string& address);

// Codes are the same in both; the message is kept. RESOURCE_EXHAUSTED may come with a time to try
// again in the trailing metadata, which these leave alone.
absl::Status FromGrpc(const grpc::Status& status);
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace burnish

#endif  // PROTO_RPC_H_
