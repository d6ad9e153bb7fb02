#include "compiler/runtime/session_sizes.h"

#include <cstring>
#include <string>

namespace burnish {
namespace {

// "size "NAME" is N, want LEAST to GREATEST".
RuntimeStatus OutOfRange(RuntimeCode code, const RunSize& size, int64_t extent) {
  return RuntimeStatus(code, "size \"" + size.name + "\" is " + std::to_string(extent) + ", want " +
                                 std::to_string(size.least) + " to " +
                                 std::to_string(size.greatest));
}

bool IsWithin(const RunSize& size, int64_t extent) {
  return extent >= size.least && extent <= size.greatest;
}

}  // namespace

SessionSizes::SessionSizes(const BundleManifest& manifest)
    : manifest_(manifest),
      sizes_(manifest.run_sizes.sizes),
      is_given_(manifest.run_sizes.GivenSizes()) {
  for (size_t i = 0; i < sizes_.size(); ++i) {
    extents_.push_back(is_given_[i] ? sizes_[i].greatest : sizes_[i].least);
  }
}

RuntimeStatus SessionSizes::Check(std::span<const int64_t> extents) const {
  if (extents.size() != sizes_.size()) {
    return RuntimeStatus(
        RuntimeCode::kInvalidArgument,
        "got " + std::to_string(extents.size()) + " sizes, want " + std::to_string(sizes_.size()));
  }
  for (size_t i = 0; i < sizes_.size(); ++i) {
    if (is_given_[i] && !IsWithin(sizes_[i], extents[i])) {
      return OutOfRange(RuntimeCode::kInvalidArgument, sizes_[i], extents[i]);
    }
  }
  return RuntimeStatus();
}

bool SessionSizes::Take(std::span<const int64_t> extents) {
  bool is_other = false;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (!is_given_[i]) continue;
    is_other = is_other || extents_[i] != extents[i];
    extents_[i] = extents[i];
  }
  return is_other;
}

void SessionSizes::TakeAll(std::span<const int64_t> extents) {
  extents_.assign(extents.begin(), extents.end());
}

bool SessionSizes::AreServedBy(const std::vector<RunSize>& sizes,
                               std::span<const int64_t> extents) const {
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (is_given_[i] && !IsWithin(sizes[i], extents[i])) return false;
  }
  return true;
}

void SessionSizes::Write(const SessionMemory& memory) const {
  for (size_t i = 0; i < extents_.size(); ++i) {
    if (!is_given_[i]) continue;
    std::memcpy(memory.Address(sizes_[i].place), &extents_[i], sizeof(extents_[i]));
  }
}

RuntimeStatus SessionSizes::Read(const SessionMemory& memory) {
  for (size_t i = 0; i < sizes_.size(); ++i) {
    if (is_given_[i]) continue;
    int64_t extent = 0;
    std::memcpy(&extent, memory.Address(sizes_[i].place), sizeof(extent));
    // Shapes are bounded by it, and the bundle may be a stranger's.
    if (!IsWithin(sizes_[i], extent)) {
      return OutOfRange(RuntimeCode::kInternal, sizes_[i], extent);
    }
    extents_[i] = extent;
  }
  return RuntimeStatus();
}

std::vector<int64_t> SessionSizes::ShapeOfInput(size_t index) const {
  return InputShapeInRun(manifest_.run_sizes, index, manifest_.inputs[index].tensor.shape,
                         extents_);
}

std::vector<int64_t> SessionSizes::ShapeOfOutput(size_t index) const {
  return ShapeInRun(manifest_.run_sizes, Region::kOutput, index,
                    manifest_.outputs[index].tensor.shape, extents_);
}

}  // namespace burnish
