#include <algorithm>

#include "compiler/schedule/primitive.h"
#include "compiler/schedule/primitives/primitives.h"

namespace burnish {
namespace {

// Versions are for ever: a primitive whose meaning changes gets a new line, and the old one stays.
constexpr Primitive kPrimitives[] = {
    {"bind", 1, ApplyBind},
    {"border", 1, ApplyBorder},
    {"compute_at", 1, ApplyComputeAt},
    {"fuse", 1, ApplyFuse},
    {"inline", 1, ApplyInline},
    {"parallel", 1, ApplyParallel},
    {"precompute", 1, ApplyPrecompute},
    {"prefetch", 1, ApplyPrefetch},
    {"relayout", 1, ApplyRelayout},
    {"reorder", 1, ApplyReorder},
    {"rfactor", 1, ApplyRfactor},
    {"split", 1, ApplySplit},
    {"stage", 1, ApplyStage},
    {"stream", 1, ApplyStream},
    {"tensorize", 1, ApplyTensorize},
    {"unroll", 1, ApplyUnroll},
    {"vectorize", 1, ApplyVectorize},
    {"winograd", 1, ApplyWinograd},
};

}  // namespace

const Primitive* FindPrimitive(absl::string_view name, int version) {
  for (const Primitive& primitive : kPrimitives) {
    if (name == primitive.name && version == primitive.version) return &primitive;
  }
  return nullptr;
}

std::vector<const Primitive*> AllPrimitives() {
  std::vector<const Primitive*> all;
  for (const Primitive& primitive : kPrimitives) all.push_back(&primitive);
  return all;
}

}  // namespace burnish
