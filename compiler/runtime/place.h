// Where bytes of a bundle's run lie.
#ifndef COMPILER_RUNTIME_PLACE_H_
#define COMPILER_RUNTIME_PLACE_H_

#include <cstdint>

namespace burnish {

// Stored: never reused.
enum class Region : uint8_t {
  kArena = 1,    // Activations of one session; `index` is 0.
  kWeights = 2,  // The bundle's weights section; `index` is 0. Read only.
  kInput = 3,    // Storage of model input `index`. Read only.
  kOutput = 4,   // Storage of model output `index`.
  kWalker = 5,   // Where walker `index` is in the present iteration (control_program.h).
};

// A place in memory: `offset_bytes` into a region.
struct Place {
  Region region = Region::kArena;
  uint32_t index = 0;
  uint64_t offset_bytes = 0;

  friend bool operator==(const Place&, const Place&) = default;
};

template <typename Archive>
void Fields(Archive& archive, Place& place) {
  archive.Number(place.region);
  archive.Number(place.index);
  archive.Number(place.offset_bytes);
}

}  // namespace burnish

#endif  // COMPILER_RUNTIME_PLACE_H_
