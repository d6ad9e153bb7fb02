// Puts artifacts into the tracker's content store and gets them out, for workers and tuners.
#ifndef PROTO_ARTIFACT_CLIENT_H_
#define PROTO_ARTIFACT_CLIENT_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace burnish {

// Thread-safe. A call blocks for at most ten seconds, also while the tracker cannot be reached.
class ArtifactClient {
 public:
  explicit ArtifactClient(const std::string& address);
  explicit ArtifactClient(std::shared_ptr<grpc::Channel> channel);
  ~ArtifactClient();

  // Returns the name: SHA-256, 32 raw bytes. INVALID_ARGUMENT: larger than 1 MiB when compressed.
  // UNAVAILABLE, DEADLINE_EXCEEDED: no tracker.
  absl::StatusOr<std::string> Put(absl::string_view artifact);

  // What the name stands for, checked. NOT_FOUND: the store has forgotten it, have it built again.
  // DATA_LOSS: it came damaged.
  absl::StatusOr<std::string> Get(const std::string& sha256);

 private:
  struct Stub;
  std::unique_ptr<Stub> stub_;
};

}  // namespace burnish

#endif  // PROTO_ARTIFACT_CLIENT_H_
