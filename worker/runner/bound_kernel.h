// One loaded kernel with everything that it needs to run: inputs from the seed, packed constants,
// outputs and scratch. Part of the runner. Free of Abseil.
#ifndef WORKER_RUNNER_BOUND_KERNEL_H_
#define WORKER_RUNNER_BOUND_KERNEL_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compiler/runtime/artifact.h"
#include "compiler/runtime/guarded_buffer.h"
#include "compiler/runtime/huge_page_arena.h"
#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/runtime_status.h"
#include "compiler/runtime/thread_pool.h"
#include "worker/runner/runner_wire.h"

namespace burnish {

class BoundKernel {
 public:
  struct Options {
    uint64_t seed = 0;
    uint64_t memory_bytes_max = 0;  // Of all buffers; more is refused with kResourceExhausted.
    // File that the outputs lie in, OutputFileBytes large; -1: memory of this process.
    int outputs_descriptor = -1;
    // Only the time is wanted: no RunGuarded, nothing packed. Float constants are whatever floats
    // the arena of PrepareTiming has, which then is not empty.
    bool timing_only = false;
  };

  // Errors: not an artifact, or not for this host.
  static RuntimeOr<SealedArtifact> Read(const KernelSpec& spec);

  // What a file takes that holds its outputs. Errors: not a candidate; larger than the limit.
  static RuntimeOr<uint64_t> OutputFileBytes(const ArtifactManifest& manifest,
                                             uint64_t memory_bytes_max);

  // Fills the inputs and packs the constants: the first that runs of the code, unless only the time
  // is wanted. `artifact`: of `spec`, which with `pool` outlives this. Errors: the artifact is not
  // of this workload; its pack function's.
  static RuntimeOr<std::unique_ptr<BoundKernel>> Create(const KernelSpec& spec,
                                                        std::unique_ptr<Artifact> artifact,
                                                        const Options& options, ThreadPool& pool);

  // One call in guarded memory: outputs are NaN before it, inputs cannot be written.
  RuntimeStatus RunGuarded();
  // What the guards tell after a call; empty: nothing.
  std::string WhatWasOverwritten() const;
  // All output buffers, one after the other.
  std::vector<uint8_t> OutputBytes() const;
  // Where in the file each output begins.
  const std::vector<uint64_t>& output_bases() const { return output_bases_; }

  // The timed call's memory: huge pages where the system gives them. `cold_arena`: filled with
  // floats, at least twice as large as the last cache. Where the constants are all floats, calls go
  // through their own place and as many of the arena as fit, which together are larger than it:
  // constants are then read from memory, not from a cache, and their values do not matter. Empty:
  // one set of constants.
  RuntimeStatus PrepareTiming(std::span<uint8_t> cold_arena);
  const std::vector<BurnishKernelContext>& timing_contexts() const { return contexts_; }
  // What is read again has left the caches: as above, or because it is larger than the arena.
  bool constants_are_cold() const { return constants_are_cold_; }

  BurnishKernel kernel() const { return artifact_->kernel(0); }
  const ArtifactManifest& manifest() const { return artifact_->manifest(); }

 private:
  BoundKernel(const KernelSpec& spec, uint64_t seed, ThreadPool& pool)
      : spec_(spec), seed_(seed), pool_(pool) {}

  const FunctionInfo& compute() const { return artifact_->manifest().kernels[0].compute; }
  RuntimeStatus CheckSignature() const;
  RuntimeStatus CheckMemory(uint64_t memory_bytes_max) const;
  RuntimeStatus AllocateOutputs(int descriptor);
  RuntimeStatus FillArguments();
  bool ConstantsAreFloats() const;
  // What `memory`, of buffer `index`, holds at the first timed call.
  RuntimeStatus FillTimed(size_t index, std::span<const uint8_t> cold_arena,
                          std::span<uint8_t> memory) const;
  RuntimeStatus Pack(const std::vector<GuardedBuffer>& constants);
  RuntimeStatus AllocateScratch();
  RuntimeStatus Call(BurnishKernel kernel, const FunctionInfo& function,
                     const std::vector<void*>& buffers, GuardedBuffer& scratch,
                     GuardedBuffer& shared_scratch);

  const KernelSpec& spec_;
  const uint64_t seed_;
  ThreadPool& pool_;
  std::unique_ptr<Artifact> artifact_;
  std::vector<GuardedBuffer> buffers_;  // In the order of the call; none: only the time is wanted.
  std::vector<GuardedBuffer> scratch_;  // Per-worker, then shared.
  std::vector<uint64_t> output_bases_;

  HugePageArena timing_memory_;
  std::vector<std::vector<void*>> timing_buffers_;
  std::vector<BurnishKernelContext> contexts_;
  bool constants_are_cold_ = false;
};

}  // namespace burnish

#endif  // WORKER_RUNNER_BOUND_KERNEL_H_
