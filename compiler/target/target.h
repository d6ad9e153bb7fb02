// What code is generated for: instruction set, threads, the microarchitecture to tune for, caches.
// The text is the identity:
//   cpu:arch=znver3,features=avx+avx2+...,threads=2,l1d=32768:8,l2=524288:8,l3=33554432:16
// Caches are BYTES:WAYS of one instance (l2 of a core, l3 of the cluster); WAYS 0 is unknown. A
// level that is not there is left out. The line is 64 bytes unless `line=BYTES` says otherwise.
#ifndef COMPILER_TARGET_TARGET_H_
#define COMPILER_TARGET_TARGET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace burnish {

struct CpuInfo;

struct CacheLevel {
  int64_t size_bytes = 0;  // 0: there is no such level.
  int32_t ways = 0;        // 0: not known.

  bool operator==(const CacheLevel&) const = default;
};

struct Target {
  static constexpr int kThreadsMax = 1024;

  std::string arch;                   // LLVM's name of the microarchitecture, such as "znver3".
  std::vector<std::string> features;  // LLVM's names; sorted, unique, closed under implication.
  int32_t threads = 1;
  CacheLevel l1d;
  CacheLevel l2;
  CacheLevel l3;
  int32_t line_bytes = 64;

  bool HasFeature(absl::string_view feature) const;
  // The host's microarchitecture, and no feature that the host lacks: what is measured there stands
  // for this target.
  bool RunsOn(const Target& host) const;

  // Canonical: equal targets have equal texts, and ParseTarget(ToText()) gives the target back.
  std::string ToText() const;

  // Equal keys: a trace of one is valid for the other (triple, features, threads, IsaModel).
  std::string IsaKey() const;

  // What the tracker queues jobs by, such as "cpu-znver3-1f0c25d7": two CPUs that differ in
  // anything but threads have two, also where one name stands for both (a level of x86-64, or
  // models with other caches) or a hypervisor hides features of one.
  std::string DeviceKey() const;

  // Equal isa and perf keys: latencies compare.
  std::string PerfKey() const { return DeviceKey(); }

  bool operator==(const Target&) const = default;
};

// `arch` must be given, in any place; what else is missing comes from the microarchitecture's table
// (target_arch.h): its features, its caches, one thread. Implied features are added (avx2: avx).
// INVALID_ARGUMENT with a hint for what is malformed, unknown, twice there or out of bounds;
// UNIMPLEMENTED for cuda: and opencl: targets.
absl::StatusOr<Target> ParseTarget(absl::string_view text);

// Of the host that `info` describes, with one thread a physical core. `threads` > 0 overrides that.
absl::StatusOr<Target> HostTarget(const CpuInfo& info, int32_t threads = 0);

}  // namespace burnish

#endif  // COMPILER_TARGET_TARGET_H_
