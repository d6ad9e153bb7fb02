// The sockets that a server listens on.
#ifndef PROTO_LISTEN_SOCKETS_H_
#define PROTO_LISTEN_SOCKETS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace burnish {

class ListenSockets {
 public:
  // `address`: "HOST:PORT", on each address that HOST has (port 0: one that is free on all of
  // them); "unix:PATH", where a socket that nobody listens on any more is replaced; or
  // "unix-abstract:NAME". Whoever connects from now on waits for accept(2), which does not block.
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

  std::vector<UniqueFd> files_;
  std::string address_;
  std::string path_;  // Of a unix socket; empty: has none.
  uint64_t inode_ = 0;
};

}  // namespace burnish

#endif  // PROTO_LISTEN_SOCKETS_H_
