// The sizes of a session's runs: those that callers give, those that steps compute, and shapes by
// them. Internal to Session.
#ifndef COMPILER_RUNTIME_SESSION_SIZES_H_
#define COMPILER_RUNTIME_SESSION_SIZES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/runtime/bundle_manifest.h"
#include "compiler/runtime/runtime_status.h"
#include "compiler/runtime/session_memory.h"

namespace burnish {

class SessionSizes {
 public:
  // `manifest` must live as long as this. The greatest sizes of what is given, the least of what is
  // computed.
  explicit SessionSizes(const BundleManifest& manifest);

  // One for each of the manifest's run sizes, below as well.
  const std::vector<int64_t>& extents() const { return extents_; }

  // kInvalidArgument: not as many, or one that is given lies outside of its range.
  RuntimeStatus Check(std::span<const int64_t> extents) const;
  // Those that are given. Whether one is another than before.
  bool Take(std::span<const int64_t> extents);
  // All, as another session has them.
  void TakeAll(std::span<const int64_t> extents);
  // Whether a bundle of these ranges serves those that are given.
  bool AreServedBy(const std::vector<RunSize>& sizes, std::span<const int64_t> extents) const;

  // Those that are given, to where steps read them; those that are computed, from where steps have
  // written them. kInternal: a step has written one outside of its range.
  void Write(const SessionMemory& memory) const;
  RuntimeStatus Read(const SessionMemory& memory);

  // In the run's shape.
  std::vector<int64_t> ShapeOfInput(size_t index) const;
  std::vector<int64_t> ShapeOfOutput(size_t index) const;

 private:
  const BundleManifest& manifest_;
  const std::vector<RunSize>& sizes_;
  const std::vector<bool> is_given_;  // Not computed by a step.
  std::vector<int64_t> extents_;
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_SESSION_SIZES_H_
