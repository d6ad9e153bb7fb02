// Weights that several bundles have in common: those for smaller sizes want most of them as the
// bundle for the greatest does (docs/adr/0017-several-bounds.md).
#ifndef COMPILER_DRIVER_WEIGHT_POOL_H_
#define COMPILER_DRIVER_WEIGHT_POOL_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/graph/constant.h"

namespace burnish {

// Keeps all that goes in. Not for threads.
class WeightPool {
 public:
  // The first constant of these bytes, which may be this one.
  ConstantPtr Shared(const ConstantPtr& constant);

  // What a pack function is given.
  struct PackKey {
    std::string program_sha256;  // Of the function.
    // By input: a constant of Shared, and how it lies (StorageText).
    std::vector<std::pair<ConstantPtr, std::string>> inputs;

    friend auto operator<=>(const PackKey&, const PackKey&) = default;
  };
  // What it made of that; null: it did not run yet.
  const std::vector<ConstantPtr>* FindPacked(const PackKey& key) const;
  void AddPacked(PackKey key, std::vector<ConstantPtr> outputs);

 private:
  std::multimap<size_t, ConstantPtr> shared_;                       // By a hash of their bytes.
  std::map<std::pair<const uint8_t*, size_t>, ConstantPtr> known_;  // By address and size.
  std::map<PackKey, std::vector<ConstantPtr>> packed_;
};

}  // namespace burnish

#endif  // COMPILER_DRIVER_WEIGHT_POOL_H_
