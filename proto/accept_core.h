// Whom a listener takes in, whatever comes. Pure: files, addresses and time are arguments, and
// accept_loop.h asks the kernel. A listener never ends by itself: no error is taken for its end.
#ifndef PROTO_ACCEPT_CORE_H_
#define PROTO_ACCEPT_CORE_H_

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace burnish {

struct AcceptLimits {
  int connections_max = 0;
  int connections_per_address_max = 0;
};

// Of a process that may have `files_max` files open, some of which are for other things.
// FAILED_PRECONDITION, with what to do: too few to serve anybody.
absl::StatusOr<AcceptLimits> LimitsOfFiles(int64_t files_max);

// Before a number: a user of this machine.
inline constexpr absl::string_view kUserPrefix = "uid ";
// All users of a unix socket, where they are not told apart.
inline constexpr absl::string_view kUnixClient = "unix";

// What counts as one address: "10.0.0.1"; the network of an IPv6 address, "2001:db8::/64", all of
// whose addresses are usually one host's; of a unix socket the peer's user, "uid 1000".
std::string AddressKey(const sockaddr_storage& peer, uid_t uid);
// The same of a call's peer, as gRPC writes it: "ipv4:10.0.0.1:4711". All users of a unix socket
// are one, kUnixClient; CallerKey (rpc_server.h) tells them apart.
std::string ClientKey(absl::string_view peer);

// The same for the question whether two callers are two machines: "local" for this machine, however
// it calls (by a unix socket, a loopback address, or one of its own). Two networks of one machine,
// such as those of containers, are two all the same.
std::string HostKey(absl::string_view peer);

enum class AcceptVerdict {
  kServe,
  kRefuse,  // Close it: there are too many.
  kNext,    // That one is gone before it was taken. There may be others.
  kShed,    // No file is left: take it with the spare one, and close it.
  kWait,    // Until another one comes.
  kPause,   // Nothing can be done now. Try again a little later.
};

struct Connection {
  int fd = -1;
  uint64_t cookie = 0;  // Of the socket: unlike `fd`, never another's while the host is up.
  std::string address = "";
};

class AcceptCore {
 public:
  // `is_open`: whether the file is that socket still. Whoever serves a connection closes it without
  // a word, so this is asked where a limit is reached. A file's number that comes again says so
  // too.
  AcceptCore(AcceptLimits limits, std::function<bool(const Connection&)> is_open);

  // A connection has come. Counts it, where it is to be served.
  AcceptVerdict Came(absl::Time now, const Connection& connection);
  // accept(2) failed with `error`.
  AcceptVerdict Failed(int error);

  // Of those that are served, and that may have ended since.
  int connection_count() const { return static_cast<int>(connections_.size()); }
  // For the log, at most every ten seconds: who was turned away. Empty: nothing to say.
  std::string TakeNotice(absl::Time now);

 private:
  bool IsFull(const std::string& address) const;
  void Forget(std::map<int, Connection>::iterator connection);
  void Sweep();

  const AcceptLimits limits_;
  const std::function<bool(const Connection&)> is_open_;
  std::map<int, Connection> connections_;  // By file.
  std::map<std::string, int> counts_;      // By address; none is 0.
  absl::Time swept_at_ = absl::InfinitePast();
  absl::Time noticed_at_ = absl::InfinitePast();
  int64_t refused_ = 0, shed_ = 0;  // Since the last notice.
  std::string refused_address_;     // The last.
};

}  // namespace burnish

#endif  // PROTO_ACCEPT_CORE_H_
