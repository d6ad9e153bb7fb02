// The tracker on the network: gRPC's callback API around TrackerCore and ContentStore, with the
// standard health service and reflection.
#ifndef TRACKER_TRACKER_SERVICE_H_
#define TRACKER_TRACKER_SERVICE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/protocol.h"
#include "tracker/tracker_types.h"

namespace burnish {

struct TrackerServiceOptions {
  std::string listen = "localhost:0";  // "HOST:PORT", port 0 for any, or "unix:PATH".
  std::string secret = "";             // Callers must know it (LoopbackSecret); empty: none.
  TrackerOptions core = {};            // `first_epoch` is set by the service.
  int64_t artifact_bytes_max = 256 << 20;
  absl::Duration hang_max = absl::Seconds(5);  // Of Synchronize and CollectResults.
  // Of the secret of who may drain any worker; empty: each worker's own user alone may.
  std::string operator_sha256 = "";
  bool require_identity = false;  // Workers without a secret, of protocol 2, are turned away.
  Speaker self = ThisVersion("tracker");  // Another one in tests.
};

class TrackerService {
 public:
  // Serves when it returns. INVALID_ARGUMENT: not an address; UNAVAILABLE: cannot listen there.
  static absl::StatusOr<std::unique_ptr<TrackerService>> Start(
      const TrackerServiceOptions& options);
  // Answers hanging calls with UNAVAILABLE and stops.
  ~TrackerService();

  // Where it listens, for clients: with the port that was taken.
  const std::string& address() const;

 private:
  class Impl;
  explicit TrackerService(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace burnish

#endif  // TRACKER_TRACKER_SERVICE_H_
