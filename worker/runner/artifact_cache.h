// Artifacts by hash: the last ones used stay in memory, so that candidate 0 travels once.
#ifndef WORKER_RUNNER_ARTIFACT_CACHE_H_
#define WORKER_RUNNER_ARTIFACT_CACHE_H_

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace burnish {

// Thread-safe.
class ArtifactCache {
 public:
  using Fetch = std::function<absl::StatusOr<std::string>(const std::string& sha256)>;

  // `fetch`: thread-safe, such as ArtifactClient::Get. `bytes_max`: of what is kept beyond its use.
  ArtifactCache(Fetch fetch, size_t bytes_max) : fetch_(std::move(fetch)), bytes_max_(bytes_max) {}

  // `sha256`: 32 raw bytes. Errors are those of `fetch`.
  absl::StatusOr<std::shared_ptr<const std::string>> Get(const std::string& sha256);

 private:
  struct Entry {
    std::string sha256;
    std::shared_ptr<const std::string> bytes;
  };

  const Fetch fetch_;
  const size_t bytes_max_;
  std::mutex mutex_;          // For all below.
  std::list<Entry> entries_;  // The last used first.
  std::map<std::string, std::list<Entry>::iterator> by_sha256_;
  size_t bytes_ = 0;
};

}  // namespace burnish

#endif  // WORKER_RUNNER_ARTIFACT_CACHE_H_
