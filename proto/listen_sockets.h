// The sockets that a server listens on.
#ifndef PROTO_LISTEN_SOCKETS_H_
#define PROTO_LISTEN_SOCKETS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/unique_fd.h"
#include "proto/door.h"

namespace burnish {

class ListenSockets {
 public:
  // `address`: "HOST:PORT", on each address that HOST has (port 0: one that is free on all of
  // them); "unix:PATH", where a socket that nobody listens on any more is replaced; or
  // "unix-abstract:NAME". Whoever connects from now on waits for accept(2), which does not block.
  // Or what TakeInheritedSockets has returned, whose files stay their maker's.
  // INVALID_ARGUMENT: no such address; UNAVAILABLE: it cannot be had.
  static absl::StatusOr<ListenSockets> Open(const std::string& address);
  ListenSockets(ListenSockets&&) = default;
  // Removes the file of a unix socket, unless another has taken its place.
  ~ListenSockets();

  const std::vector<UniqueFd>& files() const { return files_; }
  // For clients: with the port that was taken.
  const std::string& address() const { return address_; }

 private:
  ListenSockets() = default;
  absl::Status OpenUnix(const std::string& name, bool is_abstract);
  absl::Status OpenTcp(const std::string& host, const std::string& port);
  absl::Status OpenInherited(absl::string_view count_text);

  std::vector<UniqueFd> files_;
  std::string address_;
  std::string path_;  // Of a unix socket; empty: has none.
  uint64_t inode_ = 0;
};

// Sockets that a service manager has opened and listens on (sd_listen_fds(3)).
struct InheritedSockets {
  std::string listen = "";                  // For ListenSockets::Open; empty: there are none.
  std::vector<std::string> addresses = {};  // Of each.
};

// Takes those of this process: its variables go, and no child gets the sockets. To be called before
// there are other threads. INVALID_ARGUMENT: one is no stream socket that listens, or the variables
// say nothing.
absl::StatusOr<InheritedSockets> TakeInheritedSockets(const GetEnv& getenv = SystemGetEnv);

struct ListenDoor {
  std::string listen = "";  // For ListenSockets::Open.
  std::string secret = "";  // That callers there must know (LoopbackSecret).
};

// Where a daemon listens: at `address`; where that is empty, at what it inherits, and else on a
// socket of this user for the program of that name. INVALID_ARGUMENT: CheckDoor's, and more than
// one of these; PERMISSION_DENIED: UserSocket's.
absl::StatusOr<ListenDoor> FindListenDoor(const std::string& address, absl::string_view program,
                                          bool insecure, const GetEnv& getenv = SystemGetEnv);

}  // namespace burnish

#endif  // PROTO_LISTEN_SOCKETS_H_
