// Artifacts by name, bounded: what was used least recently is forgotten first, and built again if
// somebody needs it.
#ifndef TRACKER_CONTENT_STORE_H_
#define TRACKER_CONTENT_STORE_H_

#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"

namespace burnish {

// Not thread-safe.
class ContentStore {
 public:
  explicit ContentStore(int64_t bytes_max) : bytes_max_(bytes_max) {}

  // `bytes`: as they travel. Makes room; larger than the whole store: is not kept. A name that is
  // there already is only touched: the same name stands for the same content.
  void Put(const std::string& sha256, std::string bytes);
  // Null: not there (any more).
  std::shared_ptr<const std::string> Get(const std::string& sha256);

  int64_t count() const { return static_cast<int64_t>(entries_.size()); }
  int64_t byte_count() const { return byte_count_; }

 private:
  struct Entry {
    std::shared_ptr<const std::string> bytes;
    std::list<std::string>::iterator place;
  };

  void Touch(Entry& entry);

  const int64_t bytes_max_;
  int64_t byte_count_ = 0;
  std::list<std::string> by_use_;  // Names, least recently used first.
  absl::flat_hash_map<std::string, Entry> entries_;
};

}  // namespace burnish

#endif  // TRACKER_CONTENT_STORE_H_
