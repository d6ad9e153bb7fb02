#include <algorithm>

#include "base/extra_row.h"
#include "compiler/schedule/primitive.h"
#include "compiler/schedule/primitives/primitives.h"

namespace burnish {
namespace {

using enum ArgumentType;

constexpr ArgumentSpec kBind[] = {{"thread", kWord}};
constexpr ArgumentSpec kComputeAt[] = {{"inside", kWord}, {"align", kInteger}};
constexpr ArgumentSpec kPrefetch[] = {
    {"next", kWord}, {"at", kWord}, {"this", kWord}, {"to", kWord}};
constexpr ArgumentSpec kRelayout[] = {{"dims", kWords}};
constexpr ArgumentSpec kRfactor[] = {{"loop", kWord}};
constexpr ArgumentSpec kSplit[] = {
    {"max", kInteger}, {"size", kInteger}, {"parts", kInteger}, {"tail", kWord}};
constexpr ArgumentSpec kStage[] = {{"inside", kWord}, {"scope", kWord}};
constexpr ArgumentSpec kTensorize[] = {{"intrinsic", kWord}};
constexpr ArgumentSpec kVectorize[] = {{"lanes", kInteger}};
constexpr ArgumentSpec kWinograd[] = {{"m", kInteger}, {"weights", kWord}};

// Versions are for ever: a primitive whose meaning changes gets a new line, and the old one stays.
constexpr Primitive kPrimitives[] = {
    {"bind", 1, kBind, ApplyBind},
    {"border", 1, {}, ApplyBorder},
    {"compute_at", 1, kComputeAt, ApplyComputeAt},
    {"fuse", 1, {}, ApplyFuse},
    {"inline", 1, {}, ApplyInline},
    {"parallel", 1, {}, ApplyParallel},
    {"precompute", 1, {}, ApplyPrecompute},
    {"prefetch", 1, kPrefetch, ApplyPrefetch},
    {"relayout", 1, kRelayout, ApplyRelayout},
    {"reorder", 1, {}, ApplyReorder},
    {"rfactor", 1, kRfactor, ApplyRfactor},
    {"split", 1, kSplit, ApplySplit},
    {"stage", 1, kStage, ApplyStage},
    {"stream", 1, {}, ApplyStream},
    {"tensorize", 1, kTensorize, ApplyTensorize},
    {"unroll", 1, {}, ApplyUnroll},
    {"vectorize", 1, kVectorize, ApplyVectorize},
    {"winograd", 1, kWinograd, ApplyWinograd},
};

}  // namespace

const Primitive* FindPrimitive(absl::string_view name, int version) {
  for (const Primitive& primitive : kPrimitives) {
    if (name == primitive.name && version == primitive.version) return &primitive;
  }
  for (const Primitive* primitive : ExtraRow<Primitive>::All()) {
    if (name == primitive->name && version == primitive->version) return primitive;
  }
  return nullptr;
}

std::vector<const Primitive*> AllPrimitives() {
  std::vector<const Primitive*> all;
  for (const Primitive& primitive : kPrimitives) all.push_back(&primitive);
  for (const Primitive* primitive : ExtraRow<Primitive>::All()) all.push_back(primitive);
  return all;
}

}  // namespace burnish
