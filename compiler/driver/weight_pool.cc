#include "compiler/driver/weight_pool.h"

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"

namespace burnish {
namespace {

absl::string_view TextOf(const ConstantData& constant) {
  return {reinterpret_cast<const char*>(constant.bytes().data()), constant.bytes().size()};
}

}  // namespace

ConstantPtr WeightPool::Shared(const ConstantPtr& constant) {
  const std::pair address(constant->bytes().data(), constant->bytes().size());
  // All constants that are known are kept, so that nothing else lies there.
  if (const auto known = known_.find(address); known != known_.end()) return known->second;
  const absl::string_view text = TextOf(*constant);
  const size_t hash = absl::HashOf(text);
  const auto [begin, end] = shared_.equal_range(hash);
  for (auto other = begin; other != end; ++other) {
    if (TextOf(*other->second) == text) return other->second;
  }
  shared_.emplace(hash, constant);
  known_.emplace(address, constant);
  return constant;
}

const std::vector<ConstantPtr>* WeightPool::FindPacked(const PackKey& key) const {
  const auto found = packed_.find(key);
  return found == packed_.end() ? nullptr : &found->second;
}

void WeightPool::AddPacked(PackKey key, std::vector<ConstantPtr> outputs) {
  packed_.emplace(std::move(key), std::move(outputs));
}

}  // namespace burnish
