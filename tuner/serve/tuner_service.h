// The central tuner on the network: the Tuner service of proto/tuner.proto around a StudyHost and
// its database, with the standard health service and reflection.
#ifndef TUNER_SERVE_TUNER_SERVICE_H_
#define TUNER_SERVE_TUNER_SERVICE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "db/open.h"
#include "proto/protocol.h"
#include "tuner/serve/study_host.h"

namespace burnish {

struct TunerServiceOptions {
  std::string listen = "localhost:0";  // "HOST:PORT", port 0 for any, or "unix:PATH".
  std::string secret = "";             // Callers must know it (LoopbackSecret); empty: none.
  // These three are not null and outlive the service.
  StudyHost* host = nullptr;
  const Database* database = nullptr;
  const Clock* clock = nullptr;
  int64_t model_bytes_max = int64_t{1} << 30;  // Of a model file that is sent.
  int uploads_max = 2;  // Models that are sent at the same time, each in memory.
  // A client that sends nothing of a submit for this long is given up: others wait for its place.
  absl::Duration upload_silence_max = absl::Seconds(30);
  int watchers_max = 64;
  Speaker self = ThisVersion("tuner serve");  // Another one in tests.
};

class TunerService {
 public:
  // Serves when it returns. INVALID_ARGUMENT: not an address; UNAVAILABLE: cannot listen there.
  static absl::StatusOr<std::unique_ptr<TunerService>> Start(const TunerServiceOptions& options);
  // Ends what hangs, and stops.
  ~TunerService();

  // Where it listens, for clients: with the port that was taken.
  const std::string& address() const;

 private:
  class Impl;
  explicit TunerService(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace burnish

#endif  // TUNER_SERVE_TUNER_SERVICE_H_
