// Puts artifacts into the tracker's content store and gets them out, for workers.
#ifndef PROTO_ARTIFACT_CLIENT_H_
#define PROTO_ARTIFACT_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/synchronize.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace burnish {

// The build that an artifact comes from: a worker's process, and the lease that it has.
struct ArtifactSource {
  std::string worker_id = "";
  int64_t incarnation = 0;
  Lease lease = {};
};

// Thread-safe. A call blocks for at most ten seconds, also while the tracker cannot be reached.
class ArtifactClient {
 public:
  // `channel`: the worker's own, which it has to the tracker already.
  explicit ArtifactClient(std::shared_ptr<grpc::Channel> channel);
  ~ArtifactClient();

  // Returns the name: SHA-256, 32 raw bytes. INVALID_ARGUMENT: larger than 1 MiB when compressed.
  // PERMISSION_DENIED: `source` has no such lease (any more). UNAVAILABLE, DEADLINE_EXCEEDED: no
  // tracker, or one that was restarted and has not heard of the lease.
  absl::StatusOr<std::string> Put(absl::string_view artifact, const ArtifactSource& source);

  // What the name stands for, checked. NOT_FOUND: the store has forgotten it, have it built again.
  // DATA_LOSS: it came damaged.
  absl::StatusOr<std::string> Get(const std::string& sha256);

 private:
  struct Stub;
  std::unique_ptr<Stub> stub_;
};

}  // namespace burnish

#endif  // PROTO_ARTIFACT_CLIENT_H_
