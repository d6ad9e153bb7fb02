// Accepts connections for a server, on a thread of its own. gRPC 1.51's own loop ends for good when
// accept(2) fails once (CVE-2023-4785); this one goes on whatever happens, and bounds what comes.
#ifndef PROTO_ACCEPT_LOOP_H_
#define PROTO_ACCEPT_LOOP_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "proto/accept_core.h"
#include "proto/listen_sockets.h"

namespace burnish {

// Raises the soft limit of open files to the hard one, and returns it.
int64_t RaiseFileLimit();

// Gets each connection that is let in, and owns its file, which does not block.
using AcceptServe = std::function<void(int listener, const Connection& connection)>;

class AcceptLoop {
 public:
  // UNAVAILABLE: no file is left for what it needs itself.
  static absl::StatusOr<std::unique_ptr<AcceptLoop>> Start(ListenSockets sockets,
                                                           AcceptLimits limits, AcceptServe serve);
  // Listens no more; `serve` is not called any more when this returns.
  ~AcceptLoop();

 private:
  AcceptLoop(ListenSockets sockets, AcceptLimits limits, AcceptServe serve);
  void Run();
  // All that wait at one socket. False: to be tried again later.
  bool AcceptAll(int listener);
  void Serve(int listener, int fd);
  // False: nobody waits there.
  bool Shed(int listener);

  const ListenSockets sockets_;
  const AcceptServe serve_;
  AcceptCore core_;  // Of the thread.
  UniqueFd
      spare_;      // Likewise. Given up for a moment to take, and close, what there is no file for.
  UniqueFd stop_;  // An eventfd.
  std::thread thread_;
};

}  // namespace burnish

#endif  // PROTO_ACCEPT_LOOP_H_
