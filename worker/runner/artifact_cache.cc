#include "worker/runner/artifact_cache.h"

#include "base/status_macros.h"
#include "proto/artifact_codec.h"

namespace burnish {

absl::StatusOr<std::shared_ptr<const std::string>> ArtifactCache::Get(const std::string& sha256) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const auto found = by_sha256_.find(sha256); found != by_sha256_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return found->second->bytes;
    }
  }
  ASSIGN_OR_RETURN(std::string fetched, fetch_(sha256));
  // Whoever fetches may check as well. This is the last place before the bytes are code: nothing
  // runs but what the order names.
  if (ArtifactSha256(fetched) != sha256) {
    return absl::DataLossError("the content store gave other bytes than the order names");
  }
  const auto bytes = std::make_shared<const std::string>(std::move(fetched));
  const std::lock_guard<std::mutex> lock(mutex_);
  // Another thread may have been quicker.
  if (by_sha256_.count(sha256) > 0) return bytes;
  entries_.push_front({.sha256 = sha256, .bytes = bytes});
  by_sha256_[sha256] = entries_.begin();
  bytes_ += bytes->size();
  while (bytes_ > bytes_max_) {
    bytes_ -= entries_.back().bytes->size();
    by_sha256_.erase(entries_.back().sha256);
    entries_.pop_back();
  }
  return bytes;
}

}  // namespace burnish
