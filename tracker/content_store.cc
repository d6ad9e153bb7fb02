#include "tracker/content_store.h"

#include <utility>

namespace burnish {

void ContentStore::Touch(Entry& entry) { by_use_.splice(by_use_.end(), by_use_, entry.place); }

void ContentStore::Put(const std::string& sha256, std::string bytes) {
  if (const auto known = entries_.find(sha256); known != entries_.end()) {
    Touch(known->second);
    return;
  }
  const int64_t size = static_cast<int64_t>(bytes.size());
  if (size > bytes_max_) return;
  while (byte_count_ + size > bytes_max_) {
    const auto oldest = entries_.find(by_use_.front());
    byte_count_ -= static_cast<int64_t>(oldest->second.bytes->size());
    entries_.erase(oldest);
    by_use_.pop_front();
  }
  byte_count_ += size;
  const auto place = by_use_.insert(by_use_.end(), sha256);
  entries_[sha256] = {std::make_shared<const std::string>(std::move(bytes)), place};
}

std::shared_ptr<const std::string> ContentStore::Get(const std::string& sha256) {
  const auto entry = entries_.find(sha256);
  if (entry == entries_.end()) return nullptr;
  Touch(entry->second);
  return entry->second.bytes;
}

}  // namespace burnish
